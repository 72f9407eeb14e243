"""Whole and filtered reads of rows, compared with pyarrow.dataset and polars in one run.

There are three tables: few large files, many small ones, and the large ones with a tenth of their
rows deleted by vectors. Each contestant answers several times in a separate process, and they
alternate for some rounds; the minimum counts. Files are in the page cache, and every contestant may
use all cores. CPU time is reported besides wall time, because it is more reliable on a shared
machine. Every answer is reduced to a few numbers, which must be the same for all.

polars keeps strings as views into the pages; "polars (table), texts" returns contiguous strings, as
Arrow and Headrace do.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from benchmarks.lake import ROOT, bench_folder
from benchmarks.process import tree_peak_bytes

Ask: TypeAlias = Callable[[], Any]
"""Runs a query; the answer is an Arrow table, or is converted to one after the clock stops."""

LARGE_FILES, LARGE_ROWS = 8, 500_000
SMALL_FILES, SMALL_ROWS = 1192, 200
DELETED_SHARE = 0.1
LETTERS = np.array(list("abcdefghij"))
QUESTIONS = {
    "whole": ("large", None),
    "filtered": ("large", "g = 'a'"),
    "small files": ("small", None),
    "small files, filtered": ("small", "g = 'a'"),
    "deletion vectors": ("vectors", None),
    "deletion vectors, filtered": ("vectors", "g = 'a'"),
}
LEAST = ("clock_s", "cores_s", "over_idle_mb")
_UNFINISHED = ".unfinished"
_WORKER = "from benchmarks.row_read import answer; answer()"


def open_tables(folder: Path) -> Path:
    """Return the tables, creating them if needed."""
    folder_of_tables = folder / f"row-read-{LARGE_FILES}x{LARGE_ROWS}-{SMALL_FILES}x{SMALL_ROWS}"
    if folder_of_tables.exists():
        return folder_of_tables
    unfinished = folder_of_tables.with_name(f"{folder_of_tables.name}{_UNFINISHED}")
    shutil.rmtree(unfinished, ignore_errors=True)
    _write(unfinished / "large", files=LARGE_FILES, rows=LARGE_ROWS, deletes=False)
    _write(unfinished / "vectors", files=LARGE_FILES, rows=LARGE_ROWS, deletes=True)
    _write(unfinished / "small", files=SMALL_FILES, rows=SMALL_ROWS, deletes=False)
    unfinished.rename(folder_of_tables)
    return folder_of_tables


def _write(table: Path, *, files: int, rows: int, deletes: bool) -> None:
    (table / "_delta_log").mkdir(parents=True)
    draw = np.random.default_rng(7)
    fields = [("id", "long"), ("x", "double"), ("g", "string"), ("s", "string")]
    schema = {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields
        ],
    }
    features = ["deletionVectors"] if deletes else []
    lines: list[dict[str, Any]] = [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": features,
            }
        },
        {
            "metaData": {
                "id": table.name,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(schema),
                "partitionColumns": [],
                "configuration": {},
            }
        },
    ]
    for number in range(files):
        data = pa.table(
            {
                "id": np.arange(number * rows, (number + 1) * rows),
                "x": draw.random(rows),
                "g": LETTERS[draw.integers(0, len(LETTERS), rows)],
                "s": pa.array([f"name-{n}" for n in draw.integers(0, 1000, rows)]),
            }
        )
        path = table / f"part-{number:05}.parquet"
        pq.write_table(data, path)
        add: dict[str, Any] = {
            "path": path.name,
            "partitionValues": {},
            "size": path.stat().st_size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps({"numRecords": rows}),
        }
        if deletes:
            add["deletionVector"] = _vector(draw, rows, table / f"deletion_vector_{number}.bin")
        lines.append({"add": add})
    log = table / "_delta_log" / f"{0:020}.json"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _vector(draw: np.random.Generator, rows: int, path: Path) -> dict[str, Any]:
    deleted = np.flatnonzero(draw.random(rows) < DELETED_SHARE)
    bitmap = b"\xd1\xd3\x39\x64" + BitMap64(deleted.tolist()).serialize()
    frame = len(bitmap).to_bytes(4, "big") + bitmap + zlib.crc32(bitmap).to_bytes(4, "big")
    path.write_bytes(b"\x01" + frame)
    return {
        "storageType": "p",
        "pathOrInlineDv": path.resolve().as_uri().replace(_UNFINISHED, ""),
        "offset": 1,
        "sizeInBytes": len(bitmap),
        "cardinality": len(deleted),
    }


def headrace_rows(table: str, where: str | None) -> Ask:
    """Headrace's reader."""
    import headrace  # noqa: PLC0415

    return lambda: headrace.Table(table).snapshot().rows(where=where).read_all()


def arrow_dataset(table: str, where: str | None) -> Ask:
    """Arrow's own scan of the same files, given as a list: it reads no log."""
    import pyarrow.dataset as ds  # noqa: PLC0415

    files = sorted(map(str, Path(table).glob("*.parquet")))
    condition = None if where is None else ds.field("g") == "a"
    return lambda: ds.dataset(files).to_table(filter=condition)


