"""Runs the tasks of a large compaction on the workers of a Spark session.

A session enters; a function that `headrace.maintain` calls with the tasks leaves.
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from headrace.maintain.distribution import RewriteTask, RunTasks, TaskOutcome, run_task

_SCHEMA = "task bigint, outcome binary"


def run_tasks_on(spark: SparkSession) -> RunTasks:
    """Return a function that runs the tasks of a compaction on a session, one Spark task each.

    Spark may run a task twice. No state references the manifests of the discarded attempt, and
    clean-up deletes them.
    """

    def run_tasks(tasks: Sequence[RewriteTask]) -> list[TaskOutcome]:
        packed = [pickle.dumps(task) for task in tasks]

        def rewrite(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    outcome = run_task(pickle.loads(packed[number]))  # noqa: S301  (pickled by Headrace)
                    columns = {"task": [number], "outcome": [pickle.dumps(outcome)]}
                    yield pa.RecordBatch.from_pydict(columns)

        frame = spark.range(len(tasks), numPartitions=len(tasks)).mapInArrow(rewrite, _SCHEMA)
        rows = sorted(frame.collect(), key=lambda row: int(row["task"]))
        return [pickle.loads(row["outcome"]) for row in rows]  # noqa: S301  (pickled by Headrace)

    return run_tasks
