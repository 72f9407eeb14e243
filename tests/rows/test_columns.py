"""Table columns in files that lack them, have extra ones, or name them differently."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import (
    CorruptDataFileError,
    InvalidArgumentError,
    InvalidTableError,
    UnknownColumnError,
)
from tests.lake.action import add
from tests.lake.log import write_history
from tests.listing import open_snapshot
from tests.rows.lake import (
    array,
    field,
    mapped,
    mapping,
    struct,
    table_lines,
    write_data,
    write_table,
)
from tests.rows.widening import widened_partitions, widened_table

MAPPED = [
    mapped("id", "long", "c1", 1),
    mapped(
        "place",
        struct(mapped("city", "string", "c3", 3), mapped("zip", "long", "c4", 4)),
        "c2",
        2,
    ),
    mapped("tags", array(struct(mapped("key", "string", "c6", 6))), "c5", 5),
    mapped("by", mapping("string", struct(mapped("n", "integer", "c8", 8))), "c7", 7),
]
MAPPED_ROW = {
    "id": 1,
    "place": {"city": "Bern", "zip": 3000},
    "tags": [{"key": "a"}, None],
    "by": [("x", {"n": 5}), ("y", None)],
}


def rows_of(table: Path, **options: Any) -> list[dict[str, Any]]:
    table_rows: list[dict[str, Any]] = open_snapshot(table).rows(**options).read_all().to_pylist()
    return table_rows


def with_id(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def physical_file(names: dict[int, str]) -> pa.Table:
    """Return the mapped row as a file stores it: names by column id, extra members in between."""
    city, code = with_id(names[3], pa.string(), 3), with_id(names[4], pa.int32(), 4)
    extra = with_id("extra", pa.int32(), 99)
    tag = with_id(names[6], pa.string(), 6)
    number = with_id(names[8], pa.int8(), 8)
    schema = pa.schema(
        [
            with_id(names[7], pa.map_(pa.string(), pa.struct([extra, number])), 7),
            with_id(names[5], pa.list_(pa.struct([extra, tag])), 5),
            with_id(names[2], pa.struct([code, extra, city]), 2),
            with_id(names[1], pa.int16(), 1),
        ]
    )
    row = {
        names[1]: 1,
        names[2]: {names[3]: "Bern", names[4]: 3000, "extra": 7},
        names[5]: [{names[6]: "a", "extra": 7}, None],
        names[7]: [("x", {names[8]: 5, "extra": 7}), ("y", None)],
    }
    return pa.Table.from_pylist([row], schema=schema)


def test_columns_are_found_by_physical_name_at_every_depth(tmp_path: Path) -> None:
    data = physical_file({number: f"c{number}" for number in range(1, 9)})
    properties = {"delta.columnMapping.mode": "name"}
    write_table(tmp_path, MAPPED, [data], properties=properties)
    assert rows_of(tmp_path) == [MAPPED_ROW]


def test_columns_are_found_by_id_at_every_depth_whatever_their_names(tmp_path: Path) -> None:
    swapped = dict(zip(range(1, 9), [f"c{n}" for n in (2, 1, 4, 3, 7, 8, 5, 6)], strict=True))
    properties = {"delta.columnMapping.mode": "id"}
    write_table(tmp_path, MAPPED, [physical_file(swapped)], properties=properties)
    assert rows_of(tmp_path) == [MAPPED_ROW]


def test_by_id_a_file_without_ids_is_refused(tmp_path: Path) -> None:
    data = pa.table({"c1": [1]})
    properties = {"delta.columnMapping.mode": "id"}
    write_table(tmp_path, MAPPED, [data], properties=properties)
    with pytest.raises(CorruptDataFileError, match="field ids"):
        rows_of(tmp_path)


def test_columns_and_members_that_a_file_lacks_are_null(tmp_path: Path) -> None:
    fields = [
        field("id", "long"),
        field("late", "string"),
        field("place", struct(field("city", "string"), field("zip", "long"))),
        field("tags", array(struct(field("key", "string"), field("at", "date")))),
    ]
    data = pa.table(
        {
            "id": [1, 2],
            "place": [{"city": "Bern"}, None],
            "tags": [[{"key": "a"}, None], None],
        }
    )
    write_table(tmp_path, fields, [data])
    assert rows_of(tmp_path) == [
        {
            "id": 1,
            "late": None,
            "place": {"city": "Bern", "zip": None},
            "tags": [{"key": "a", "at": None}, None],
        },
        {"id": 2, "late": None, "place": None, "tags": None},
    ]


def test_a_struct_without_members_in_the_file_is_null_only_where_the_file_has_null(
    tmp_path: Path,
) -> None:
    fields = [field("place", struct(field("city", "string")))]
    data = pa.table({"place": [{"old": 1}, None, {"old": None}]})
    write_table(tmp_path, fields, [data])
    places = [row["place"] for row in rows_of(tmp_path)]
    assert places == [{"city": None}, None, {"city": None}]


def test_names_with_dots_are_not_paths(tmp_path: Path) -> None:
    fields = [field("a.b", "long"), field("a", struct(field("b", "long")))]
    data = pa.table({"a": [{"b": 1}], "a.b": [2]})
    write_table(tmp_path, fields, [data])
    assert rows_of(tmp_path) == [{"a.b": 2, "a": {"b": 1}}]
    assert rows_of(tmp_path, where="`a.b` = 2 AND a.b = 1", columns=["a.b"]) == [{"a.b": 2}]


def test_names_differ_in_case_only_where_they_must(tmp_path: Path) -> None:
    data = pa.table({"ID": [1], "Name": ["x"], "name": ["y"]})
    write_table(tmp_path, [field("id", "long"), field("name", "string")], [data])
    assert rows_of(tmp_path) == [{"id": 1, "name": "y"}]


def test_columns_come_in_the_requested_order(tmp_path: Path) -> None:
    data = pa.table({"a": [1], "b": [2], "c": [3]})
    write_table(tmp_path, [field(name, "long") for name in "abc"], [data])
    read = open_snapshot(tmp_path).rows(columns=["c", "A"]).read_all()
    assert (read.column_names, read.to_pylist()) == (["c", "a"], [{"c": 3, "a": 1}])


def test_without_columns_rows_are_still_counted(tmp_path: Path) -> None:
    data = pa.table({"a": list(range(10))})
    write_table(tmp_path, [field("a", "long")], [data, data], deleted={1: [0, 9]})
    snapshot = open_snapshot(tmp_path)
    counts = (
        snapshot.rows(columns=[]).read_all().num_rows,
        snapshot.rows(columns=[], where="a >= 9").read_all().num_rows,
        snapshot.rows(columns=[], limit=12, rows_per_batch=3).read_all().num_rows,
    )
    assert counts == (18, 1, 12)


def test_a_missing_column_is_an_error(tmp_path: Path) -> None:
    write_table(tmp_path, [field("a", "long")], [])
    with pytest.raises(UnknownColumnError):
        open_snapshot(tmp_path).rows(columns=["b"])


def test_an_unsupported_type_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    fields = [field("id", "long"), field("odd", "unheard_of")]
    snapshot = open_snapshot(write_table(tmp_path, fields, []))
    with pytest.raises(InvalidTableError, match="unheard_of"):
        snapshot.rows()
    assert snapshot.rows(columns=["id"]).read_all().num_rows == 0


def test_a_string_is_not_accepted_as_a_list_of_columns(tmp_path: Path) -> None:
    write_table(tmp_path, [field("a", "long")], [])
    with pytest.raises(InvalidArgumentError, match="list"):
        open_snapshot(tmp_path).rows(columns="a")


def test_partition_columns_alone_need_no_column_of_the_files(tmp_path: Path) -> None:
    fields = [field("id", "long"), field("day", "date"), field("n", "integer")]
    history = [table_lines(fields, partition_columns=["day", "n"])]
    for number, day in enumerate(["2026-03-01", None]):
        path = write_data(tmp_path, f"{number}.parquet", pa.table({"id": [1, 2]}))
        history.append([add(path, partition_values={"day": day, "n": "7"})])
    write_history(tmp_path, history)
    rows = rows_of(tmp_path, columns=["n", "day"])
    assert sorted(rows, key=str) == [
        {"n": 7, "day": None},
        {"n": 7, "day": None},
        {"n": 7, "day": date(2026, 3, 1)},
        {"n": 7, "day": date(2026, 3, 1)},
    ]


def test_partition_values_come_from_the_log_even_if_the_file_has_them_too(tmp_path: Path) -> None:
    fields = [field("id", "long"), field("p", "string")]
    path = write_data(tmp_path, "p=wrong/x.parquet", pa.table({"id": [1], "p": ["wrong"]}))
    lines = [add(path, partition_values={"p": "right"})]
    write_history(tmp_path, [table_lines(fields, partition_columns=["p"]), lines])
    assert rows_of(tmp_path, where="p = 'right'") == [{"id": 1, "p": "right"}]


def test_absolute_paths_outside_the_table_are_read(tmp_path: Path) -> None:
    other = tmp_path / "an other"
    path = write_data(other, "x y%.parquet", pa.table({"id": [1]}))
    address = f"file://{tmp_path}/an%20other/{path}"
    table = tmp_path / "table"
    write_history(table, [table_lines([field("id", "long")]), [add(address)]])
    assert rows_of(table) == [{"id": 1}]


@pytest.mark.parametrize(
    ("delta", "stored", "value", "expected"),
    [
        ("long", pa.int32(), 5, 5),
        ("integer", pa.int8(), -5, -5),
        ("double", pa.float32(), 1.5, 1.5),
        ("double", pa.int32(), 2, 2.0),
        ("decimal(12,2)", pa.int32(), 7, Decimal("7.00")),
        ("decimal(12,4)", pa.decimal128(10, 2), Decimal("1.25"), Decimal("1.2500")),
        ("timestamp_ntz", pa.date32(), date(1500, 2, 3), datetime(1500, 2, 3)),  # noqa: DTZ001
    ],
)
def test_values_of_a_narrower_type_are_widened(
    tmp_path: Path, delta: str, stored: pa.DataType, value: Any, expected: Any
) -> None:
    data = pa.table({"a": pa.array([value, None], stored)})
    write_table(tmp_path, [field("a", delta)], [data])
    assert rows_of(tmp_path) == [{"a": expected}, {"a": None}]


@pytest.mark.parametrize("write", [widened_table, widened_partitions])
def test_every_widening_that_delta_allows_is_read_at_every_depth(
    tmp_path: Path, write: Callable[[Path], list[dict[str, Any]]]
) -> None:
    expected = write(tmp_path)
    assert rows_of(tmp_path) == expected


@pytest.mark.parametrize(
    ("delta", "stored"),
    [
        ("long", pa.string()),
        ("string", pa.int64()),
        ("integer", pa.float64()),
        ("float", pa.float64()),
        ("double", pa.int64()),
        ("date", pa.timestamp("us")),
        ("timestamp", pa.date32()),
        ("boolean", pa.int32()),
        ("long", pa.list_(pa.int64())),
        (array("long"), pa.int64()),
        (struct(field("x", "long")), pa.int64()),
        (mapping("string", "long"), pa.struct([("x", pa.int64())])),
    ],
)
def test_another_type_is_refused_and_named(tmp_path: Path, delta: Any, stored: Any) -> None:
    data = pa.table({"a": pa.nulls(1, stored)})
    write_table(tmp_path, [field("a", delta)], [data])
    with pytest.raises(CorruptDataFileError, match="column a is"):
        rows_of(tmp_path)


def test_a_value_beyond_its_type_is_refused_and_not_truncated(tmp_path: Path) -> None:
    write_table(tmp_path, [field("a", "byte")], [pa.table({"a": pa.array([300], pa.int32())})])
    with pytest.raises(CorruptDataFileError, match="300"):
        rows_of(tmp_path)


MOMENT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


@pytest.mark.parametrize("delta", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize("stored", [pa.timestamp("us", "UTC"), pa.timestamp("us"), "int96"])
def test_times_are_the_same_in_every_encoding(tmp_path: Path, delta: str, stored: Any) -> None:
    kind = pa.timestamp("ns") if stored == "int96" else stored
    moments = [MOMENT, datetime(9999, 12, 31, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)]
    moments = moments[:1] if stored == "int96" else moments
    ticks = pa.array(moments, pa.timestamp("us", "UTC")).cast(pa.timestamp("us")).cast(kind)
    options: dict[str, Any] = {"use_deprecated_int96_timestamps": True} if stored == "int96" else {}
    write_table(tmp_path, [field("a", delta)], [pa.table({"a": ticks})], **options)
    expected = moments if delta == "timestamp" else [m.replace(tzinfo=None) for m in moments]
    assert [row["a"] for row in rows_of(tmp_path)] == expected


def test_nanoseconds_are_truncated_towards_the_past(tmp_path: Path) -> None:
    ticks = pa.array([1999, -1], pa.timestamp("ns"))
    write_table(tmp_path, [field("a", "timestamp_ntz")], [pa.table({"a": ticks})])
    micros = open_snapshot(tmp_path).rows().read_all()["a"].cast(pa.int64()).to_pylist()
    assert micros == [1, -1]


def test_a_variant_is_returned_as_stored(tmp_path: Path) -> None:
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    data = pa.table({"v": pa.array([{"metadata": b"m", "value": b"v"}, None], kind)})
    write_table(tmp_path, [field("v", "variant")], [data])
    assert rows_of(tmp_path) == [{"v": {"value": b"v", "metadata": b"m"}}, {"v": None}]


def test_deleted_rows_are_counted_across_skipped_row_groups(tmp_path: Path) -> None:
    data = pa.table({"a": list(range(20))})
    write_table(tmp_path, [field("a", "long")], [data], deleted={0: [11, 19]}, row_group_size=5)
    values = [row["a"] for row in rows_of(tmp_path, where="a > 9", rows_per_batch=2)]
    assert values == [10, 12, 13, 14, 15, 16, 17, 18]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("s IS NULL", [2]),
        ("s IS NOT NULL", [0, 1]),
        ("s.x IS NULL", [1, 2]),
        ("s.x = 1", [0]),
        ("NOT (s.x = 7)", [0]),
        ("s.gone IS NULL", [0, 1, 2]),
        ("l IS NULL", [1]),
    ],
)
def test_conditions_on_nested_columns_filter_rows(
    tmp_path: Path, where: str, expected: list[int]
) -> None:
    fields = [
        field("n", "long"),
        field("s", struct(field("x", "long"), field("gone", "string"))),
        field("l", array("long")),
    ]
    data = pa.table(
        {"n": [0, 1, 2], "s": [{"x": 1}, {"x": None}, None], "l": [[1], None, []]},
    )
    write_table(tmp_path, fields, [data])
    assert [row["n"] for row in rows_of(tmp_path, where=where, columns=["n"])] == expected


@pytest.mark.parametrize("names", [["ab", "AB"], ["Ab", "Ab"]])
def test_a_file_with_several_columns_of_one_name_is_refused(
    tmp_path: Path, names: list[str]
) -> None:
    data = pa.table([pa.array([1]), pa.array([2])], names=names)
    snapshot = open_snapshot(write_table(tmp_path, [field("Ab", "long")], [data]))
    with pytest.raises(CorruptDataFileError, match="several columns for Ab"):
        snapshot.rows().read_all()