def polars_files(table: str, where: str | None) -> Ask:
    """polars' scan of the same files, given as a list; its strings stay views."""
    import polars as pl  # noqa: PLC0415

    files = sorted(map(str, Path(table).glob("*.parquet")))

    def ask() -> Any:
        frame = pl.scan_parquet(files)
        frame = frame if where is None else frame.filter(pl.col("g") == "a")
        return frame.collect()

    return ask


def polars_delta(table: str, where: str | None) -> Ask:
    """polars' scan of the Delta table."""
    import polars as pl  # noqa: PLC0415

    def ask() -> Any:
        frame = pl.scan_delta(table)
        frame = frame if where is None else frame.filter(pl.col("g") == "a")
        return frame.collect()

    return ask


def polars_texts(table: str, where: str | None) -> Ask:
    """The same as an Arrow table of plain types, which is what Headrace returns."""
    import polars as pl  # noqa: PLC0415

    ask = polars_delta(table, where)
    return lambda: ask().to_arrow(compat_level=pl.CompatLevel.oldest())


CONTESTANTS: dict[str, Callable[[str, str | None], Ask]] = {
    "headrace": headrace_rows,
    "pyarrow.dataset": arrow_dataset,
    "polars (files)": polars_files,
    "polars (table)": polars_delta,
    "polars (table), texts": polars_texts,
}
KNOWS_NO_VECTORS = frozenset({"pyarrow.dataset", "polars (files)"})


def summary(answer: Any) -> list[Any]:
    """Return a few numbers that two different answers are unlikely to share."""
    rows = answer if isinstance(answer, pa.Table) else answer.to_arrow()
    lengths = pc.sum(pc.binary_length(rows["s"].cast(pa.large_string()))).as_py()
    letters = pc.value_counts(rows["g"].cast(pa.large_string())).to_pylist()
    counted = sorted((entry["values"], entry["counts"]) for entry in letters)
    return [rows.num_rows, pc.sum(rows["id"]).as_py(), lengths, counted, f"{pc.sum(rows['x'])}"[:9]]


def answer() -> None:
    """In a separate process: ask several times, and report the minimum cost."""
    contestant, question, folder, repeats = sys.argv[1:]
    name, where = QUESTIONS[question]
    ask = CONTESTANTS[contestant](f"{folder}/{name}", where)
    idle_bytes = tree_peak_bytes()
    clock_s, cores_s = float("inf"), float("inf")
    result = None
    for _ in range(int(repeats)):
        result = None  # keep one answer at a time
        started, spent = time.perf_counter(), time.process_time()
        result = ask()
        clock_s = min(clock_s, time.perf_counter() - started)
        cores_s = min(cores_s, time.process_time() - spent)
    peak_mb = (tree_peak_bytes() - idle_bytes) / 1e6
    took = {"clock_s": clock_s, "cores_s": cores_s, "over_idle_mb": peak_mb}
    print(json.dumps({**took, "answer": summary(result)}))


def sample(contestant: str, question: str, folder: Path, repeats: int) -> dict[str, Any] | None:
    """Measure once; return None if the contestant refuses the table."""
    result = subprocess.run(
        [sys.executable, "-c", _WORKER, contestant, question, str(folder), str(repeats)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        if contestant == "headrace":
            raise SystemExit(result.stderr)
        return None
    report: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return report


def measure(question: str, folder: Path, *, rounds: int, repeats: int) -> dict[str, Any]:
    """Return the minimum cost of each contestant, or None if it refuses the table."""
    least: dict[str, Any] = {}
    for _ in range(rounds):
        for name in CONTESTANTS:
            if question.startswith("deletion") and name in KNOWS_NO_VECTORS:
                continue
            took = sample(name, question, folder, repeats)
            before = least.get(name)
            if took is not None and before is not None:
                took = {**took, **{key: min(took[key], before[key]) for key in LEAST}}
            least[name] = took
    return least


def main() -> None:
    """Measure whole and filtered reads against the peers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.row_read", description=main.__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="answers of each in a round")
    parser.add_argument("--rounds", type=int, default=3, help="how often they take turns")
    parser.add_argument("--read", action="append", choices=QUESTIONS, help="only this; repeatable")
    parser.add_argument("--folder", type=Path, help="where the tables are kept")
    chosen = parser.parse_args()
    folder = open_tables(chosen.folder or bench_folder())
    load = os.getloadavg()[0]
    print(
        f"{os.cpu_count()} cores, load {load:.1f} at the start; the least of {chosen.rounds} rounds"
    )
    print()
    print(
        "| read | contestant | time | headrace / it | time of all cores | headrace / it | memory |"
    )
    print("|---|---|--:|--:|--:|--:|--:|")
    for question in chosen.read or QUESTIONS:
        least = measure(question, folder, rounds=chosen.rounds, repeats=chosen.repeats)
        own = least["headrace"]
        for name, took in least.items():
            if took is None:
                print(f"| {question} | {name} | refuses the table | | | | |")
                continue
            if took["answer"] != own["answer"]:
                raise SystemExit(f"{question}: {name} has {took['answer']}, not {own['answer']}")
            times = (
                f"{took[key] * 1000:,.0f} ms | {own[key] / took[key]:,.2f}"
                for key in ("clock_s", "cores_s")
            )
            memory = f"{took['over_idle_mb']:,.0f} MB"
            print(f"| {question} | {name} | {' | '.join(times)} | {memory} |", flush=True)


if __name__ == "__main__":
    main()
