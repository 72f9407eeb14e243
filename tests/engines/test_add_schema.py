"""Checkpoints whose adds violate the protocol are reported as damaged, never misread."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.errors import CorruptCheckpointError
from tests.lake.action import add, opening, remove
from tests.lake.log import commit_path, log_of, write_commit, write_history
from tests.listing import open_snapshot, paths_of

TEXT, LONG = pa.string(), pa.int64()
FIELDS: dict[str, pa.DataType] = {
    "path": TEXT,
    "partitionValues": pa.map_(TEXT, TEXT),
    "size": LONG,
    "modificationTime": LONG,
}
_SIDECAR = pa.struct([("path", TEXT), ("sizeInBytes", LONG)])
_PARSED = pa.struct([("part", TEXT)])
VALUES: dict[str, Any] = {"path": "a", "partitionValues": [], "size": 1, "modificationTime": 1}


def write_table(folder: Path, kind: pa.DataType, *values: Any, compression: str = "snappy") -> Path:
    """Write two versions, and a checkpoint of the first with a row for each value."""
    table = write_history(folder, [[*opening(), add("a")], [add("b")]])
    [protocol, metadata] = opening()
    metadata_row = {k: metadata["metaData"][k] for k in ("id", "schemaString", "partitionColumns")}
    columns = {
        "protocol": pa.array([protocol["protocol"], None, *(None for _ in values)]),
        "metaData": pa.array([None, metadata_row, *(None for _ in values)]),
        "add": pa.array([None, None, *values], kind),
    }
    path = log_of(table) / f"{0:020}.checkpoint.parquet"
    pq.write_table(pa.table(columns), path, compression=compression)
    return table


def struct(**changed: pa.DataType) -> pa.DataType:
    return pa.struct(list((FIELDS | changed).items()))


ODD = [
    (TEXT, "a"),
    (pa.list_(TEXT), ["a"]),
    (pa.struct([("path", TEXT)]), {"path": "a"}),
    (struct(path=LONG), VALUES | {"path": 1}),
    (struct(path=pa.binary()), VALUES | {"path": b"a"}),
    (struct(size=TEXT), VALUES | {"size": "1"}),
    (struct(size=pa.float64()), VALUES),
    (struct(modificationTime=pa.timestamp("ms")), VALUES),
    (struct(partitionValues=pa.struct([("part", TEXT)])), VALUES | {"partitionValues": {}}),
    (struct(partitionValues=pa.map_(TEXT, LONG)), VALUES),
    (struct(stats=pa.struct([("numRecords", LONG)])), VALUES | {"stats": {"numRecords": 1}}),
    (struct(tags=TEXT), VALUES | {"tags": "x"}),
    (
        pa.struct([("path", TEXT), ("size", LONG), ("partitionValues_parsed", _PARSED)]),
        {"path": "a", "size": 1, "partitionValues_parsed": {"part": "x"}},
    ),
    (struct(deletionVector=TEXT), VALUES | {"deletionVector": "x"}),
]
odd = pytest.mark.parametrize(("kind", "value"), ODD, ids=str)


@odd
def test_malformed_adds_make_the_scan_fall_back_to_the_commits(
    tmp_path: Path, kind: pa.DataType, value: Any
) -> None:
    assert paths_of(write_table(tmp_path, kind, value)) == ["a", "b"]


@odd
def test_without_the_commits_they_are_refused(
    tmp_path: Path, kind: pa.DataType, value: Any
) -> None:
    table = write_table(tmp_path, kind, value)
    commit_path(table, 0).unlink()
    with pytest.raises(CorruptCheckpointError):
        open_snapshot(table).scan().count()


@pytest.mark.parametrize("missing", ["path", "size"])
def test_an_add_without_a_path_or_size_is_refused(tmp_path: Path, missing: str) -> None:
    table = write_table(tmp_path, struct(), VALUES, VALUES | {missing: None})
    commit_path(table, 0).unlink()
    snapshot = open_snapshot(table)
    with pytest.raises(CorruptCheckpointError):
        list(snapshot.scan())
    with pytest.raises(CorruptCheckpointError):
        list(snapshot.scan().batches())


@pytest.mark.parametrize("missing", [["path"], ["path", "size"]], ids=str)
@pytest.mark.parametrize("where", [None, "part IS NULL"])
def test_an_add_without_a_path_is_damage_even_if_it_is_the_only_row(
    tmp_path: Path, missing: list[str], where: str | None
) -> None:
    table = write_table(tmp_path, struct(), VALUES | dict.fromkeys(missing))
    assert paths_of(table) == ["a", "b"]
    commit_path(table, 0).unlink()
    scan = open_snapshot(table).scan(where=where)
    with pytest.raises(CorruptCheckpointError):
        list(scan)
    with pytest.raises(CorruptCheckpointError):
        scan.count()
    with pytest.raises(CorruptCheckpointError):
        list(scan.batches(columns=["size_bytes"]))


@pytest.mark.parametrize("where", [None, "part IS NULL", "id IS NULL OR id > 0"])
def test_an_add_without_a_size_makes_the_scan_fall_back_to_the_commits(
    tmp_path: Path, where: str | None
) -> None:
    table = write_table(tmp_path, struct(), VALUES | {"size": None})
    scan = open_snapshot(table).scan(where=where)
    assert sorted(file.path for file in scan) == ["a", "b"]
    batches = scan.batches(columns=["path", "size_bytes"])
    assert sum(batch.num_rows for batch in batches) == 2


def test_a_hidden_add_without_a_size_does_not_matter(tmp_path: Path) -> None:
    table = write_table(tmp_path, struct(), VALUES | {"size": None})
    write_commit(table, 2, [remove("a")])
    commit_path(table, 0).unlink()
    assert paths_of(table) == ["b"]


def test_a_sidecar_without_a_path_is_damage(tmp_path: Path) -> None:
    table = write_table(tmp_path, struct(), VALUES)
    path = log_of(table) / f"{0:020}.checkpoint.parquet"
    whole = pq.read_table(path).drop_columns("add")
    named = pa.array([{"path": None, "sizeInBytes": 1}] + [None] * 2, _SIDECAR)
    pq.write_table(whole.append_column("sidecar", named), path)
    assert paths_of(table) == ["a", "b"]
    commit_path(table, 0).unlink()
    with pytest.raises(CorruptCheckpointError):
        open_snapshot(table).scan().count()


def test_a_vector_with_an_offset_out_of_range_is_refused(tmp_path: Path) -> None:
    vector = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1 << 40, "cardinality": 1}
    kind = pa.struct(
        [("storageType", TEXT), ("pathOrInlineDv", TEXT), ("offset", LONG), ("cardinality", LONG)]
    )
    table = write_table(tmp_path, struct(deletionVector=kind), VALUES | {"deletionVector": vector})
    snapshot = open_snapshot(table)
    with pytest.raises(CorruptCheckpointError):
        list(snapshot.scan())
    with pytest.raises(CorruptCheckpointError):
        list(snapshot.scan().batches())


@pytest.mark.parametrize("missing", ["storageType", "pathOrInlineDv"])
def test_an_incomplete_vector_is_damage_and_not_a_missing_one(tmp_path: Path, missing: str) -> None:
    vector = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "cardinality": 1}
    kind = pa.struct(
        [("storageType", TEXT), ("pathOrInlineDv", TEXT), ("offset", LONG), ("cardinality", LONG)]
    )
    value = VALUES | {"deletionVector": vector | {missing: None}}
    table = write_table(tmp_path, struct(deletionVector=kind), VALUES, value)
    assert paths_of(table) == ["a", "b"]
    commit_path(table, 0).unlink()
    scan = open_snapshot(table).scan()
    with pytest.raises(CorruptCheckpointError):
        list(scan)
    with pytest.raises(CorruptCheckpointError):
        list(scan.batches())


@pytest.mark.parametrize("where", [None, "part IS NULL"])
@pytest.mark.parametrize("field", ["path", "partitionValues"])
def test_a_text_that_is_not_utf_8_is_refused(tmp_path: Path, field: str, where: str | None) -> None:
    odd = {"path": "Z\u00fcrich", "partitionValues": [("part", "Z\u00fcrich")]}
    value = VALUES | {field: odd[field]}
    table = write_table(tmp_path, struct(), VALUES | {"path": "b"}, value, compression="none")
    commit_path(table, 0).unlink()
    path = log_of(table) / f"{0:020}.checkpoint.parquet"
    path.write_bytes(path.read_bytes().replace(b"Z\xc3\xbcrich", b"Z\xff\xffrich"))
    with pytest.raises(CorruptCheckpointError):
        list(open_snapshot(table).scan(where=where))


def test_integers_may_be_stored_in_narrower_types(tmp_path: Path) -> None:
    table = write_table(tmp_path, struct(size=pa.int32(), modificationTime=pa.int32()), VALUES)
    commit_path(table, 0).unlink()
    assert paths_of(table) == ["a", "b"]


def test_without_columns_files_are_still_counted(tmp_path: Path) -> None:
    table = write_table(tmp_path, struct(), VALUES)
    batches = list(open_snapshot(table).scan().batches(columns=[]))
    assert sum(batch.num_rows for batch in batches) == 2
    assert {batch.num_columns for batch in batches} == {0}
