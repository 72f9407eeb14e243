"""The data source returns the same rows to Spark as Headrace's own reader."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceReader

import headrace
import headrace.spark
from headrace.protocol.schema import Field, PrimitiveType, StructType
from headrace.spark.schema import spark_schema
from headrace.spark.source import ChangeReader, SnapshotReader
from tests.lake.action import add, opening
from tests.lake.log import write_history
from tests.rows.lake import field, mapped, write_table
from tests.rows.naive import bag

ROWS = 20


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    headrace.spark.register(spark)
    return spark


def numbered(first: int, last: int) -> pa.Table:
    numbers = range(first, last)
    moment = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
    inner = pa.struct([("list", pa.list_(pa.int32())), ("map", pa.map_(pa.string(), pa.int64()))])
    nested = [{"list": [n, None], "map": [("k", n)]} if n % 3 else None for n in numbers]
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "part": pa.array([("x", "y", None)[n % 3] for n in numbers]),
            "short": pa.array([n % 7 for n in numbers], pa.int16()),
            "real": pa.array([n / 3 for n in numbers], pa.float32()),
            "yes": pa.array([n % 2 == 0 for n in numbers]),
            "raw": pa.array([bytes([n % 256]) for n in numbers]),
            "day": pa.array([date(2026, 1, 1 + n % 28) for n in numbers]),
            "moment": pa.array([moment for _ in numbers], pa.timestamp("us", "UTC")),
            "local": pa.array([moment.replace(tzinfo=None) for _ in numbers], pa.timestamp("us")),
            "exact": pa.array([Decimal(n) / 4 for n in numbers], pa.decimal128(20, 2)),
            "nested": pa.array(nested, inner),
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write two versions of ten rows each, in partitions."""
    folder = tmp_path_factory.mktemp("numbered")
    write_deltalake(folder, numbered(0, 10), partition_by=["part"])
    write_deltalake(folder, numbered(10, ROWS), mode="append")
    return folder


def load(session: SparkSession, table: Path, **options: Any) -> DataFrame:
    return session.read.format("headrace").options(**options).load(str(table))


def rows_of(frame: DataFrame) -> Any:
    rows = frame.toArrow()
    return bag(rows.to_pylist(), rows.column_names)


def rows_here(table: Path, version: int | None = None, **request: Any) -> Any:
    rows = headrace.Table(table).snapshot(version=version).rows(**request).read_all()
    return bag(rows.to_pylist(), rows.column_names)


def test_every_type_is_returned_unchanged(session: SparkSession, table: Path) -> None:
    frame = load(session, table)
    assert rows_of(frame) == rows_here(table)
    assert frame.schema.simpleString() == (
        "struct<id:bigint,part:string,short:smallint,real:float,yes:boolean,raw:binary,day:date,"
        "moment:timestamp,local:timestamp_ntz,exact:decimal(20,2),"
        "nested:struct<list:array<int>,map:map<string,bigint>>>"
    )


@pytest.mark.parametrize(
    ("options", "request_here"),
    [
        ({"version": 0}, {"version": 0}),
        ({"versionAsOf": 0}, {"version": 0}),
        ({"asOf": "2100-01-01"}, {}),
        ({"where": "id > 5 AND part = 'x'"}, {"where": "id > 5 AND part = 'x'"}),
        ({"columns": "part, id"}, {"columns": ["part", "id"]}),
        (
            {"columns": "id", "where": "nested.list IS NOT NULL OR part = 'y'", "version": 0},
            {"columns": ["id"], "where": "nested.list IS NOT NULL OR part = 'y'", "version": 0},
        ),
    ],
)
def test_options_choose_version_rows_and_columns(
    session: SparkSession, table: Path, options: dict[str, Any], request_here: dict[str, Any]
) -> None:
    assert rows_of(load(session, table, **options)) == rows_here(table, **request_here)


def test_the_filter_of_one_query_does_not_reach_another(session: SparkSession, table: Path) -> None:
    frame = load(session, table)
    counts = [frame.filter("id < 3").count(), frame.count(), frame.filter("id >= 3").count()]
    assert counts == [3, ROWS, ROWS - 3]


@pytest.mark.parametrize("reader", [SnapshotReader, ChangeReader])
def test_no_reader_accepts_filters(reader: type[DataSourceReader]) -> None:
    assert reader.pushFilters is DataSourceReader.pushFilters


def test_a_frame_stays_at_the_version_it_was_loaded_at(
    session: SparkSession, tmp_path: Path
) -> None:
    write_deltalake(tmp_path, pa.table({"id": [1, 2]}))
    frame = load(session, tmp_path)
    write_deltalake(tmp_path, pa.table({"id": [3]}), mode="append")
    assert frame.count() == 2
    assert load(session, tmp_path).count() == 3


def test_small_groups_make_many_tasks(session: SparkSession, table: Path) -> None:
    files = DeltaTable(table).file_uris()
    frame = load(session, table, partitionBytes="1k")
    assert frame.rdd.getNumPartitions() == len(files)
    assert frame.count() == ROWS


