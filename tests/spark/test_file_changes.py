"""The files that versions add and remove, read and streamed on Spark."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

import headrace
import headrace.spark

Change = tuple[int, str, str]


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    headrace.spark.register(spark)
    return spark


def append(table: Path, *ids: int) -> None:
    write_deltalake(table, pa.table({"id": pa.array(ids, pa.int64())}), mode="append")


def expected(table: Path, first: int = 0, last: int | None = None) -> list[Change]:
    changes = headrace.Table(table).changes(first, last)
    return sorted((change.version, change.kind.value, change.path) for change in changes)


def in_rows(rows: list[Any]) -> list[Change]:
    return sorted((row.version, row.kind, row.path) for row in rows)


def catch_up(session: SparkSession, table: Path, folder: Path, **options: Any) -> list[Change]:
    """Run a stream until it has caught up, and return all changes in its sink."""
    reader = session.readStream.format("headrace").option("readFileChanges", "true")
    query = (
        reader.options(**options)
        .load(str(table))
        .writeStream.format("parquet")
        .option("path", str(folder / "sink"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return in_rows(session.read.parquet(str(folder / "sink")).collect())


def test_a_range_has_the_changes_of_the_library(session: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "table"
    for number in range(4):
        append(table, number)
    DeltaTable(table).delete("id = 1")
    reader = session.read.format("headrace").option("readFileChanges", "true")
    assert in_rows(reader.load(str(table)).collect()) == expected(table)
    part = reader.option("startingVersion", 1).option("endingVersion", 3).load(str(table))
    assert in_rows(part.collect()) == expected(table, 1, 3)


def test_a_stream_returns_each_change_once_and_resumes(
    session: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    for number in range(5):
        append(table, number)
    DeltaTable(table).delete("id = 2")
    assert catch_up(session, table, tmp_path, maxVersionsPerTrigger=2) == expected(table)
    append(table, 9)
    DeltaTable(table).optimize.compact()
    assert catch_up(session, table, tmp_path) == expected(table)


@pytest.mark.parametrize("name", ["02_five_appends", "03_with_removes", "12_partition_drop"])
def test_a_stream_follows_an_indextables_log(
    session: SparkSession, fixture_indextables: Path, tmp_path: Path, name: str
) -> None:
    table = fixture_indextables / name
    first = min(
        int(folder.name.removeprefix("state-v"))
        for folder in (table / "_transaction_log").glob("state-v*")
    )
    changes = catch_up(session, table, tmp_path, startingVersion=first + 1, maxVersionsPerTrigger=1)
    assert changes == expected(table, first + 1)
    assert changes


def test_a_stream_from_the_latest_version_returns_later_changes_only(
    session: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    append(table, 1)
    assert catch_up(session, table, tmp_path, startingVersion="latest") == []
    append(table, 2)
    assert catch_up(session, table, tmp_path, startingVersion="latest") == expected(table, 1)


def test_a_replaced_table_stops_the_stream(session: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "table"
    append(table, 1)
    catch_up(session, table, tmp_path)
    shutil.rmtree(table)
    append(table, 1)
    append(table, 2)
    with pytest.raises(StreamingQueryException, match="replaced"):
        catch_up(session, table, tmp_path)


def test_a_table_that_is_replaced_after_planning_is_not_read(
    session: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    append(table, 1)
    frame = session.read.format("headrace").option("readFileChanges", "true").load(str(table))
    shutil.rmtree(table)
    append(table, 2)
    with pytest.raises(PySparkException, match="replaced"):
        frame.collect()


@pytest.mark.parametrize(
    "option", [("where", "id = 1"), ("columns", "id"), ("version", "0"), ("ignoreDeletes", "true")]
)
def test_an_option_of_rows_is_refused(
    session: SparkSession, tmp_path: Path, option: tuple[str, str]
) -> None:
    append(tmp_path, 1)
    reader = session.read.format("headrace").option("readFileChanges", "true").option(*option)
    with pytest.raises(PySparkException, match="does not apply to readFileChanges"):
        reader.load(str(tmp_path))
