"""Run a statement on DataFusion and on Spark, and return rows that can be compared."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from datafusion import DataFrame, SessionContext
from datafusion.substrait import Consumer, Producer, Serde
from sqlglot import exp

from headrace.pipeline.analysis.planning_session import planning_context, register_function
from headrace.pipeline.analysis.substrait import canonical_plan, plan_bytes
from headrace.pipeline.arrow_ddl import spark_schema, spark_type, type_text
from headrace.pipeline.functions.catalog import standard_catalog
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.translation.compiler import Clock, Placement
from headrace.pipeline.translation.kernel import row_ordered
from headrace.pipeline.translation.kernels.row import numbered
from headrace.pipeline.translation.kernels.table import register_kernels
from headrace.pipeline.translation.placement import computes_before_selecting
from headrace.pipeline.translation.proof import RAISES
from headrace.pipeline.translation.query import Translation, translate_query
from headrace.pipeline.translation.refusal import Blame, Refusal, Refused
from headrace.pipeline.translation.syntax import parse_calls

FAILED = "failed"
"""Stands for the rows of a statement that raises an error."""

Tables = Mapping[str, pa.Table]


class Prepared:
    """A statement that is translated and planned for DataFusion."""

    def __init__(
        self,
        sql: str,
        tables: Tables,
        settings: Settings | None = None,
        *,
        views: Mapping[str, str] | None = None,
    ) -> None:
        """Translate and plan; raises `Refused` where the product refuses.

        Args:
            sql: The statement.
            tables: The tables that it reads.
            settings: The settings of the project.
            views: Queries of views that are planned as part of it, in order.
        """
        settings = settings or Settings()
        self.sql, self.tables, self.views = sql, tables, views or {}
        self.fallback: str | None = None
        """Why the stored plan was not used, if it was not."""
        self._plan(settings, Placement.FREE)
        if self.translation.can_raise and computes_before_selecting(self._planned):
            self._plan(settings, Placement.FIXED)
            if computes_before_selecting(self._planned):
                reason = "DataFusion would compute columns for rows that are dropped"
                raise Refused(Refusal(reason=reason, expression=sql, blame=Blame.RUNNER))

    def _plan(self, settings: Settings, placement: Placement) -> None:
        views = self._translated_views(settings)
        self.translation = self._translated(settings, Clock.RUNNING, placement, views)
        one_task = row_ordered(self.translation.kernels)  # as the runner does
        options = {"datafusion.execution.target_partitions": "1"} if one_task else {}
        context: SessionContext = planning_context(settings, options.items())
        for name, table in self.tables.items():
            context.register_record_batches(name, [table.to_batches()])
        register_kernels(context, self.translation.kernels)
        for name, view in views.items():
            register_kernels(context, view.kernels - self.translation.kernels)
            context.register_view(name, context.sql(view.sql))
        catalog = standard_catalog()
        for call in parse_calls(self.sql).find_all(exp.Anonymous):
            if call.name in catalog:
                register_function(context, catalog[call.name], len(call.expressions))
        try:
            self.frame = context.sql(self.translation.sql)
            self.frame.execution_plan()
            self.makes_rows = "unnest(" in self.translation.sql
            self._planned = self.frame
            if self.makes_rows:  # the plan represents the query, but the query itself is run
                stopped = self._translated(settings, Clock.STOPPED, placement, views)
                register_kernels(context, stopped.kernels)
                self._planned = context.sql(stopped.sql)
            optimized = self._planned.optimized_logical_plan()
            raw = Producer.to_substrait_plan(optimized, context).encode()
            self.plan = plan_bytes(canonical_plan(raw))
        except Exception as error:
            reason = str(error)
            refusal = Refusal(reason=reason, expression=self.sql, blame=Blame.RUNNER)
            raise Refused(refusal) from error
        self.context = context

    def _translated_views(self, settings: Settings) -> dict[str, Translation]:
        views: dict[str, Translation] = {}
        for name, sql in self.views.items():
            views[name] = self._translated(settings, Clock.RUNNING, Placement.FREE, views, sql=sql)
        return views

    def _translated(
        self,
        settings: Settings,
        clock: Clock,
        placement: Placement,
        views: Mapping[str, Translation],
        *,
        sql: str | None = None,
    ) -> Translation:
        schemas = {name: table.schema for name, table in self.tables.items()}
        return translate_query(
            sql or self.sql,
            schemas=schemas | {name: view.schema for name, view in views.items()},
            functions=standard_catalog(),
            variables={},
            settings=settings,
            clock=clock,
            placement=placement,
            inlined=views,
        )

    def rows(self) -> pa.Table | str:
        """Return DataFusion's rows for the stored plan, in the promised types.

        Also asserts that the query's own plan returns the same rows, so that the stored plan is no
        other query.
        """
        rows, direct = self._run(self._stored()), self._run(self.frame)
        if not any(word in self.translation.sql for word in _NEVER_THE_SAME):
            assert comparable(rows) == comparable(direct), (self.sql, str(rows), str(direct))
        if isinstance(rows, str):
            return rows
        spark_types = [spark_type(kind) for kind in rows.schema.types]
        assert spark_types == self.translation.schema.types, (spark_types, self.translation)
        return rows.cast(pa.schema(list(zip(rows.column_names, spark_types, strict=True))))

    def _stored(self) -> DataFrame:
        """Return the stored plan, or the query itself if the plan cannot be read back."""
        if self.makes_rows:
            return self.frame
        try:
            plan = Consumer.from_substrait_plan(self.context, Serde.deserialize_bytes(self.plan))
            stored = self.context.create_dataframe_from_logical_plan(plan)
            stored.execution_plan()
        except Exception as error:  # noqa: BLE001  (DataFusion raises bare exceptions)
            self.fallback = str(error).partition("\n")[0]
            return self.frame
        return stored

    def _run(self, frame: DataFrame) -> pa.Table | str:
        try:
            return frame.to_arrow_table()
        except Exception as error:  # noqa: BLE001  (DataFusion raises bare exceptions)
            return f"{FAILED}: {error}"


_NEVER_THE_SAME = ("random()", "uuid()", "NOW()")


def comparable(rows: pa.Table | str, *, ordered: bool = False) -> Any:
    """Return rows as plain values; NaN equals NaN, and zero equals minus zero."""
    if isinstance(rows, str):
        return FAILED
    types = [type_text(kind) for kind in spark_schema(rows.schema).types]
    columns = [_values(column) for column in rows.columns]
    plain = [tuple(row) for row in zip(*columns, strict=True)]
    return types, plain if ordered else sorted(plain, key=repr)


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Return Python values, with dates and times as numbers: Python's own range ends in 9999.

    Strings become bytes, because Spark's may not be valid UTF-8.
    """
    return [_plain(value) for value in column.cast(_bytes(numbered(column.type))).to_pylist()]


