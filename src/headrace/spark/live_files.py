"""Lists the live files of a table on Spark: replays checkpoints there, or returns a DataFrame.

A session and a table enter; a `Table` whose scans use Spark leaves, or a DataFrame of live files.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import reduce
from os import PathLike
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from headrace import wiring
from headrace.engines.arrow.executor import ArrowExecutor
from headrace.engines.spark.deferring import DeferringExecutor
from headrace.engines.spark.executor import TASK_BYTES, WAVE_BYTES, SparkExecutor
from headrace.engines.spark.lowering import LeafWork, Task
from headrace.engines.spark.shipment import ship
from headrace.engines.spark.worker import Shipped, read_task
from headrace.errors import InvalidArgumentError
from headrace.metrics.meter import Meter
from headrace.metrics.reporter import Reporter, log_event
from headrace.scan.argument import address
from headrace.scan.arrow_files import add_fields, arrow_files
from headrace.scan.live_file import FileContext
from headrace.spark.table_argument import resolve_table
from headrace.table import Table


def open_table(
    spark: SparkSession,
    uri: str | PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    reporter: Reporter = log_event,
    wave_bytes: int = WAVE_BYTES,
) -> Table:
    """Open a table whose checkpoints are replayed on Spark.

    This pays off if a checkpoint is large and remote. Results and `scan.metrics` equal those of
    the embedded engine, which replays everything else.

    Args:
        spark: The session, classic or Spark Connect. Its workers need the package `headrace`.
        uri: The folder that contains `_delta_log`.
        storage_options: Options of the store.
        reporter: Receives events.
        wave_bytes: How much of a checkpoint is read at a time; two waves are in flight. The driver
            holds their results, so larger waves suit conditions that prune most files.

    Raises:
        UnsupportedStoreError: the address belongs to no known store.
        InvalidArgumentError: the address is not a folder.
        EngineFailedError: in scans, if Spark gave up on a part of a checkpoint.
    """
    store = wiring.open_store(address(uri), options=storage_options)
    embedded = wiring.open_executor(store)
    executor = SparkExecutor(spark, embedded=embedded, wave_bytes=wave_bytes)
    return Table(uri, storage_options=storage_options, executor=executor, reporter=reporter)


def files(  # noqa: PLR0913  (the arguments of a scan)
    spark: SparkSession,
    table: Table | str | PathLike[str],
    *,
    where: str | None = None,
    version: int | None = None,
    as_of: datetime | date | str | None = None,
    columns: Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    task_bytes: int = TASK_BYTES,
) -> DataFrame:
    """Return the live files as a DataFrame, with the columns of `scan.batches()`.

    The version is pinned and its commits are replayed immediately. The checkpoint is read by
    Spark's workers when the DataFrame is evaluated, and does not pass through the driver.

    Args:
        spark: The session, classic or Spark Connect. Its workers need the package `headrace`.
        table: The table, or the folder that contains its `_delta_log`.
        where: An SQL condition; files that cannot contain a matching row are pruned.
        version: The version to read; by default the newest.
        as_of: The time to read the table as of.
        columns: The names of the columns to return; by default all.
        storage_options: Options of the store, as for `Table`; they are sent to the workers.
        task_bytes: How much of the checkpoint one task reads.

    Raises:
        InvalidArgumentError: the table has a custom executor, which workers cannot run.
    """
    source_table = resolve_table(table, storage_options)
    deferring = DeferringExecutor(_embedded_engine(source_table), task_bytes=task_bytes)
    pinned = Table(
        source_table.uri,
        store=source_table.store,
        executor=deferring,
        reporter=source_table.reporter,
    )
    scan = pinned.snapshot(version=version, as_of=as_of).scan(where=where)
    schema = scan.arrow_schema(columns=columns)
    projection = None if columns is None else add_fields(schema.names)
    with scan.run(projection=projection) as run:
        batches = [arrow_files(batch, scan.context, columns) for batch in run]
    spark_schema = from_arrow_schema(schema)
    frames = []
    if batches:
        frames.append(spark.createDataFrame(pa.Table.from_batches(batches), spark_schema))
    for work, tasks in deferring.deferred:
        list_files = ListFilesOfTasks(ship(spark, work), tasks, scan.context, columns)
        numbers = spark.range(0, len(tasks), 1, len(tasks))
        frames.append(numbers.mapInArrow(list_files, spark_schema))
    return reduce(DataFrame.union, frames or [spark.createDataFrame([], spark_schema)])


class ListFilesOfTasks:
    """A function for `mapInArrow`: task numbers enter, live files leave."""

    def __init__(
        self,
        work: Shipped[LeafWork],
        tasks: tuple[Task, ...],
        context: FileContext,
        columns: Sequence[str] | None,
    ) -> None:
        self._work = work
        self._tasks = tasks
        self._context = context
        self._columns = None if columns is None else tuple(columns)

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the files of the tasks whose numbers are in the first column."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for _, adds in read_task(self._work.value, self._tasks[number], meter=Meter()):
                    yield arrow_files(adds, self._context, self._columns)


def _embedded_engine(table: Table) -> ArrowExecutor:
    executor = table.executor
    if isinstance(executor, SparkExecutor):
        return executor.embedded
    if isinstance(executor, ArrowExecutor):
        return executor
    reason = f"its executor is a {type(executor).__name__}, which Spark's workers cannot run"
    raise InvalidArgumentError(argument="table", reason=reason)
