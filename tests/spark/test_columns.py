"""Columns on Spark: partition values of every type, mapped and widened columns, odd names."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace
import headrace.spark
from headrace.errors import PartitionValueError
from tests.lake.log import write_commit
from tests.lake.partition import PARTS
from tests.rows.lake import field, table_lines
from tests.rows.widening import widened_partitions, widened_table
from tests.spark.lake import data_file, files_read, kernel_rows, plan_of, rows_of
from tests.spark.special_table import mapped_table, write_partitions

MOMENT = datetime(2026, 3, 1, 12, 30, 15, 123456)  # noqa: DTZ001
VALUES: dict[str, list[tuple[str, Any]]] = {
    "string": [("a=b/c %20", "a=b/c %20"), ("ü", "ü"), ("null", "null")],
    "binary": [("abc", b"abc"), ("ü", "ü".encode())],
    "boolean": [("true", True), ("false", False)],
    "byte": [("-128", -128), ("127", 127)],
    "short": [("-32768", -32768), ("32767", 32767)],
    "integer": [("2147483647", 2147483647)],
    "long": [("-9223372036854775808", -9223372036854775808)],
    "float": [("1.5", 1.5), ("-Infinity", float("-inf"))],
    "double": [("0.1", 0.1), ("1e300", 1e300)],
    "decimal(5,2)": [("123.45", Decimal("123.45")), ("-0.10", Decimal("-0.10"))],
    "decimal(38,10)": [("1234567890123456789012345678.0123456789",) * 2],
    "date": [("1582-10-04", date(1582, 10, 4)), ("2026-03-01", date(2026, 3, 1))],
    "timestamp": [("2026-03-01 12:30:15.123456", MOMENT), ("2026-03-01T12:30:15.123456Z", MOMENT)],
    "timestamp_ntz": [("2026-03-01 12:30:15.123456", MOMENT)],
}


@pytest.mark.parametrize("kind", VALUES)
def test_partition_values_of_every_type_are_exact(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    pairs = VALUES[kind]
    table = write_partitions(tmp_path, kind, [*(text for text, _ in pairs), None, ""])
    values = [row.p for row in headrace.spark.read(spark, table).orderBy("id").collect()]
    expected: list[Any] = [Decimal(value) if "38" in kind else value for _, value in pairs]
    if kind == "timestamp":  # PySpark returns times in the driver's time zone
        expected = [
            value.replace(tzinfo=UTC).astimezone().replace(tzinfo=None) for value in expected
        ]
    assert values == [*expected, None, None]
    assert [type(value) for value in values[:-2]] == [type(value) for value in expected]
    nulls = headrace.spark.read(spark, table).where("p IS NULL")
    assert files_read(nulls) == 2


def test_partition_values_may_hold_any_character(spark: SparkSession, tmp_path: Path) -> None:
    table = write_partitions(tmp_path, "string", list(PARTS))
    assert rows_of(headrace.spark.read(spark, table)) == kernel_rows(table)


def test_a_partition_value_of_another_type_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PartitionValueError):
        headrace.spark.read(spark, write_partitions(tmp_path, "integer", ["1", "one"]))


ODD_NAMES = [
    *("a b", "a%20b", "%41", "100%", "p=ü+1", "{a,b}", "[ab]", "a*", "a?b#c", "_hidden", ".dot"),
    *("x:y/z", "q\\r", "it's", 'say "x"', "<a|b>^`", "~;,@&$!"),
]


def oddly_named(folder: Path) -> Path:
    """Write a table whose folder and file names hold any character; two paths are absolute."""
    table = folder / "a table {x} [y] *#?%20\\"
    lines = table_lines([field("id", "long"), field("p", "string")], partition_columns=["p"])
    for number, name in enumerate(ODD_NAMES):
        data, values = pa.table({"id": [number]}), {"p": name}
        lines.append(data_file(table, f"{name}.parquet", data, partition_values=values))
    for line, scheme in zip(lines[-2:], ("file:", "file://"), strict=True):
        line["add"]["path"] = f"{scheme}{quote(str(table))}/{line['add']['path']}"
    write_commit(table, 0, lines)
    return table


def test_paths_may_hold_any_character(spark: SparkSession, tmp_path: Path) -> None:
    table = oddly_named(tmp_path)
    expected = sorted(enumerate(ODD_NAMES), key=repr)
    frame = headrace.spark.read(spark, table)
    assert kernel_rows(table) == expected
    assert rows_of(frame) == expected
    assert rows_of(frame.where("id = 5 OR p = '100%'")) == [(3, "100%"), (5, "{a,b}")]
    headrace.spark.register(spark)
    assert rows_of(spark.read.format("headrace").load(str(table))) == expected


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns_are_found_at_every_depth(
    spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    mapped_table(tmp_path, mode)
    frame = headrace.spark.read(spark, tmp_path)
    assert frame.columns == ["id", "col-1", "s", "day part"]
    expected = [tuple(row) for row in kernel_rows(tmp_path)]
    rows = [
        (row[0], row[1], None if row[2] is None else row[2].asDict(), row[3])
        for row in frame.collect()
    ]
    assert sorted(rows, key=repr) == expected
    assert files_read(frame.where("id = 7")) == 1
    assert files_read(frame.where("`day part` = DATE '2026-03-01'")) == 1
    assert [row.y for row in frame.where("s.x = 60").select("s.y").collect()] == ["6"]
    assert frame.where("s.x IS NULL").count() == 2
    assert frame.where("`col-1` = 'text 3'").count() == 1


def test_filters_on_mapped_columns_reach_the_files(spark: SparkSession, tmp_path: Path) -> None:
    mapped_table(tmp_path, "name")
    plan = plan_of(headrace.spark.read(spark, tmp_path).where("id > 3"))
    assert "GreaterThan(`col-1`,3)" in plan


def widened(name: str, before: str, after: str) -> dict[str, Any]:
    change = {"fromType": before, "toType": after, "tableVersion": 1}
    return field(name, after, metadata={"delta.typeChanges": [change]})


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        (("byte", "decimal(4,1)"), pa.array([1, -2], pa.int8()), Decimal("7.5")),
        (("short", "decimal(6,1)"), pa.array([1, -2], pa.int16()), Decimal("7.5")),
        (("integer", "decimal(12,2)"), pa.array([1, -2], pa.int32()), Decimal("7.50")),
        (("long", "decimal(22,2)"), pa.array([1, -2], pa.int64()), Decimal("7.50")),
        (("byte", "long"), pa.array([1, -2], pa.int8()), 2**40),
        (("integer", "double"), pa.array([1, -2], pa.int32()), 0.5),
        (("float", "double"), pa.array([1, -2], pa.float32()), 0.1),
        (("date", "timestamp_ntz"), pa.array([date(2026, 3, 1)]), MOMENT),
    ],
)
def test_a_widened_column_is_read_from_old_and_new_files(
    spark: SparkSession, tmp_path: Path, change: tuple[str, str], old: pa.Array, new: Any
) -> None:
    lines = table_lines([widened("v", *change)])
    write_commit(tmp_path, 0, [*lines, data_file(tmp_path, "old.parquet", pa.table({"v": old}))])
    latest = headrace.Table(tmp_path).snapshot().schema.field("v").type
    data = pa.table({"v": pa.array([new, None], latest)})
    write_commit(tmp_path, 1, [data_file(tmp_path, "new.parquet", data)])
    frame = headrace.spark.read(spark, tmp_path)
    assert rows_of(frame) == kernel_rows(tmp_path)
    assert [row.v for row in frame.where(frame.v == new).collect()] == [new]
    assert frame.where("v IS NULL").count() == 1


@pytest.mark.parametrize("write", [widened_table, widened_partitions])
def test_every_widening_that_delta_allows_is_read_at_every_depth(
    spark: SparkSession, tmp_path: Path, write: Callable[[Path], list[dict[str, Any]]]
) -> None:
    expected = write(tmp_path)
    assert headrace.spark.read(spark, tmp_path).toArrow().to_pylist() == expected


def test_a_column_that_old_files_lack_is_null_there(spark: SparkSession, tmp_path: Path) -> None:
    fields = [field("id", "long"), field("a.b `c`", "string"), field("late", "variant")]
    lines = table_lines(fields)
    lines.append(data_file(tmp_path, "old.parquet", pa.table({"id": [1]})))
    new = pa.table({"id": [2], "a.b `c`": ["x"]})
    lines.append(data_file(tmp_path, "new.parquet", new))
    write_commit(tmp_path, 0, lines)
    frame = headrace.spark.read(spark, tmp_path)
    assert rows_of(frame) == [(1, None, None), (2, "x", None)]
    assert frame.where("`a.b ``c``` = 'x'").count() == 1


def test_texts_of_limited_length_are_returned_as_stored(
    spark: SparkSession, tmp_path: Path
) -> None:
    char = field("c", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(5)"})
    varchar = field("v", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(5)"})
    data = pa.table({"c": ["ab", "abcde"], "v": ["ab", "abcde"]})
    write_commit(
        tmp_path, 0, [*table_lines([char, varchar]), data_file(tmp_path, "a.parquet", data)]
    )
    frame = headrace.spark.read(spark, tmp_path)
    assert rows_of(frame) == [("ab", "ab"), ("abcde", "abcde")]
    assert frame.schema.simpleString() == "struct<c:string,v:string>"


def test_a_table_may_have_a_column_called_metadata(spark: SparkSession, tmp_path: Path) -> None:
    lines = table_lines([field("_metadata", "string"), field("id", "long")])
    data = pa.table({"_metadata": ["a", "b", "c"], "id": [1, 2, 3]})
    lines.append(data_file(tmp_path, "a.parquet", data, deleted=[1]))
    write_commit(tmp_path, 0, lines)
    assert rows_of(headrace.spark.read(spark, tmp_path)) == [("a", 1), ("c", 3)]
