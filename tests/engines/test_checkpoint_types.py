"""A checkpoint may be stored with other Arrow types than the usual ones, with the same answer."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.lake.action import add, opening, remove
from tests.lake.checkpoint import write_checkpoint
from tests.lake.log import commit_path, log_of, state_at, write_history
from tests.listing import batch_rows, by_key, file_rows, open_snapshot

LARGE = pa.large_string()
CODES = pa.dictionary(pa.int32(), pa.string())


def add_type(text: pa.DataType) -> pa.DataType:
    """Return the type of an add, with strings of the given type."""
    return pa.struct(
        [
            ("path", text),
            ("partitionValues", pa.map_(text if text == LARGE else pa.string(), text)),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("stats", text),
        ]
    )


def rows(paths: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "path": path,
            "partitionValues": [("p", "1")],
            "size": 7,
            "modificationTime": 1,
            "dataChange": True,
            "stats": '{"numRecords":1}',
        }
        for path in paths
    ]


ENCODINGS = ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]
TEXTS = (
    "path",
    "partitionValues.key_value.key",
    "partitionValues.key_value.value",
    "stats",
)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_texts_of_any_encoding_are_read(tmp_path: Path, encoding: str, version: str) -> None:
    files = [add(f"p{n}", partition_values={"part": f"v{n}", "n": str(n)}) for n in range(3)]
    history = [[*opening(), *files], [remove("p1")]]
    table = write_history(tmp_path, history)
    expected = {where: keys(table, where) for where in WHERE}
    [checkpoint] = write_checkpoint(table, 0, state_at(history, 0))
    stored = pq.read_table(checkpoint)
    pq.write_table(
        stored,
        checkpoint,
        data_page_version=version,
        use_dictionary=False,
        column_encoding={f"add.{text}": encoding for text in TEXTS if encoding != "PLAIN"} or None,
    )
    commit_path(table, 0).unlink()
    assert {where: keys(table, where) for where in WHERE} == expected
    assert expected[None] == ["p0", "p2"]
    assert expected["part = 'v2'"] == ["p2"]


WHERE = (None, "part = 'v2'", "n > 0", "part LIKE '%0' OR id = 7")


def keys(table: Path, where: str | None) -> list[str]:
    snapshot = open_snapshot(table)
    assert batch_rows(snapshot.scan(where=where).batches()) == file_rows(snapshot.scan(where=where))
    return sorted(key.path for key in by_key(snapshot.scan(where=where)))


@pytest.mark.parametrize("text", [pa.string(), LARGE, CODES, pa.string_view()], ids=str)
def test_texts_of_any_arrow_type_are_read(tmp_path: Path, text: pa.DataType) -> None:
    table = write_history(tmp_path, [[*opening(), add("x")], [remove("b")]])
    [protocol, metadata] = opening()
    adds = rows(["a", "b", "c"])
    size = len(adds)
    pq.write_table(
        pa.table(
            {
                "add": pa.array([*adds, None, None], add_type(text)),
                "protocol": pa.array([None] * size + [protocol["protocol"], None]),
                "metaData": pa.array(
                    [None] * (size + 1)
                    + [{"id": "m", "schemaString": metadata["metaData"]["schemaString"]}]
                ),
            }
        ),
        log_of(table) / f"{0:020}.checkpoint.parquet",
    )
    commit_path(table, 0).unlink()
    snapshot = open_snapshot(table)
    assert sorted(key.path for key in by_key(snapshot.scan())) == ["a", "c"]
    assert batch_rows(snapshot.scan().batches()) == file_rows(snapshot.scan())
