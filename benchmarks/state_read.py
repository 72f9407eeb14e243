"""Read states: all entries of a manifest, and one partition of a large table.

Ratios are from one run, times are CPU times, and every answer is checked. Run `python -m
benchmarks.state_read --files 1000000`.
"""

import argparse
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import datafusion
import fastavro
import msgspec

from headrace.avro.columns import decode_columns
from headrace.avro.container import open_block, read_header, split_blocks
from headrace.avro.field import COLUMN_TYPES
from headrace.avro.manifest import ManifestWriter
from headrace.avro.state_file import encode_state
from headrace.protocol.schema import PrimitiveType
from headrace.protocol.state import StateManifest
from headrace.protocol.state_schema import ENTRY_FIELDS, entry_schema

_BATCH_BLOCKS = 16
_FILES_OF_A_PARTITION = 1000
_MANIFEST_ENTRIES = 50_000
_WANTED = 4
"""The requested partition."""

_SCRIPT = """
import sys, time
def memory_mb():
    with open("/proc/self/status") as status:
        values = dict(line.split(":") for line in status)
    names = {"peak": "VmHWM", "private": "RssAnon", "mapped": "RssFile"}
    return {name: int(values[key].split()[0]) / 1024 for name, key in names.items()}
steps = [("interpreter", memory_mb())]
import json
import headrace
steps.append(("headrace", memory_mb()))
import pyarrow.compute
steps.append(("pyarrow", memory_mb()))
import fastavro, sqlglot.dialects.spark
steps.append(("fastavro and sqlglot", memory_mb()))
from headrace.engines.arrow import columnar
steps.append(("headrace's engine", memory_mb()))
table = headrace.Table(sys.argv[1])
times = []
for _ in range(5):
    start, cpu = time.perf_counter(), time.process_time()
    files = sum(1 for _ in table.snapshot().scan(sys.argv[2]))
    times.append((time.perf_counter() - start, time.process_time() - cpu))
steps.append(("the read", memory_mb()))
print(json.dumps({"files": files, "times": times, "steps": steps}))
"""


def entries(start: int, count: int) -> Iterator[dict[str, Any]]:
    """Yield entries with statistics, in partitions of a thousand files."""
    chance = Random(start)
    for number in range(start, start + count):
        part = f"p{number // _FILES_OF_A_PARTITION:06}"
        low = {"id": str(number), "score": str(chance.random()), "name": "aaaa"}
        high = {"id": str(number + 9), "score": str(chance.random()), "name": "zzzz"}
        yield {
            "path": f"part={part}/part-{chance.getrandbits(128):032x}-c000.split",
            "partitionValues": {"part": part},
            "size": chance.randrange(10**9),
            "modificationTime": 1_700_000_000_000 + number,
            "dataChange": True,
            "stats": json.dumps({"numRecords": number % 1000, "minValues": low, "maxValues": high}),
            "minValues": low,
            "maxValues": high,
            "numRecords": number % 1000,
            "addedAtVersion": 1 + number // 1000,
            "addedAtTimestamp": 1_700_000_000_000 + number,
        }


def write_table(table: Path, files: int, *, manifest_entries: int = _MANIFEST_ENTRIES) -> None:
    """Write an IndexTables log with one state."""
    log = table / "_transaction_log"
    (log / "manifests").mkdir(parents=True)
    infos = []
    for start in range(0, files, manifest_entries):
        writer = ManifestWriter(
            schema=entry_schema(*ENTRY_FIELDS), partition_types={"part": PrimitiveType("string")}
        )
        writer.append(entries(start, min(manifest_entries, files - start)))
        written = writer.finish()
        path = f"manifests/manifest-{start:08x}.avro"
        (log / path).write_bytes(written.content())
        infos.append(msgspec.structs.replace(written.info, path=path))
    fields = [{"name": "part", "type": "string", "nullable": True, "metadata": {}}]
    schema = json.dumps({"type": "struct", "fields": fields})
    metadata = {"id": "bench", "schemaString": schema, "partitionColumns": ["part"]}
    state = StateManifest(
        state_version=1,
        created_at=1,
        num_files=files,
        total_bytes=0,
        manifests=tuple(infos),
        metadata=json.dumps({"metaData": metadata}),
    )
    folder = log / f"state-v{1:020}"
    folder.mkdir()
    (folder / "_manifest.avro").write_bytes(encode_state(state))