def _bytes(kind: pa.DataType) -> pa.DataType:
    """Return the type with binary in place of string."""
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_bytes(kind.value_type)))
    if pa.types.is_map(kind):
        key, item = kind.key_field, kind.item_field
        return pa.map_(key.with_type(_bytes(key.type)), item.with_type(_bytes(item.type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_bytes(field.type)) for field in kind])
    return pa.binary() if pa.types.is_string(kind) else kind


def _plain(value: Any) -> Any:
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return value + 0.0
        case Decimal():
            return str(value)
        case list() | tuple():
            return [_plain(part) for part in value]
        case dict():
            return {key: _plain(part) for key, part in value.items()}
        case _:
            return value


def spark_rows(session: Any, sql: str) -> pa.Table | str:
    """Return the rows from Spark."""
    try:
        return session.sql(sql).toArrow()
    except Exception as error:  # noqa: BLE001  (whatever Spark raises)
        return f"{FAILED}: {str(error).partition(chr(10))[0]}"


def spark_rows_together(session: Any, statements: Sequence[str]) -> list[pa.Table | str]:
    """Run statements without FROM as one query, or separately if one of them fails."""
    if not statements:
        return []
    if len(statements) == 1:
        return [spark_rows(session, statements[0])]
    joined = ", ".join(f"({sql}) AS c{i}" for i, sql in enumerate(statements))
    rows = spark_rows(session, f"SELECT {joined}")
    if isinstance(rows, str):
        half = len(statements) // 2
        return [
            *spark_rows_together(session, statements[:half]),
            *spark_rows_together(session, statements[half:]),
        ]
    return [rows.select([f"c{i}"]) for i in range(len(statements))]


class RaisingConstant:
    """A statement that is refused because Spark fails while it plans it.

    It counts as a statement that fails, so Spark must fail too.
    """

    def __init__(self, sql: str, refusal: Refused) -> None:
        self.sql, self._refusal = sql, refusal

    def rows(self) -> str:
        """Return why the statement fails."""
        return str(self._refusal)


def prepare(
    sql: str, tables: Tables, settings: Settings | None = None
) -> Prepared | RaisingConstant:
    """Translate and plan a statement; raises `Refused` where only DataFusion cannot run it."""
    try:
        return Prepared(sql, tables, settings)
    except Refused as refusal:
        if RAISES not in str(refusal):
            raise
        return RaisingConstant(sql, refusal)


class Tally:
    """Counts statements by outcome: equal, refused, or different.

    A statement that fails only on DataFusion counts as different too, unless it formats a float
    that Java releases format differently: then no text is right for every Spark.
    """

    def __init__(self) -> None:
        self.equal, self.refused, self.by_java = 0, 0, 0
        self.fallbacks = 0
        """How many statements ran from their SQL because their stored plan cannot be read back."""
        self.different: list[str] = []

    def count(self, sql: str, ours: Any, theirs: Any) -> None:
        """Compare the rows of one statement."""
        if comparable(ours) == comparable(theirs):
            self.equal += 1
        elif isinstance(ours, str) and "releases of Java" in ours:
            self.by_java += 1
        else:
            self.different.append(f"{sql}\n  DataFusion: {_short(ours)}\n  Spark: {_short(theirs)}")

    def __str__(self) -> str:
        counts = f"{self.equal} equal, {self.refused} refused, {len(self.different)} different"
        return f"{counts} ({self.by_java} depend on the release of Java)"


def _short(rows: Any) -> str:
    return (rows if isinstance(rows, str) else str(comparable(rows)))[:400]
