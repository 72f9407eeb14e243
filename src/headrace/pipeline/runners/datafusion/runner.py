"""Runs views on DataFusion: the stored plan over the same pinned files, read by Headrace.

Plans refer to tables and columns by their folded names. Results get the author's names and Spark's
types, so that both runners write the same tables.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from threading import Event, Lock

import pyarrow as pa
from datafusion import DataFrame, RuntimeEnvBuilder, SessionContext, column
from datafusion.plan import ExecutionPlan
from datafusion.substrait import Consumer, Serde
from sqlglot import exp

from headrace.errors import (
    HeadraceError,
    RunCancelledError,
    ViewRefusedError,
    ViewUnplannedError,
)
from headrace.pipeline.analysis.planning_session import planning_context, register_function
from headrace.pipeline.analysis.query import parse_query
from headrace.pipeline.arrow_ddl import spark_schema
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.output.merge import merge_embedded
from headrace.pipeline.output.write import OutputWrite, Replacement
from headrace.pipeline.project.header import Tier
from headrace.pipeline.runners.datafusion.file import write_rows
from headrace.pipeline.runners.datafusion.table import (
    RowDataset,
    batch_dataset,
    snapshot_dataset,
)
from headrace.pipeline.runners.task import (
    KeptResult,
    RunnerContext,
    TableResult,
    Upstream,
    ViewResult,
    ViewTask,
    promised_types,
)
from headrace.pipeline.runs.artifact import PlanStage
from headrace.pipeline.runs.row_digest import Digester
from headrace.pipeline.translation.kernel import KernelCall, kernels_in, row_ordered
from headrace.pipeline.translation.kernels.table import register_kernels
from headrace.pipeline.translation.table_call import (
    TableCall,
    parse_table_call,
    shown_relation,
    table_calls_in,
)
from headrace.table import Snapshot

_LOGGER = logging.getLogger("headrace.pipeline")

_SETTLED_RULES = (
    *("rewrite_set_comparison", "optimize_unions", "unions_to_filter"),
    *("replace_distinct_aggregate", "eliminate_join", "decorrelate_predicate_subquery"),
    *("scalar_subquery_to_join", "decorrelate_lateral_join", "extract_equijoin_predicate"),
    *("eliminate_duplicated_expr", "eliminate_filter", "eliminate_cross_join"),
    *("eliminate_limit", "propagate_empty_relation", "filter_null_join_keys"),
    *("eliminate_outer_join", "push_down_limit", "push_down_filter"),
    *("single_distinct_aggregation_to_group_by", "eliminate_group_by_constant"),
    *("common_sub_expression_eliminate", "extract_leaf_expressions"),
    *("push_down_leaf_projections", "optimize_projections"),
)
"""The DataFusion optimizer rules that were already applied to a stored plan. They are switched off
when it runs; only the rules that replace function aliases still have to be applied."""

_ENGINE_PREFIX = "datafusion "
"""Only plans for DataFusion are run: in a bundle for Spark, the SQL next to the plan is exact."""
_UNLIMITED_SUFFIX = "__rows"
_NO_LIMIT = 1 << 62
"""A limit that no table reaches. It stops filter pushdown: pyarrow would evaluate pushed filters,
and there NaN is not greater than any value, and `NOT IN` keeps nulls."""


class DataFusionRunner:
    """Computes views in this process."""

    def __init__(self, context: RunnerContext) -> None:
        """Take what all views of the run share."""
        self._context = context
        self._results: dict[str, pa.Table] = {}
        """The results that are kept in memory, by view."""
        self._raised: dict[str, HeadraceError] = {}
        """The first error that a source reader raised, by view."""
        self._fallbacks: dict[str, list[str]] = {}
        """Why the stored plan of a view, or of a view that it inlines, was not run; by view."""
        self._lock = Lock()
        self._cancelled = Event()

    def compute(self, task: ViewTask) -> ViewResult:
        """Compute a view, and write or keep its rows.

        Raises:
            ViewUnplannedError: DataFusion has no plan for it.
            RunCancelledError: the run has been cancelled.
            DataFileNotFoundError, CorruptDataFileError, CorruptDeletionVectorError: of a source.
        """
        try:
            return self._compute(task)
        except Exception as error:
            raised = self._raised.pop(task.plan.name, None)
            if raised is None:
                raise
            raise raised from error

    def merge(self, write: OutputWrite, snapshot: Snapshot | None) -> Replacement:
        """Compute how the rows of a view change its table."""
        memory_bytes = self._context.profile.memory_bytes
        return merge_embedded(write, snapshot, memory_bytes=memory_bytes)

    def release(self, name: str) -> None:
        """Release a result that is kept in memory."""
        with self._lock:
            self._results.pop(name, None)

    def progress(self, view: str) -> tuple[int, int]:  # noqa: ARG002
        """Return (0, 0): DataFusion does not report progress."""
        return 0, 0

    def cancel(self) -> None:
        """Stop all work before its next batch."""
        self._cancelled.set()

    def close(self) -> None:
        """Release all kept results."""
        self._results.clear()

    def _compute(self, task: ViewTask) -> ViewResult:
        _session, frame = self._frame(task, task.plan)  # the session must outlive its rows
        schema = _result_schema(frame, task.plan)
        frame = _ordered(frame, schema, task.order_by)
        digester = Digester(schema)
        rows = self._rows(frame, schema, digester)
        if task.folder is None:
            result = pa.Table.from_batches(list(rows), schema)
            with self._lock:
                self._results[task.plan.name] = result
        else:
            write_rows(task.folder, schema, rows, partition_by=task.partition_by)
        return ViewResult(
            schema=schema,
            digest=digester.finish(),
            plans=_plans(frame, task),
            fallback="; ".join(self._fallbacks.pop(task.plan.name, ())) or None,
        )

    def _session(self, plans: Sequence[ViewPlan], tier: Tier) -> SessionContext:
        profile = self._context.profile
        settings = profile.datafusion_settings()
        kernels = [name for plan in plans for name in kernels_in(plan.datafusion_sql or "")]
        if tier is Tier.CANONICAL or row_ordered(kernels):  # the row order must not vary
            settings |= {"datafusion.execution.target_partitions": "1"}
        runtime = RuntimeEnvBuilder().with_disk_manager_os()
        runtime = runtime.with_fair_spill_pool(profile.memory_bytes)
        return planning_context(self._context.settings, settings.items(), runtime=runtime)

    def _frame(self, task: ViewTask, plan: ViewPlan) -> tuple[SessionContext, DataFrame]:
        """Return the query of a view, in a new session that has everything that it reads."""
        if plan.refused is not None:
            raise ViewRefusedError(refusals={plan.name: plan.refused})
        if plan.substrait is not None and plan.key.engine.startswith(_ENGINE_PREFIX):
            try:
                return self._stored_frame(task, plan, plan.substrait)
            except HeadraceError:  # raised by a table function, or by a view computed for this one
                raise
            except Exception as error:  # DataFusion raises bare exceptions for every kind of error
                if plan.datafusion_sql is None:
                    raise
                _LOGGER.warning("the stored plan of %s cannot be read back: %s", plan.name, error)
                reason = str(error).partition("\n")[0]
                fallback = reason if plan.name == task.plan.name else f"of {plan.name}: {reason}"
                with self._lock:
                    self._fallbacks.setdefault(task.plan.name, []).append(fallback)
        if plan.datafusion_sql is not None:
            return self._translated_frame(task, plan, plan.datafusion_sql)
        reason = plan.unplanned or "it is built in Python"
        raise ViewUnplannedError(view=plan.name, reason=reason)

    def _stored_frame(
        self, task: ViewTask, plan: ViewPlan, substrait: bytes
    ) -> tuple[SessionContext, DataFrame]:
        """Return the stored plan; DataFusion cannot read back every plan that it can write."""
        plans = (*task.inlined, plan)
        session = self._session(plans, plan.header.tier)
        self._register_functions(session, plans)
        calls = {call.relation for call in table_calls_in(plan.datafusion_sql or "")}
        shown = {shown_relation(name) for name in calls}
        scans = {scan.relation for scan in plan.lineage.scans} if plan.lineage else set()
        for name in (scans - shown) | calls:
            session.register_dataset(name, self._open_relation(task, name))
        for rule in _SETTLED_RULES:
            session.remove_optimizer_rule(rule)
        logical = Consumer.from_substrait_plan(session, Serde.deserialize_bytes(substrait))
        frame = session.create_dataframe_from_logical_plan(logical)
        frame.execution_plan()  # fail before the first row if the plan cannot run
        return session, frame

    def _translated_frame(
        self, task: ViewTask, plan: ViewPlan, sql: str
    ) -> tuple[SessionContext, DataFrame]:
        """Return the query that the author's SQL was translated to."""
        plans = (*task.inlined, plan)
        session = self._session(plans, plan.header.tier)
        self._register_functions(session, plans)
        inner = {name for part in task.inlined for name in part.reads if _quoted(name) in sql}
        calls = (call.relation for call in table_calls_in(sql))
        for name in dict.fromkeys((*plan.reads, *sorted(inner), *calls)):
            unlimited = f"{name}{_UNLIMITED_SUFFIX}"
            session.register_dataset(unlimited, self._open_relation(task, name))
            session.register_view(name, session.table(unlimited).limit(_NO_LIMIT))
        return session, session.sql(sql)

    def _register_functions(self, session: SessionContext, plans: Iterable[ViewPlan]) -> None:
        """Register the functions that the plans call."""
        catalog = self._context.catalog
        for plan in plans:
            if plan.sql is None:
                continue
            register_kernels(session, kernels_in(plan.datafusion_sql or ""))
            for call in parse_query(plan.sql, file=plan.file).tree.find_all(exp.Anonymous):
                name = call.name.casefold()
                if name in catalog:
                    register_function(session, catalog[name], len(call.expressions))

    def _open_relation(self, task: ViewTask, name: str) -> RowDataset:
        """Return the rows that a plan reads by name; reader errors are kept for `compute`."""
        rows = self._find_rows(task, name)
        rows.on_error = partial(self._raised.setdefault, task.plan.name)
        return rows

    def _find_rows(self, task: ViewTask, name: str) -> RowDataset:
        """Return a source, the rows of a table function, or the result of a view."""
        call = parse_table_call(name)
        if call is not None:
            return self._call_table_function(call)
        unit = next((unit for unit in task.plan.units if unit.source == name), None)
        if unit is not None:
            source = self._context.sources[name]
            if source.snapshot is not None:
                return snapshot_dataset(source.snapshot, prune_by=unit.where)
            return batch_dataset(source.schema, source.batches)
        if name in task.upstream:
            return self._upstream_rows(task.upstream[name], task.planned.get(name))
        # An inlined view that is not part of the plan is computed separately.
        plan = next(plan for plan in task.inlined if plan.name == name)
        _, frame = self._frame(task, plan)
        schema = _result_schema(frame, plan)
        rows = pa.Table.from_batches(list(self._rows(frame, schema, Digester(schema))), schema)
        return batch_dataset(schema, rows.to_batches)

    def _call_table_function(self, call: TableCall) -> RowDataset:
        """Return the rows of a table function."""
        rows = call.compute(self._context.catalog, planning_context(self._context.settings))
        return batch_dataset(rows.schema, rows.to_batches)

    def _upstream_rows(self, result: Upstream, planned: pa.Schema | None) -> RowDataset:
        match result:
            case TableResult(table=table, version=version):
                snapshot = table.table().snapshot(version=version)
                return snapshot_dataset(snapshot, prune_by=None, planned=planned)
            case KeptResult(name=name):
                rows = self._results[name]
                return batch_dataset(rows.schema, rows.to_batches, planned=planned)

    def _rows(
        self, frame: DataFrame, schema: pa.Schema, digester: Digester
    ) -> Iterator[pa.RecordBatch]:
        for streamed in frame.execute_stream():
            if self._cancelled.is_set():
                raise RunCancelledError(run=self._context.run)
            batch = self._with_types(streamed.to_pyarrow().rename_columns(schema.names), schema)
            digester.add(batch)
            yield batch

    def _with_types(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """Cast a result to the types of a schema; decimals are rounded as Spark rounds them."""
        parameters = () if self._context.settings.ansi else ("soft",)
        columns = []
        for column_values, field in zip(batch.columns, schema, strict=True):
            kinds = column_values.type, field.type
            if all(map(pa.types.is_decimal, kinds)) and kinds[0] != kinds[1]:
                call = KernelCall("number_to_decimal", parameters, kinds[:1], kinds[1])
                columns.append(call.compute(column_values))
            else:
                columns.append(column_values.cast(field.type))
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def _ordered(frame: DataFrame, schema: pa.Schema, order_by: Sequence[str]) -> DataFrame:
    """Sort rows by columns, named as in the result."""
    if not order_by:
        return frame
    positions = {name.casefold(): position for position, name in enumerate(schema.names)}
    frame_names = frame.schema().names
    columns = (column(_quoted(frame_names[positions[name.casefold()]])) for name in order_by)
    return frame.sort(*(key.sort(ascending=True, nulls_first=True) for key in columns))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _result_schema(frame: DataFrame, plan: ViewPlan) -> pa.Schema:
    """Return the author's names and Spark's types, with decimals as a contract promises them."""
    frame_schema = spark_schema(frame.schema())
    planned = plan.arrow_schema
    names = frame_schema.names if planned is None else planned.names
    fields = [
        pa.field(name, field.type, nullable=field.nullable)
        for name, field in zip(names, frame_schema, strict=True)
    ]
    promised = promised_types(plan.header.contract, pa.schema(fields))
    return pa.schema([f.with_type(promised.get(f.name, f.type)) for f in fields])


def _plans(frame: DataFrame, task: ViewTask) -> dict[PlanStage, str]:
    """Return the plans of a frame whose rows have all been read."""
    plan = frame.execution_plan()
    plans = {
        PlanStage.SQL: task.plan.datafusion_sql or "",
        PlanStage.LOGICAL: frame.logical_plan().display_indent(),
        PlanStage.OPTIMISED: frame.optimized_logical_plan().display_indent(),
        PlanStage.PHYSICAL: plan.display_indent(),
    }
    if task.analyse:
        plans[PlanStage.ANALYSED] = _analysed(plan)
    return plans


def _analysed(plan: ExecutionPlan) -> str:
    """Return an executed plan with the metrics of each operator; nothing is run again."""
    operators = iter(plan.collect_metrics())
    operator = next(operators, None)
    lines = []
    for line in plan.display_indent().splitlines():
        lines.append(line)
        if operator is None or operator[0].strip() != line.strip():
            continue
        metrics, indent = operator[1], " " * (len(line) - len(line.lstrip()) + 4)
        facts = {
            "rows": metrics.output_rows,
            "elapsed_compute_ms": round((metrics.elapsed_compute or 0) / 1e6, 3),
            "spilled_bytes": metrics.spilled_bytes or None,
        }
        text = ", ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
        lines.append(f"{indent}{text}")
        operator = next(operators, None)
    return "\n".join(lines)
