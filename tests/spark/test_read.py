"""Read pinned tables on Spark: which rows, which files, and for how long."""

import gc
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.java_gateway import JavaObject
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import headrace
import headrace.spark
from headrace.errors import InvalidArgumentError, UnknownColumnError, VersionNotFoundError
from tests.lake.log import write_commit
from tests.rows.lake import field, table_lines
from tests.spark.lake import (
    data_file,
    files_read,
    kernel_rows,
    numbers,
    plan_of,
    rows_of,
    write_hours,
)
from tests.spark.special_table import partitioned


def test_rows_and_columns_are_those_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    table = partitioned(tmp_path)
    frame = headrace.spark.read(spark, table)
    assert frame.columns == ["id", "day", "city"]
    assert rows_of(frame) == kernel_rows(table)


def test_the_scan_is_vectorised_and_the_plan_names_the_pin(
    spark: SparkSession, tmp_path: Path
) -> None:
    plan = plan_of(headrace.spark.read(spark, numbers(tmp_path / "events"), version=0))
    assert "FileScan parquet" in plan
    assert "Batched: true" in plan
    assert "events@0,files=4,digest=" in plan


def test_later_commits_do_not_change_a_frame(spark: SparkSession, tmp_path: Path) -> None:
    table = numbers(tmp_path, files=2)
    frame = headrace.spark.read(spark, table)
    extra = data_file(table, "new.parquet", pa.table({"id": [99]}))
    write_commit(table, 1, [extra, {"remove": {"path": "0.parquet", "dataChange": True}}])
    assert frame.count() == 20
    assert headrace.spark.read(spark, table).count() == 11
    assert headrace.spark.read(spark, table, version=0).count() == 20


def test_a_table_a_snapshot_and_an_address_can_be_read(spark: SparkSession, tmp_path: Path) -> None:
    table = headrace.Table(numbers(tmp_path))
    snapshot = table.snapshot()
    assert headrace.spark.read(spark, table).count() == 40
    assert headrace.spark.read(spark, snapshot).count() == 40
    with pytest.raises(InvalidArgumentError, match="has a version and options already"):
        headrace.spark.read(spark, snapshot, version=0)


def test_a_missing_version_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(VersionNotFoundError):
        headrace.spark.read(spark, numbers(tmp_path), version=7)


def test_a_condition_filters_rows_and_lists_only_files_that_may_match(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = partitioned(tmp_path)
    where = "city = 'Bern' AND id > 25"
    frame = headrace.spark.read(spark, table, where=where)
    assert rows_of(frame) == kernel_rows(table, where=where)
    assert len(frame.inputFiles()) == 2


def test_columns_come_in_the_requested_order_and_the_condition_may_use_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = partitioned(tmp_path)
    frame = headrace.spark.read(spark, table, where="id = 25", columns=["city", "DAY"])
    assert frame.columns == ["city", "day"]
    assert [tuple(map(str, row)) for row in frame.collect()] == [("Bern", "2026-03-02")]


def test_a_missing_column_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UnknownColumnError, match="the table has id"):
        headrace.spark.read(spark, numbers(tmp_path), columns=["nope"])


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("day = DATE '2026-03-02'", 2),
        ("city = 'Basel'", 3),
        ("city LIKE 'Ber%' AND day > '2026-03-01'", 2),
        ("id = 33", 1),
        ("id >= 18 AND id < 22", 2),
        ("id IN (5, 45)", 2),
        ("id IN (5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)", 2),
        ("NOT (id < 50)", 1),
        ("id <=> 7", 1),
        ("id IS NULL", 0),
        ("city = 'Bern' AND id = 33", 0),
        ("id = 3 OR city = 'Basel' AND id = 15", 2),
        ("id % 7 = 3", 6),
        ("id % 7 = 3 AND id > 45", 2),
        ("id % 7 = 3 OR id > 55", 6),
    ],
)
def test_filters_that_are_added_later_prune_files(
    spark: SparkSession, tmp_path: Path, condition: str, files: int
) -> None:
    table = partitioned(tmp_path)
    frame = headrace.spark.read(spark, table).where(condition)
    assert files_read(frame) == files
    everything = spark.createDataFrame(kernel_rows(table), "id long, day date, city string")
    assert rows_of(frame) == rows_of(everything.where(condition))


def test_a_filter_in_python_keeps_every_file(spark: SparkSession, tmp_path: Path) -> None:
    odd = F.udf(lambda number: number % 2 == 1, "boolean")
    frame = headrace.spark.read(spark, numbers(tmp_path)).where(odd("id"))
    assert frame.count() == 20


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles"])
def test_a_time_in_a_condition_is_in_the_zone_of_the_session(
    spark: SparkSession, tmp_path: Path, zone: str
) -> None:
    write_hours(tmp_path)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        condition = "at >= '1970-01-01 09:00:00' AND at < TIMESTAMP '1970-01-01 12:00:00'"
        everything = headrace.spark.read(spark, tmp_path)
        expected = sum(row[0] for row in everything.selectExpr(condition).collect())
        assert headrace.spark.read(spark, tmp_path, where=condition).count() == expected
        assert everything.where(condition).count() == expected
        assert files_read(everything.where(condition)) == expected
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))


