"""A Spark session with Delta, only on request: `make spark-delta`."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

PACKAGE = "HEADRACE_SPARK_DELTA"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A local Spark whose Delta comes from the Maven package that the environment names."""
    package = os.environ.get(PACKAGE)
    if not package:
        pytest.skip(f"{PACKAGE} is not set: `make spark-delta` runs these tests")
    from headrace.spark import local  # noqa: PLC0415  (PySpark is wanted only from here on)

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.jars.packages": package,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.databricks.delta.snapshotPartitions": 1,
    }
    session = local(cores=2, memory="1500m", **settings)
    yield session
    session.stop()
