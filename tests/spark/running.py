"""The session that tests share: small, quiet, and writing only to one folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import headrace.spark


@contextmanager
def running_session(folder: Path) -> Iterator[SparkSession]:
    settings: dict[str, Any] = {
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    session = headrace.spark.local(cores=2, memory="1g", **settings)
    try:
        yield session
    finally:
        session.stop()
