"""The Spark session used as oracle: the hard tables as views, each read by one task."""

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.pipeline.arrow_ddl import schema_text
from tests.pipeline.differential.hard_table import TABLES


@pytest.fixture(scope="module")
def session(spark: Any) -> Iterator[Any]:
    """A session in which one task reads all rows in order, so that sums are deterministic."""
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.conf.set("spark.sql.shuffle.partitions", "1")
    own.conf.set("spark.sql.leafNodeDefaultParallelism", "1")
    for name, table in TABLES.items():
        frame = own.createDataFrame(table, schema_text(table.schema)).coalesce(1)
        frame.createOrReplaceTempView(name)
    yield own
    for name in TABLES:
        own.catalog.dropTempView(name)
