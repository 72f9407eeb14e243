"""Deletion vectors on Spark: no query returns deleted rows."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import headrace.spark
from tests.lake.log import write_commit
from tests.spark.lake import data_file, files_read, kernel_rows, rows_of
from tests.spark.special_table import with_vectors


def test_deleted_rows_are_not_returned(spark: SparkSession, tmp_path: Path) -> None:
    table = with_vectors(tmp_path)
    frame = headrace.spark.read(spark, table)
    assert rows_of(frame) == kernel_rows(table)
    assert frame.columns == ["id", "p"]
    assert frame.count() == 10 + 7 + 0 + 10 + 9_998


@pytest.mark.parametrize("codegen", ["true", "false"])
@pytest.mark.parametrize("batched", ["true", "false"])
def test_deleted_rows_are_not_returned_by_any_way_of_reading(
    spark: SparkSession, tmp_path: Path, codegen: str, batched: str
) -> None:
    settings = {
        "spark.sql.codegen.wholeStage": codegen,
        "spark.sql.parquet.enableVectorizedReader": batched,
        "spark.sql.codegen.factoryMode": "FALLBACK" if codegen == "true" else "NO_CODEGEN",
        "spark.sql.files.maxPartitionBytes": "4000",
    }
    before = {name: spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        frame = headrace.spark.read(spark, with_vectors(tmp_path))
        assert frame.rdd.getNumPartitions() > 5
        assert rows_of(frame) == kernel_rows(tmp_path)
    finally:
        for name, expected_rows in before.items():
            spark.conf.set(name, str(expected_rows))


def test_filters_skip_files_and_row_groups_but_count_rows_from_the_start(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = headrace.spark.read(spark, with_vectors(tmp_path))
    assert [row.id for row in frame.where("id >= 10038").collect()] == [10038]
    assert files_read(frame.where("id >= 10038")) == 1
    assert frame.where("id BETWEEN 10 AND 19 AND p = 'odd'").count() == 7


def test_metadata_columns_describe_the_remaining_rows(spark: SparkSession, tmp_path: Path) -> None:
    frame = headrace.spark.read(spark, with_vectors(tmp_path)).where("p = 'odd' AND id < 20")
    rows = frame.select("id", "_metadata.row_index", "_metadata.file_name").collect()
    assert [(row.id - 10, row.file_name) for row in rows] == [
        (row.row_index, "1.parquet") for row in rows
    ]
    assert [row.row_index for row in rows] == [1, 2, 4, 5, 6, 7, 8]
    names = {row[0].rpartition("/")[2] for row in frame.select(F.input_file_name()).collect()}
    assert names == {"1.parquet"}


def test_only_the_vectors_of_files_that_a_query_needs_are_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = with_vectors(tmp_path)
    broken: dict[str, Any] = {
        "storageType": "u",
        "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
        "offset": 1,
        "sizeInBytes": 36,
        "cardinality": 1,
    }
    data = pa.table({"id": [1_000_000]})
    line = data_file(table, "lost.parquet", data, partition_values={"p": "lost"})
    line["add"]["deletionVector"] = broken
    write_commit(table, 1, [line])
    frame = headrace.spark.read(spark, table)
    assert frame.where("p <> 'lost'").count() == 10_025
    with pytest.raises(
        PySparkException, match="the log references this file, but it does not exist"
    ):
        frame.count()


def test_a_frame_with_deleted_rows_joins_itself(spark: SparkSession, tmp_path: Path) -> None:
    frame = headrace.spark.read(spark, with_vectors(tmp_path)).where("p = 'odd'")
    assert frame.join(frame.withColumnRenamed("p", "q"), "id").count() == 17
