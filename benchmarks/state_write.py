"""Write and compact states: incremental commits, and block copy against decode and encode.

Ratios are from one run, and every answer is checked. Run `python -m benchmarks.state_write`.
"""

import argparse
import io
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fastavro
import msgspec

from headrace.maintain.base import read_base
from headrace.maintain.home import INDEXTABLES_HOME, partition_types
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.rewrite import Rewrite
from headrace.maintain.setting import StateSettings
from headrace.maintain.visibility import Visibility
from headrace.maintain.writer import StateWriter
from headrace.storage.local import LocalStore

QUIET = StateSettings(max_manifests=1_000_000, tombstone_threshold=1e6)
_DAYS = 100


def entries(count: int, *, start: int = 0) -> Iterator[dict[str, Any]]:
    """Yield entries with statistics, partitioned by day."""
    for number in range(start, start + count):
        day = f"2026-{number * _DAYS // max(count, 1) % 12 + 1:02}-{number % 28 + 1:02}"
        yield {
            "path": f"date={day}/part-{number:032x}.split",
            "partitionValues": {"date": day},
            "size": 1000 + number % 997,
            "modificationTime": 1_700_000_000_000,
            "minValues": {"id": str(number), "text": f"a{number}"},
            "maxValues": {"id": str(number + 99), "text": f"z{number}"},
            "numRecords": 100,
            "docMappingRef": "z7TwwZ-tDWGD-uX5",
        }


def metadata() -> dict[str, Any]:
    """Return the metadata of a table partitioned by day."""
    fields = [{"name": "date", "type": "date", "nullable": True, "metadata": {}}]
    return {
        "id": "bench",
        "format": {"provider": "indextables", "options": {}},
        "schemaString": msgspec.json.encode({"type": "struct", "fields": fields}).decode(),
        "partitionColumns": ["date"],
        "configuration": {},
    }


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the milliseconds that a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return (time.perf_counter() - start) * 1000, result


def bytes_below(folder: Path) -> int:
    """Return the total size of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def bench_append(count: int) -> tuple[float, int]:
    """Add 100 files to a state of `count` files; return milliseconds and bytes written."""
    with tempfile.TemporaryDirectory() as folder:
        store = LocalStore(folder)
        StateWriter(store, settings=QUIET).commit(entries(count), metadata=metadata())
        times, before = [], bytes_below(Path(folder))
        new = list(entries(100, start=10_000_000))
        for turn in range(3):
            chosen = [e | {"path": f"{turn}/{e['path']}"} for e in new]
            ms, result = timed(partial(StateWriter(store, settings=QUIET).commit, chosen))
            assert result.num_files == count + 100 * (turn + 1)
            times.append(ms)
        return min(times), (bytes_below(Path(folder)) - before) // 3


def bench_compaction(count: int, manifests: int) -> None:
    """Compare compaction by block copy with decoding and encoding in fastavro."""
    with tempfile.TemporaryDirectory() as folder:
        store = LocalStore(folder)
        StateWriter(store, settings=QUIET).commit([], metadata=metadata())
        size = count // manifests
        for number in range(manifests):
            day = f"2026-01-{number % 28 + 1:02}"
            chunk = [
                e | {"path": f"{number:04}/{e['path']}", "partitionValues": {"date": day}}
                for e in entries(size, start=number * size)
            ]
            StateWriter(store, settings=QUIET).commit(chunk)
        decode_ms, records = timed(lambda: decode_and_encode(Path(folder), store))
        copy_ms, written = timed(lambda: copy_blocks(store))
        assert written == size * manifests
        tracemalloc.start()
        whole_ms, result = timed(lambda: StateWriter(store, settings=QUIET).compact())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert result.num_files == records == size * manifests
        copied = result.compaction.count
        print(
            f"compact {result.num_files:,} entries of {manifests} manifests: {copy_ms:,.0f} ms, "
            f"with commit, clean-up and traced memory {whole_ms:,.0f} ms, "
            f"{copied.blocks_copied} blocks copied ({copied.entries_decoded} entries decoded), "
            f"decode and encode {decode_ms:,.0f} ms: {decode_ms / copy_ms:.0f} x; "
            f"peak {peak / 1e6:.0f} MB (target < 2 s, < 1 GB)"
        )


def copy_blocks(store: LocalStore) -> int:
    """Run only the compaction: open, verify and merge manifests, and build new files."""
    state = read_base(store, INDEXTABLES_HOME).state
    assert state is not None
    types = partition_types(state.metadata)
    shelf = ManifestShelf(store, INDEXTABLES_HOME.root, types=types)
    rewrite = Rewrite(
        [shelf.file(info) for info in state.manifests],
        store=store,
        dropping=Visibility(state, INDEXTABLES_HOME),
        types=types,
        settings=QUIET,
        schema=INDEXTABLES_HOME.entry_schema,
    )
    for manifest in rewrite.manifests():
        manifest.content()
    return rewrite.count.entries_out


def decode_and_encode(folder: Path, store: LocalStore) -> int:
    """Run a compaction that decodes every entry and encodes it again."""
    state = read_base(store, INDEXTABLES_HOME).state
    assert state is not None
    records: list[Any] = []
    schema: Any = None
    for info in state.manifests:
        content = (folder / INDEXTABLES_HOME.root / info.path).read_bytes()
        reader = fastavro.reader(io.BytesIO(content))
        schema = reader.writer_schema
        records += reader
    records.sort(key=lambda record: (record["partitionValues"]["date"], record["path"]))
    fastavro.writer(io.BytesIO(), schema, records, codec="zstandard", codec_compression_level=3)
    return len(records)


def main() -> None:
    """Run all benchmarks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=1_000_000)
    chosen = parser.parse_args()
    for count in sorted({10_000, 100_000, chosen.files}):
        ms, size = bench_append(count)
        print(f"add 100 files to {count:,}: {ms:.0f} ms, {size:,} bytes written (target < 100 ms)")
    bench_compaction(70_000, 70)


if __name__ == "__main__":
    main()
