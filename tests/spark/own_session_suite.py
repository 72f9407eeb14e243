"""Tests that need a session of their own. `test_own_session.py` runs them in a separate process.

A local session tries each task only once, unless its master URL says otherwise at creation.
Whatever is registered in a session stays registered.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace
import headrace.spark
from headrace import wiring
from headrace.engines.spark.executor import SparkExecutor
from headrace.metrics.event import Event
from tests.lake.checkpoint import Form, Shape
from tests.rows.lake import field, write_table
from tests.spark import abroad
from tests.spark.large_checkpoint import NAMES, counted, write_large_checkpoint


@pytest.fixture(scope="module")
def patient() -> Iterator[SparkSession]:
    settings: dict[str, Any] = {"spark.master": "local[2,4]"}
    session = headrace.spark.local(memory="768m", **settings)
    yield session
    session.stop()


def test_counts_of_a_task_that_died_are_not_added(patient: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "table"
    shape = Shape(form=Form.V2_PARQUET, sidecars=4, row_group_rows=2)
    *_, last = write_large_checkpoint(table, shape)
    marker = tmp_path / "died"
    store = abroad.FailsOnce(str(table), name=last.name, marker=str(marker))
    # A single task reads everything, so it dies after it has produced most of its batches.
    executor = SparkExecutor(patient, embedded=wiring.open_executor(store))
    local_events: list[Event] = []
    spark_events: list[Event] = []
    scan = headrace.Table(table, executor=executor, reporter=spark_events.append).snapshot().scan()
    assert sorted(file.path for file in scan) == NAMES
    assert marker.exists()
    list(headrace.Table(table, reporter=local_events.append).snapshot().scan())
    assert counted(spark_events) == counted(local_events)


def test_a_new_session_finds_the_data_source_by_itself(
    patient: SparkSession, tmp_path: Path
) -> None:
    write_table(tmp_path, [field("id", "long")], [pa.table({"id": [1, 2, 3]})])
    rows = patient.read.format("headrace").load(str(tmp_path)).collect()
    assert [row.id for row in rows] == [1, 2, 3]
