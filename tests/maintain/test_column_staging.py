"""Entries staged as columns become the manifests that the same entries make one by one."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import InvalidArgumentError, SpillFailedError
from headrace.maintain import column_sort, staging
from headrace.maintain.column_sort import ColumnSort
from headrace.maintain.entry_columns import ENTRY_COLUMNS, KEY_HASH, PARTITION, key_hashes
from headrace.maintain.home import DELTA_HOME
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.partition_code import PartitionCodes
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import Stage, StagedEntries
from headrace.protocol.schema import DataType, PrimitiveType
from headrace.protocol.state import Entry
from tests.effort import examples
from tests.maintain.memory import MemoryStore

TYPES: dict[str, DataType] = {"n": PrimitiveType("integer"), "x": PrimitiveType("double")}
INTEGERS = st.sampled_from([None, "1", "01", "9", "10", "-3", "no number"])
DOUBLES = st.sampled_from([None, "0.5", "NaN", "1e3", "2"])
VECTORS = st.none() | st.fixed_dictionaries(
    {
        "storageType": st.just("u"),
        "pathOrInlineDv": st.sampled_from(["v", "w"]),
        "offset": st.none() | st.integers(0, 9),
        "sizeInBytes": st.just(4),
        "cardinality": st.just(1),
    }
)
ENTRIES = st.builds(
    lambda path, n, x, stats, vector, time: {
        "path": path,
        "partitionValues": {"n": n, "x": x},
        "size": len(path) * 7,
        "modificationTime": time,
        "dataChange": True,
        "stats": stats,
        "deletionVector": vector,
        "tags": {"t": None, "u": path} if time % 3 == 0 else None,
        "baseRowId": time if time % 2 else None,
        "defaultRowCommitVersion": 3,
        "clusteringProvider": None,
        "addedAtVersion": 1 + time % 5,
        "addedAtTimestamp": time,
    },
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=5),
    INTEGERS,
    DOUBLES,
    st.none() | st.text(st.characters(codec="utf-8"), max_size=9),
    VECTORS,
    st.integers(1, 2**40),
)
"""Entries with few distinct partitions, and paths in any alphabet."""


def batch(entries: list[Entry], partitions: PartitionCodes) -> pa.RecordBatch:
    columns: dict[str, pa.Array] = {}
    for field in ENTRY_COLUMNS:
        if field.name in {PARTITION, KEY_HASH}:
            continue
        values: list[Any] = [entry[field.name] for entry in entries]
        if field.name == "tags":
            values = [None if value is None else list(value.items()) for value in values]
        columns[field.name] = pa.array(values, field.type)
    texts = [
        pa.array([entry["partitionValues"].get(name) for entry in entries], pa.string())
        for name in partitions.types
    ]
    columns[PARTITION] = pa.array(partitions.encode(texts, size=len(entries)))
    columns[KEY_HASH] = pa.array(key_hashes(columns["path"], columns["deletionVector"]))
    ordered = [columns[field.name] for field in ENTRY_COLUMNS]
    return pa.RecordBatch.from_arrays(ordered, schema=ENTRY_COLUMNS)


def in_batches(entries: list[Entry], size: int, partitions: PartitionCodes) -> Any:
    for start in range(0, len(entries), size):
        yield batch(entries[start : start + size], partitions)


def content(store: MemoryStore, staged: StagedEntries) -> list[Any]:
    """Return what the manifests say and hold, without what is random in them."""
    shelf = ManifestShelf(store, DELTA_HOME.root, types=TYPES)
    manifests = []
    for info in staged.infos:
        file = shelf.file(info)
        file.verify(hold=True)
        blocks = [place.block for place in file.blocks]
        entries = [entry for at in range(len(blocks)) for entry in file.entries(at)]
        plain = msgspec.structs.replace(info, path="", sha256=None, header_sha256=None)
        manifests.append((plain, blocks, entries))
    return manifests


def unique(entries: list[Entry]) -> list[Entry]:
    """Return one entry per path: the order of files with the same path is not defined."""
    return list({DELTA_HOME.key_of(entry).path: entry for entry in entries}.values())


@pytest.mark.property
@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(ENTRIES, max_size=60),
    st.integers(1, 20),
    st.integers(1, 9),
    st.integers(1, 30),
    st.sampled_from([1, 2000, 1 << 20]),
    st.integers(1, 6),
)
def test_columns_are_staged_as_the_manifests_of_the_same_entries(  # noqa: PLR0913, PLR0917
    drawn: list[Entry],
    batch_rows: int,
    block_entries: int,
    manifest_entries: int,
    run_bytes: int,
    least: int,
) -> None:
    entries = unique(drawn)
    options = StateSettings(entries_per_block=block_entries, entries_per_manifest=manifest_entries)
    one_by_one, by_column = MemoryStore(), MemoryStore()
    partitions = PartitionCodes(TYPES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headrace.avro.manifest.MIN_ENTRIES", least)
        patch.setattr("headrace.maintain.column_manifest.MIN_ENTRIES", least)
        patch.setattr(column_sort, "_CHUNK_ROWS", 3)
        patch.setattr(staging, "ColumnSort", lambda codes: ColumnSort(codes, run_bytes=run_bytes))
        stage = Stage(one_by_one, DELTA_HOME, settings=options)
        expected = stage.put_entries(entries, types=TYPES)
        staged = Stage(by_column, DELTA_HOME, settings=options).put_columns(
            in_batches(entries, batch_rows, partitions), partitions=partitions
        )
    assert content(by_column, staged) == content(one_by_one, expected)
    assert (staged.count, staged.total_bytes) == (expected.count, expected.total_bytes)


def test_blocks_end_where_the_partition_changes() -> None:
    entries = [
        {"path": f"f{n:04}", "partitionValues": {"n": str(n // 300)}, "size": 1} for n in range(900)
    ]
    whole = [staging.complete_entry(e, DELTA_HOME.entry_schema) for e in entries]
    store, partitions = MemoryStore(), PartitionCodes(TYPES)
    stage = Stage(store, DELTA_HOME, settings=StateSettings())
    staged = stage.put_columns(in_batches(whole, 64, partitions), partitions=partitions)
    ((_, blocks, _),) = content(store, staged)
    assert [block.count for block in blocks] == [300, 300, 300]


def test_a_duplicate_file_is_an_error_but_other_vectors_are_not() -> None:
    def entry(path: str, vector: str | None = None) -> Entry:
        values = None
        if vector is not None:
            names = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
            values = dict(zip(names, ("u", vector, None, 4, 1), strict=True))
        return staging.complete_entry(
            {"path": path, "size": 1, "deletionVector": values}, DELTA_HOME.entry_schema
        )

    def put(*entries: Entry) -> StagedEntries:
        partitions = PartitionCodes({})
        stage = Stage(MemoryStore(), DELTA_HOME, settings=StateSettings())
        return stage.put_columns(in_batches(list(entries), 1, partitions), partitions=partitions)

    assert put(entry("a"), entry("a", "v"), entry("a", "w"), entry("b")).count == 4
    with pytest.raises(InvalidArgumentError, match="a-b is given twice"):
        put(entry("a-b"), entry("c"), entry("a%2Db"))


def test_a_disk_that_is_full_is_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partitions = PartitionCodes({})
    entry = {"path": str(tmp_path), "size": 1, "stats": "x" * 10_000}
    whole = staging.complete_entry(entry, DELTA_HOME.entry_schema)
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr("tempfile.TemporaryFile", lambda: full)
        with ColumnSort(partitions, run_bytes=1) as sort, pytest.raises(SpillFailedError):
            sort.add(batch([whole], partitions))


@given(
    st.lists(st.tuples(INTEGERS, DOUBLES), min_size=1, max_size=40), st.integers(0, 39), st.data()
)
def test_rows_have_the_same_order_among_themselves_as_among_all(
    drawn: list[tuple[str | None, str | None]], stop: int, data: st.DataObject
) -> None:
    """A run is sorted before all partitions are known."""
    partitions = PartitionCodes(TYPES)
    texts = [pa.array(column, pa.string()) for column in zip(*drawn, strict=True)]
    codes = partitions.encode(texts, size=len(drawn))
    rows = codes[data.draw(st.integers(0, stop)) : stop + 1]
    every, among = partitions.ranks()[rows].tolist(), partitions.ranks_among(rows).tolist()
    assert [a < b for a in every for b in every] == [a < b for a in among for b in among]
