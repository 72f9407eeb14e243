"""Everyday tasks: count the rows of many small files, and start the command line.

Both are measured alternately with a peer. The count is compared with deltalake's, each from opening
the table to the result. The command line is compared with a script that uses the library: each runs
as a separate process and is measured by its CPU time, which other work on the machine affects
least. Answers are compared.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_A_FILE = 100
LIMIT = 100
MOST_COUNT = 2.0
"""The limit for a count, as a multiple of deltalake's time."""
MOST_START = 1.4
"""The limit for the command line, as a multiple of the library's time."""


def write_small_files(table: Path, files: int) -> Path:
    """Write a table of many small files, with statistics, in one commit."""
    fields = [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]
    metadata = {
        "id": "small-files",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
    }
    lines: list[object] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": metadata},
    ]
    for number in range(files):
        first, last = number * ROWS_A_FILE, (number + 1) * ROWS_A_FILE - 1
        path = table / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": range(first, last + 1)}), path)
        bounds = {"minValues": {"id": first}, "maxValues": {"id": last}, "nullCount": {"id": 0}}
        add = {
            "path": path.name,
            "size": path.stat().st_size,
            "partitionValues": {},
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps({"numRecords": ROWS_A_FILE, **bounds}),
        }
        lines.append({"add": add})
    log = table / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, lines)))
    return table


def measure_counts(table: Path, *, files: int, repeats: int) -> tuple[float, float]:
    """Return the minimum time of a count in milliseconds, with Headrace and with deltalake."""
    from deltalake import DeltaTable  # noqa: PLC0415  (its import is not measured)

    from headrace import Table  # noqa: PLC0415

    contestants: tuple[Callable[[], int], ...] = (
        lambda: Table(table).snapshot().count(),
        lambda: DeltaTable(table).count(),
    )
    times: list[list[float]] = [[], []]
    for _ in range(repeats + 1):
        for ask, samples in zip(contestants, times, strict=True):
            start = time.perf_counter()
            if ask() != files * ROWS_A_FILE:
                raise SystemExit("wrong count")
            samples.append((time.perf_counter() - start) * 1000)
    return min(times[0][1:]), min(times[1][1:])  # the first of each includes imports


def measure_starts(table: Path, *, repeats: int) -> tuple[float, float]:
    """Return the minimum CPU milliseconds of a process: the command line, and the library."""
    scan = f"headrace.Table({str(table)!r}).snapshot().scan(limit={LIMIT})"
    script = f"import headrace\nfor file in {scan}:\n    print(file.uri)"
    command = ["-m", "headrace", "files", str(table), "--limit", str(LIMIT), "-f", "paths"]
    times: list[list[float]] = [[], []]
    for _ in range(repeats):
        outputs = []
        for words, samples in zip((command, ["-c", script]), times, strict=True):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            result = subprocess.run([sys.executable, *words], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            samples.append(used * 1000)
            outputs.append(result.stdout)
        if len(set(outputs)) != 1:
            raise SystemExit("wrong files")
    return min(times[0]), min(times[1])


def main() -> None:
    """Measure both, and fail if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1192)
    parser.add_argument("--repeats", type=int, default=9)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = write_small_files(Path(folder) / "small", chosen.files)
        ours, theirs = measure_counts(table, files=chosen.files, repeats=chosen.repeats)
        command, library = measure_starts(table, repeats=chosen.repeats)
    print(f"count of {chosen.files} files: {ours:.1f} ms, deltalake {theirs:.1f} ms")
    print(f"first {LIMIT} files: {command:.0f} ms of CPU by command line, {library:.0f} by library")
    missed = [
        f"{name} takes {ratio:.2f} times as long, not {most}"
        for name, ratio, most in (
            ("a count", ours / theirs, MOST_COUNT),
            ("the command line", command / library, MOST_START),
        )
        if ratio > most
    ]
    if missed:
        raise SystemExit("; ".join(missed))


if __name__ == "__main__":
    main()
