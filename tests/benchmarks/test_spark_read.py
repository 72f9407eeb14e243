from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.spark_read import compare, make_table


def test_a_pinned_read_is_compared_with_a_bare_one(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(spark, make_table(210, below=tmp_path), pairs=1) > 0
    assert "day = 42: {'numFiles': 2," in capsys.readouterr().out