def best(call: Callable[[], int], expected: int, *, repeats: int = 5) -> float:
    """Return the minimum CPU time in milliseconds, checking every answer."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
        if result != expected:
            raise SystemExit(f"{result} is not {expected}")
    return min(times) * 1000


def measure_bulk(count: int) -> None:
    """Read all entries of one manifest, compared with fastavro and DataFusion."""
    writer = ManifestWriter(schema=entry_schema(*ENTRY_FIELDS))
    writer.append(entries(0, count))
    content = writer.finish().content()
    header = read_header(content, path="manifest")
    assert header is not None
    blocks = list(split_blocks(memoryview(content)[header.length_bytes :], header))
    names = [name for name in COLUMN_TYPES if name in {f["name"] for f in ENTRY_FIELDS}]

    def decoded(fields: list[str]) -> int:
        some = (blocks[i : i + _BATCH_BLOCKS] for i in range(0, len(blocks), _BATCH_BLOCKS))
        return sum(decode_columns(part, header, fields).num_rows for part in some)

    raw_bytes = sum(len(open_block(block, header)) for block in blocks)
    floor = best(lambda: sum(len(open_block(block, header)) for block in blocks), raw_bytes)
    ours = best(lambda: decoded(names), count)
    few = best(lambda: decoded(["path", "partitionValues", "addedAtVersion"]), count)
    slow = best(lambda: sum(1 for _ in fastavro.reader(io.BytesIO(content))), count, repeats=2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.avro")
        path.write_bytes(content)

        def peer() -> int:
            return int(datafusion.SessionContext().read_avro(str(path)).to_arrow_table().num_rows)

        fusion = best(peer, count)
    print(f"{count:,} entries, {len(content):,} bytes, {raw_bytes:,} decompressed (processor time)")
    print(f"  zstd alone   {floor:8.1f} ms")
    print(f"  headrace     {ours:8.1f} ms  {ours / floor:.2f} x the floor (target: at most 3)")
    print(f"    3 fields   {few:8.1f} ms")
    print(f"  datafusion   {fusion:8.1f} ms  {fusion / ours:.1f} x headrace")
    print(f"  fastavro     {slow:8.1f} ms  {slow / ours:.1f} x headrace (target: at least 4)")


def seed_layout(table: Path, part: str) -> int:
    """Read one partition like the seed: manifests by text bounds, entries with fastavro."""
    log = table / "_transaction_log"
    with (log / f"state-v{1:020}/_manifest.avro").open("rb") as file:
        state: Any = next(iter(fastavro.reader(file)))
    matching = 0
    for info in state["manifests"]:
        bounds = info["partitionBounds"]["part"]
        if bounds["min"] <= part <= bounds["max"]:
            with (log / info["path"]).open("rb") as file:
                records: Any = fastavro.reader(file)
                matching += sum(
                    1 for record in records if record["partitionValues"]["part"] == part
                )
    return matching


def print_memory(steps: list[tuple[str, dict[str, float]]]) -> None:
    """Print the memory of each step: at most, private, and mapped files that processes share."""
    print(
        "  memory, MB            peak  private   mapped (target: at most 50 above the interpreter)"
    )
    nothing = dict.fromkeys(steps[0][1], 0.0)
    interpreter, read = steps[0][1], steps[-1][1]
    parts = [
        (title, memory, before)
        for (title, memory), (_, before) in zip(steps, [("", nothing), *steps], strict=False)
    ]
    for title, memory, before in (*parts, ("above the interpreter", read, interpreter)):
        grown = (f"{memory[name] - before[name]:9.1f}" for name in memory)
        print(f"    {title:22}{''.join(grown)}")


def measure_partition(files: int) -> None:
    """Read one partition of a large table, in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder)
        write_table(table, files)
        part = f"p{_WANTED:06}"
        expected = min(_FILES_OF_A_PARTITION, files)
        out = subprocess.run(
            [sys.executable, "-c", _SCRIPT, folder, f"part = '{part}'"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        report = json.loads(out)
        if report["files"] != expected:
            raise SystemExit(f"{report['files']} is not {expected}")
        slow = best(lambda: seed_layout(table, part), expected, repeats=1)
    cpu = min(cpu for _, cpu in report["times"]) * 1000
    first_wall, first_cpu = report["times"][0]
    print(f"one partition ({expected:,} of {files:,} files): snapshot and scan")
    print(f"  headrace     {cpu:8.1f} ms of the processor (target: at most 100)")
    print(
        f"    at first   {first_cpu * 1000:8.1f} ms, {first_wall * 1000:.1f} ms by the clock, "
        "imports included"
    )
    print_memory(report["steps"])
    print(f"  seed's way   {slow:8.1f} ms  {slow / cpu:.1f} x headrace (target: at least 20)")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=70_000)
    parser.add_argument("--files", type=int, default=1_000_000)
    arguments = parser.parse_args()
    measure_bulk(arguments.entries)
    measure_partition(arguments.files)


if __name__ == "__main__":
    main()
