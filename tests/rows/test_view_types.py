"""Files whose Arrow schema has view types, as delta-rs, polars and DataFusion write them."""

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.listing import open_snapshot
from tests.rows.lake import array, field, mapping, struct, write_table

ROWS = pa.table({"id": range(6), "g": ["a", "b", "a", None, "", "a"], "raw": [b"x", None] * 3})
IDS_OF_A = [0, 2, 5]


def ids(table: Path, **request: Any) -> list[int]:
    values = open_snapshot(table).rows(**request).read_all()["id"].to_pylist()
    return sorted(values)


def test_a_file_that_delta_rs_rewrote_is_filtered(tmp_path: Path) -> None:
    write_deltalake(tmp_path, ROWS)
    DeltaTable(tmp_path).delete("id = 1")
    assert ids(tmp_path, where="g = 'a'") == IDS_OF_A
    assert ids(tmp_path, where="raw IS NULL") == [3, 5]


def test_a_file_that_polars_wrote_is_filtered(tmp_path: Path) -> None:
    pl.from_arrow(ROWS).write_delta(tmp_path)
    assert ids(tmp_path, where="g = 'a'") == IDS_OF_A
    assert ids(tmp_path, where="raw IS NOT NULL", limit=2) == [0, 2]


VIEWS = pa.table(
    {
        "id": pa.array(range(3)),
        "text": pa.array(["a", None, "c"], pa.string_view()),
        "raw": pa.array([b"a", None, b"c"], pa.binary_view()),
        "list": pa.array([["a", None], None, []], pa.list_(pa.string_view())),
        "pair": pa.array([{"v": "a"}, None, {"v": None}], pa.struct([("v", pa.string_view())])),
        "map": pa.array([[("k", "a")], None, []], pa.map_(pa.string_view(), pa.string_view())),
        "code": pa.array(["a", None, "a"]).dictionary_encode(),
        "views": pa.array([[1, None], None, []], pa.list_view(pa.int64())),
        "wide": pa.array([[1, None], None, []], pa.large_list(pa.int64())),
        "fixed": pa.array([[1, 2], None, [3, None]], pa.list_(pa.int64(), 2)),
    }
)
FIELDS = [
    field("id", "long"),
    field("text", "string"),
    field("raw", "binary"),
    field("list", array("string")),
    field("pair", struct(field("v", "string"))),
    field("map", mapping("string", "string")),
    field("code", "string"),
    field("views", array("long")),
    field("wide", array("long")),
    field("fixed", array("long")),
]


@pytest.mark.parametrize("deleted", [(), (1,)], ids=["whole", "deletion vector"])
@pytest.mark.parametrize(
    ("where", "matching"),
    [
        (None, [0, 1, 2]),
        ("id >= 1", [1, 2]),
        ("text = 'a' OR text IS NULL", [0, 1]),
        ("pair.v = 'a'", [0]),
        ("list IS NULL", [1]),
        ("code = 'a'", [0, 2]),
        ("views IS NOT NULL AND fixed IS NOT NULL", [0, 2]),
    ],
)
def test_views_at_every_depth_are_filtered(
    tmp_path: Path, where: str | None, matching: list[int], deleted: tuple[int, ...]
) -> None:
    write_table(tmp_path, FIELDS, [VIEWS], deleted={0: deleted} if deleted else None)
    rows = open_snapshot(tmp_path).rows(where=where).read_all()
    everything = VIEWS.to_pylist()
    assert rows.to_pylist() == [everything[row] for row in matching if row not in deleted]
    assert rows.schema == open_snapshot(tmp_path).schema
