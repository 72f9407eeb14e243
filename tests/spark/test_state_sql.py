"""States on Spark: statements, table functions, settings, and appends to an IndexTables table."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row, SparkSession

import headrace.spark
from headrace.errors import InvalidArgumentError
from headrace.maintain.setting import PREFIX, StateSettings
from headrace.maintain.writer import StateWriter
from headrace.storage.local import LocalStore
from tests.maintain import oracle
from tests.maintain.table import entry, metadata, objects_of


@pytest.fixture
def table(tmp_path: Path) -> Path:
    writer = StateWriter(LocalStore(str(tmp_path)))
    writer.commit([entry("a"), entry("b")], metadata=metadata())
    writer.commit([entry("c")])
    return tmp_path


def test_a_statement_returns_a_frame_and_other_text_goes_to_spark(
    spark: SparkSession, table: Path
) -> None:
    (row,) = headrace.spark.sql(spark, f"CHECKPOINT INDEXTABLES '{table}'").collect()
    assert row == Row(
        tablePath=str(table),
        status="SUCCESS",
        previousFormat="avro-state",
        newFormat="avro-state",
        version=2,
        numFiles=3,
    )
    assert headrace.spark.sql(spark, "SELECT 7 AS n").collect() == [Row(n=7)]


def test_the_settings_of_a_session_count(spark: SparkSession, table: Path) -> None:
    spark.conf.set(f"{PREFIX}format", "json")
    try:
        (row,) = headrace.spark.sql(spark, f"CHECKPOINT INDEXTABLES '{table}'").collect()
    finally:
        spark.conf.unset(f"{PREFIX}format")
    assert row.newFormat == "json"


def test_a_misspelt_setting_of_a_session_is_refused(spark: SparkSession, table: Path) -> None:
    others = {f"{PREFIX}retention.hour": "1", "spark.indextables.cache.size": "7"}
    for name, value in others.items():
        spark.conf.set(name, value)
    try:
        with pytest.raises(
            InvalidArgumentError, match=r"did you mean \S*retention\.hours\?"
        ) as caught:
            headrace.spark.sql(spark, f"CHECKPOINT INDEXTABLES '{table}'")
        spark.conf.unset(f"{PREFIX}retention.hour")
        headrace.spark.sql(spark, f"CHECKPOINT INDEXTABLES '{table}'")
    finally:
        for name in others:
            spark.conf.unset(name)
    assert caught.value.argument == f"{PREFIX}retention.hour"


def test_a_large_compaction_is_divided_among_workers(spark: SparkSession, tmp_path: Path) -> None:
    settings = StateSettings(entries_per_manifest=100, entries_per_block=20)
    writer = StateWriter(LocalStore(str(tmp_path)), settings=settings)
    adds = [entry(f"a{n}", part=str(n % 9)) for n in range(900)]
    writer.commit(adds, metadata=metadata())
    writer.commit([entry("b", part="4")], ["a5", "a77"])
    before = oracle.read(objects_of(tmp_path)).files
    names = {"entriesPerManifest": "100", "compaction.distributeEntries": "1"}
    for name, value in names.items():
        spark.conf.set(f"{PREFIX}{name}", value)
    try:
        (row,) = headrace.spark.sql(spark, f"COMPACT INDEXTABLES '{tmp_path}'").collect()
    finally:
        for name in names:
            spark.conf.unset(f"{PREFIX}{name}")
    assert (row.status, row.numFiles) == ("SUCCESS", 899)
    read = oracle.read(objects_of(tmp_path))
    assert (read.files, read.record["tombstones"]) == (before, [])
    assert len(read.record["manifests"]) >= 9


def test_describe_state_is_a_table_function_too(spark: SparkSession, table: Path) -> None:
    headrace.spark.register(spark)
    rows = spark.sql(f"SELECT * FROM describe_state('{table}')").collect()
    expected = headrace.spark.sql(spark, f"DESCRIBE INDEXTABLES STATE '{table}'").collect()
    assert rows == expected
    assert ("numFiles", "3") in [tuple(row) for row in rows]


def test_a_frame_is_appended_as_one_version(spark: SparkSession, tmp_path: Path) -> None:
    headrace.spark.register(spark)
    table = tmp_path / "t"
    frame = spark.range(10).selectExpr("id", "CAST(id % 2 AS STRING) AS part")
    for _ in range(2):
        frame.write.format("headrace").mode("append").option("partitionColumns", "part").save(
            str(table)
        )
    read = oracle.read(objects_of(table))
    assert read.version == 2
    rows = [
        (identity, path.split("=")[1][0])
        for path in read.files
        for identity in pq.ParquetFile(table / path).read().column("id").to_pylist()
    ]
    assert sorted(rows) == sorted([(n, str(n % 2)) for n in range(10)] * 2)
    assert all(read.files[path] == (table / path).stat().st_size for path in read.files)


def test_a_frame_with_other_columns_is_refused(spark: SparkSession, table: Path) -> None:
    headrace.spark.register(spark)
    frame = spark.range(3).selectExpr("CAST(id AS STRING) AS id", "'x' AS part")
    with pytest.raises(Exception, match="the table has"):
        frame.write.format("headrace").mode("append").save(str(table))
    assert oracle.states(objects_of(table)) == [1, 2]
