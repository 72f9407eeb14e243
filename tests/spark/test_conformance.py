"""Real tables of other projects on Spark: the stored rows, or those that the kernel reads."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import VariantVal

import headrace.spark
from tests.conformance.comparison import EXCEPTIONS, REFUSALS, are_equal, stored_rows
from tests.conformance.fixture import Fixture, fixture_params
from tests.listing import open_snapshot
from tests.rows.naive import bag

ONLY_SPARK = "UNSUPPORTED_FEATURE"
"""The kernel's own reader refuses shredded variants here; Spark reads them."""


def _has_rows(frame: DataFrame, expected: pa.Table) -> bool:
    if "variant" not in frame.schema.simpleString():
        return are_equal(frame.toArrow(), expected)
    # PySpark's Arrow conversion fails for null variants inside lists.
    rows = [_plain(row) for row in frame.collect()]
    return bag(rows, frame.columns) == bag(expected.to_pylist(), frame.columns)


def _plain(value: Any) -> Any:
    match value:
        case Row():
            return {name: _plain(part) for name, part in value.asDict().items()}
        case VariantVal():
            return {"value": bytes(value.value), "metadata": bytes(value.metadata)}
        case list():
            return [_plain(part) for part in value]
        case dict():
            return [(_plain(key), _plain(part)) for key, part in value.items()]
        case _:
            return value


@pytest.mark.parametrize("fixture", fixture_params())
def test_rows_on_spark_equal_those_that_are_stored_or_that_the_kernel_reads(
    spark: SparkSession, fixture: Fixture
) -> None:
    if fixture.name in REFUSALS:
        pytest.skip(REFUSALS[fixture.name]["reason"])
    if fixture.is_large:
        pytest.skip("its many data files never existed")
    frame = headrace.spark.read(spark, fixture.table)
    unreadable = EXCEPTIONS["unreadable"].get(fixture.name)
    if unreadable and unreadable["code"] == ONLY_SPARK:
        assert frame.collect()
    elif unreadable:
        with pytest.raises(
            PySparkException, match="the log references this file, but it does not exist"
        ):
            frame.collect()
    else:
        different = fixture.name in EXCEPTIONS["different"]
        expected = None if different else stored_rows(fixture)
        if expected is None:
            expected = open_snapshot(fixture.table).rows().read_all()
        assert _has_rows(frame, expected)