def test_spark_recognises_two_reads_of_one_version_as_equal(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = numbers(tmp_path)
    first, second = (headrace.spark.read(spark, table, version=0) for _ in range(2))
    other = headrace.spark.read(spark, table, where="id < 5")
    assert first.sameSemantics(second)
    assert not first.sameSemantics(other)


def test_a_frame_joins_itself_and_is_cached_and_used_by_many_threads(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = headrace.spark.read(spark, partitioned(tmp_path))
    other = frame.alias("a").join(frame.alias("b"), F.col("a.id") == F.col("b.id") + 20)
    assert other.where("a.city = 'Bern'").count() == 20
    with ThreadPoolExecutor(4) as pool:
        counts = pool.map(lambda low: frame.where(f"id >= {low}").count(), range(0, 60, 5))
        assert list(counts) == [60 - low for low in range(0, 60, 5)]
    frame.cache()
    try:
        assert (frame.count(), frame.where("id < 5").count()) == (60, 5)
    finally:
        frame.unpersist()


def test_partitions_are_pruned_by_the_result_of_a_join(spark: SparkSession, tmp_path: Path) -> None:
    facts = headrace.spark.read(spark, partitioned(tmp_path))
    cities = spark.createDataFrame([("Basel", 1), ("Genf", 2)], "name string, rank int")
    joined = facts.join(F.broadcast(cities.where("rank = 1")), facts.city == cities.name)
    assert joined.count() == 30


def test_a_view_in_sql_reads_the_pin(spark: SparkSession, tmp_path: Path) -> None:
    headrace.spark.read(spark, partitioned(tmp_path)).createOrReplaceTempView("pinned_days")
    frame = spark.sql("SELECT city, count(*) FROM pinned_days GROUP BY city ORDER BY city")
    assert [tuple(row) for row in frame.collect()] == [("Basel", 30), ("Bern", 30)]


@pytest.mark.parametrize("ignore", ["false", "true"])
def test_a_missing_file_is_an_error_whatever_the_session_says(
    spark: SparkSession, tmp_path: Path, ignore: str
) -> None:
    table = numbers(tmp_path)
    frame = headrace.spark.read(spark, table)
    (table / "2.parquet").unlink()
    spark.conf.set("spark.sql.files.ignoreMissingFiles", ignore)
    try:
        with pytest.raises(PySparkException, match=r"2\.parquet: .* vacuumed"):
            frame.count()
        assert frame.where("id < 15").count() == 15
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")


def test_a_truncated_file_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    table = numbers(tmp_path)
    frame = headrace.spark.read(spark, table)
    (table / "2.parquet").write_bytes(b"")
    with pytest.raises(PySparkException, match=r"\[CORRUPT_DATA_FILE\] .*2\.parquet"):
        frame.count()
    assert frame.where("id < 15").count() == 15


@pytest.mark.parametrize("size", [0, 1, 500, 1_000_000])
def test_a_wrong_file_size_in_the_log_loses_no_rows(
    spark: SparkSession, tmp_path: Path, size: int
) -> None:
    line = data_file(tmp_path, "a.parquet", pa.table({"id": range(1000)}), row_group_size=10)
    line["add"]["size"] = size
    write_commit(tmp_path, 0, [*table_lines([field("id", "long")]), line])
    assert headrace.spark.read(spark, tmp_path).count() == 1000


def test_a_table_without_files_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    write_commit(tmp_path, 0, table_lines([field("id", "long"), field("void", "void")]))
    assert headrace.spark.read(spark, tmp_path).collect() == []


def test_a_released_frame_leaves_nothing_in_python(spark: SparkSession, tmp_path: Path) -> None:
    table = numbers(tmp_path)
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    pool = gateway.gateway_property.pool
    frame = headrace.spark.read(spark, table)
    before = len(pool)
    for _ in range(50):
        assert headrace.spark.read(spark, table, columns=["id"]).columns == ["id"]
    deadline = time.monotonic() + 60
    while len(pool) > before + 10 and time.monotonic() < deadline:
        gc.collect()
        gateway.jvm.java.lang.System.gc()
        gateway.jvm.java.lang.System.runFinalization()
        time.sleep(0.2)
    assert len(pool) <= before + 10
    assert frame.where("id = 3").count() == 1


def test_a_table_is_read_after_another_process_took_the_callbacks_of_the_jvm(
    spark: SparkSession, tmp_path: Path
) -> None:
    """That process has ended, so the JVM calls a port that nobody listens on."""
    table = numbers(tmp_path)
    headrace.spark.read(spark, table)
    gateway: Any = spark.sparkContext._gateway
    with socket.socket() as ended:
        ended.bind(("127.0.0.1", 0))
        [_, port] = ended.getsockname()
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    server.resetCallbackClient(server.getCallbackClient().getAddress(), port)
    assert headrace.spark.read(spark, table).where("id = 3").count() == 1