def test_a_table_without_rows_has_none(session: SparkSession, tmp_path: Path) -> None:
    write_table(tmp_path, [field("id", "long")], [])
    assert load(session, tmp_path).count() == 0


def test_deleted_rows_and_renamed_columns_are_handled(
    session: SparkSession, tmp_path: Path
) -> None:
    data = pa.table({"col-1": pa.array(range(6), pa.int64())})
    properties = {"delta.columnMapping.mode": "name"}
    fields = [mapped("id", "long", "col-1", 1)]
    write_table(tmp_path, fields, [data, data], properties=properties, deleted={1: [0, 3]})
    assert rows_of(load(session, tmp_path)) == rows_here(tmp_path)
    assert load(session, tmp_path).count() == 10


def test_a_view_can_be_made_in_sql(session: SparkSession, table: Path) -> None:
    session.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW numbered USING headrace "
        f"OPTIONS (path '{table}', version '0', where 'id >= 8')"
    )
    assert [row.id for row in session.sql("SELECT id FROM numbered ORDER BY id").collect()] == [
        8,
        9,
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wher": "id = 1"}, "InvalidArgumentError: wher: there is no such option"),
        ({"version": 7}, "VersionNotFoundError"),
        ({"where": "nope = 1"}, "UnknownColumnError: no column nope"),
        ({"readChangeFeed": "true"}, "InvalidArgumentError: startingVersion"),
        (
            {"readChangeFeed": "true", "startingVersion": 0},
            "ChangeDataMissingError: .*version 0 are unknown: delta.enableChangeDataFeed",
        ),
    ],
)
def test_a_wrong_request_raises_its_own_error(
    session: SparkSession, table: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(AnalysisException, match=message) as raised:
        load(session, table, **options).count()
    first = str(raised.value).partition("Traceback")[0]
    assert re.search(message, first), "what is wrong comes before the traceback"


def test_a_read_error_is_reported_before_the_traceback(
    session: SparkSession, tmp_path: Path
) -> None:
    write_history(tmp_path, [[*opening(), add("gone.parquet")]])
    with pytest.raises(PythonException) as raised:
        load(session, tmp_path).collect()
    first = str(raised.value).partition("Traceback")[0]
    assert "DataFileNotFoundError" in first


def test_a_schema_set_by_the_user_is_refused(session: SparkSession, table: Path) -> None:
    with pytest.raises(AnalysisException, match="schema: it must be that of the table"):
        session.read.format("headrace").schema("id int").load(str(table)).count()


def test_types_that_are_texts_are_strings_and_unknown_ones_are_refused() -> None:
    texts = [Field(name, PrimitiveType(f"{name}(3)")) for name in ("char", "varchar")]
    assert spark_schema(StructType(tuple(texts)), table="t").simpleString() == (
        "struct<char:string,varchar:string>"
    )
    with pytest.raises(headrace.errors.InvalidTableError, match="geometry"):
        spark_schema(StructType((Field("g", PrimitiveType("geometry")),)), table="t")


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write inserts, a deletion, an update and a compaction, with a change data feed."""
    folder = tmp_path_factory.mktemp("changing")
    keep = {"delta.enableChangeDataFeed": "true"}
    data = pa.table({"id": range(8), "part": ["x", "y"] * 4})
    write_deltalake(folder, data, configuration=keep, partition_by=["part"])
    write_deltalake(folder, pa.table({"id": [8], "part": ["x"]}), mode="append")
    table = DeltaTable(folder)
    table.delete("id = 2")
    table.update(updates={"id": "id + 100"}, predicate="id < 4")
    table.optimize.compact()
    table.delete("part = 'y'")
    return folder


def changes_by_deltalake(table: Path, first: int, last: int) -> Any:
    rows = pa.table(DeltaTable(table).load_cdf(starting_version=first, ending_version=last))
    names = ["id", "part", "_change_type", "_commit_version"]
    return bag(rows.select(names).to_pylist(), names)


@pytest.mark.parametrize(("first", "last"), [(0, 5), (1, 3), (4, 4), (5, 5)])
def test_the_change_feed_is_that_of_another_reader(
    session: SparkSession, changing: Path, first: int, last: int
) -> None:
    frame = load(
        session, changing, readChangeFeed="true", startingVersion=first, endingVersion=last
    )
    assert frame.columns == ["id", "part", "_change_type", "_commit_version", "_commit_timestamp"]
    rows = rows_of(frame.drop("_commit_timestamp"))
    assert rows == changes_by_deltalake(changing, first, last)


def test_a_change_feed_has_the_commit_time_of_its_versions(
    session: SparkSession, changing: Path
) -> None:
    frame = load(session, changing, readChangeFeed="true", startingVersion=0)
    times = {
        row[0]: row[1] for row in frame.select("_commit_version", "_commit_timestamp").collect()
    }
    table = headrace.Table(changing)
    expected = {version: table.snapshot(version=version).timestamp_ms for version in times}
    assert {v: int(t.timestamp() * 1000) for v, t in times.items()} == expected


@pytest.fixture(autouse=True)
def _no_view_is_left(session: SparkSession) -> Iterator[None]:
    yield
    session.catalog.dropTempView("numbered")
