"""Runs views on Spark: the author's SQL unchanged, over exactly the pinned files.

Each view has its own session next to the caller's, so that its settings, functions and tables are
private. Its jobs form a group, so that they can be counted and cancelled.
"""

from threading import Lock

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as PySpark calls it)
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

import headrace.spark
from headrace.pipeline.arrow_ddl import schema_text, spark_schema
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.output.write import OutputWrite, Replacement
from headrace.pipeline.runners.spark.arrow_function import register_functions
from headrace.pipeline.runners.spark.expansion import expand_calls
from headrace.pipeline.runners.spark.folder import write_folder
from headrace.pipeline.runners.spark.job_group import SparkExecutions
from headrace.pipeline.runners.spark.result_digest import digest_frame, digest_written
from headrace.pipeline.runners.spark.table_merge import merge_on_spark
from headrace.pipeline.runners.spark.view_session import unplanned_settings, view_session
from headrace.pipeline.runners.spark.volatility import volatile_parts
from headrace.pipeline.runners.task import (
    KeptResult,
    RunnerContext,
    TableResult,
    ViewResult,
    ViewTask,
    promised_types,
)
from headrace.spark.column import quoted
from headrace.spark.native import read_pruned
from headrace.table import Snapshot


class SparkRunner:
    """Computes views in sessions next to the caller's."""

    def __init__(self, session: SparkSession, context: RunnerContext) -> None:
        """Take a session that has its driver in this process."""
        self._base = session
        self._context = context
        self._executions = SparkExecutions(session, run=context.run)
        self._cached_frames: dict[str, DataFrame] = {}
        """The results that are kept in memory, by view."""
        self._lock = Lock()

    def compute(self, task: ViewTask) -> ViewResult:
        """Compute a view, and write or keep its rows."""
        plan = task.plan
        with self._executions.group(plan.name) as execution:
            session = self._session()
            self._register(session, task)
            frame = self._with_promised_types(self._frame(session, plan), plan)
            schema = _arrow_schema(frame)
            volatile = (*volatile_parts(frame), *unplanned_settings(session, plan))
            execution.begin()
            if task.folder is None:
                frame = self._keep(plan.name, frame)
                digest = digest_frame(frame, schema)
            else:
                by = task.partition_by
                if task.order_by:
                    frame = frame.orderBy(*(F.col(quoted(name)) for name in task.order_by))
                write_folder(frame, task.folder, partition_by=by)
                digest = digest_written(
                    session, task.folder, schema=schema, partition_by=by, tier=plan.header.tier
                )
            return ViewResult(
                schema=schema,
                digest=digest,
                plans=execution.plans(sql=plan.sql or "", analyse=task.analyse),
                job_ids=execution.job_ids(),
                volatile=volatile,
            )

    def merge(self, write: OutputWrite, snapshot: Snapshot | None) -> Replacement:
        """Compute how the rows of a view change its table."""
        memory_bytes = self._context.profile.memory_bytes
        with self._executions.group(write.note.view):
            return merge_on_spark(self._session(), write, snapshot, memory_bytes=memory_bytes)

    def release(self, name: str) -> None:
        """Release a result that is kept in memory."""
        with self._lock:
            frame = self._cached_frames.pop(name, None)
        if frame is not None:
            frame.unpersist()
            self._base.catalog.dropGlobalTempView(self._global_name(name))

    def progress(self, view: str) -> tuple[int, int]:
        """Return the numbers of finished and of all tasks of a view's jobs."""
        return self._executions.progress(view)

    def cancel(self) -> None:
        """Cancel all jobs of the run."""
        self._executions.cancel()

    def close(self) -> None:
        """Release all results; the session belongs to the caller."""
        for name in list(self._cached_frames):
            self.release(name)

    def _session(self) -> SparkSession:
        context = self._context
        return view_session(self._base, context.profile, context.settings)

    def _register(self, session: SparkSession, task: ViewTask) -> None:
        """Register what the view's SQL names: functions, sources and views."""
        catalog = self._context.catalog
        plans = (*task.inlined, task.plan)
        function_names = {name for plan in plans for name in plan.key.functions if name in catalog}
        functions = [catalog[name] for name in sorted(function_names)]
        register_functions(session, functions, catalog=catalog)
        for unit in task.plan.units:
            self._source(session, unit).createOrReplaceTempView(unit.source)
        for name, result in task.upstream.items():
            match result:
                case TableResult(table=table, version=version):
                    options = None if table.is_local else table.options
                    rows = headrace.spark.read(
                        session, table.uri, version=version, storage_options=options
                    )
                case KeptResult(name=cached_view):
                    rows = session.table(f"global_temp.{self._global_name(cached_view)}")
            rows.createOrReplaceTempView(name)
        for plan in task.inlined:
            self._frame(session, plan).createOrReplaceTempView(plan.name)

    def _source(self, session: SparkSession, unit: ScanUnit) -> DataFrame:
        source = self._context.sources[unit.source]
        if source.snapshot is not None:
            return read_pruned(session, source.snapshot, prune_by=unit.where)
        schema = schema_text(source.schema)
        files = source.parquet_files(unit.where)
        if files:
            return session.read.schema(schema).parquet(*map(str, files))
        if files is not None:
            return session.createDataFrame([], schema)
        rows = pa.Table.from_batches(list(source.batches()), source.schema)
        return session.createDataFrame(rows, schema)

    def _frame(self, session: SparkSession, plan: ViewPlan) -> DataFrame:
        if plan.sql is None:
            frame: DataFrame = self._context.builders[plan.name](session)
            return frame
        text = expand_calls(plan.sql, self._context.catalog, file=plan.file)
        frame = session.sql(text, args=plan.arguments or None)
        return frame if text == plan.sql else _named_as_planned(frame, plan)

    def _with_promised_types(self, frame: DataFrame, plan: ViewPlan) -> DataFrame:
        types = promised_types(plan.header.contract, _arrow_schema(frame))
        if not types:
            return frame
        return frame.withColumns(
            {name: F.col(quoted(name)).cast(from_arrow_type(t)) for name, t in types.items()}
        )

    def _keep(self, name: str, frame: DataFrame) -> DataFrame:
        cached = frame.cache()
        cached.createOrReplaceGlobalTempView(self._global_name(name))
        with self._lock:
            self._cached_frames[name] = cached
        return cached

    def _global_name(self, view: str) -> str:
        return f"headrace_{self._context.run.replace('-', '_')}_{view}"


def _named_as_planned(frame: DataFrame, plan: ViewPlan) -> DataFrame:
    """Restore the column names that Spark derives from the original SQL."""
    planned = plan.arrow_schema
    if planned is None or len(planned) != len(frame.columns):
        return frame
    pairs = zip(frame.columns, planned.names, strict=True)
    return frame.toDF(*(name if "(" in column else column for column, name in pairs))


def _arrow_schema(frame: DataFrame) -> pa.Schema:
    """Return the columns of a DataFrame; timestamps with a zone are in UTC."""
    return spark_schema(to_arrow_schema(frame.schema, timezone="UTC"))
