"""DataFusion as a planner: empty tables, functions, and one query at a time.

A plan made over empty tables is the plan over full ones: nothing in it depends on data.
"""

import re
from collections.abc import Iterable

import msgspec
import pyarrow as pa
from datafusion import DataFrame, RuntimeEnvBuilder, SessionContext, udf
from datafusion.substrait import Producer
from substrait.plan_pb2 import Plan

from headrace.pipeline.analysis.group_function import register_group_function
from headrace.pipeline.analysis.substrait import canonical_plan
from headrace.pipeline.arrow_ddl import spark_schema
from headrace.pipeline.functions.definition import Function, FunctionKind
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.translation.kernels.table import register_kernels
from headrace.pipeline.translation.translated_session import translated_session

_MESSAGE_START = re.compile(
    r"(DataFusion error: )?(Error during planning|\w+ error): |(?=This feature|Not)"
)
"""The start of a line that says what is wrong, not just which optimizer rule failed."""
_LONGEST = 300


class Planned(msgspec.Struct, frozen=True):
    """The plan, schema and DataFrame that DataFusion makes for a query."""

    plan: Plan
    schema: pa.Schema
    frame: DataFrame


class Unplannable(Exception):  # noqa: N818  (an answer, not an error: the view still runs)
    """DataFusion cannot plan this query; the text says why."""


class PlanningSession:
    """A DataFusion session in which views are planned one after the other."""

    def __init__(self, settings: Settings) -> None:
        """Open a session; the time zone is the project's."""
        self.context = planning_context(settings)
        self._overloads: set[str] = set()

    def add_table(self, name: str, schema: pa.Schema) -> None:
        """Register a table without rows, its columns under their folded names."""
        empty = pa.RecordBatch.from_pylist([], schema=folded(schema))
        self.context.register_record_batches(name, [[empty]])

    def add_view(self, name: str, planned: Planned) -> None:
        """Register a view that is planned as part of each view that reads it."""
        self.context.register_view(name, planned.frame)

    def add_function(self, function: Function, arity: int) -> None:
        """Register a function for one number of arguments."""
        if function.overload(arity) not in self._overloads:
            self._overloads.add(function.overload(arity))
            register_function(self.context, function, arity)

    def add_kernels(self, names: Iterable[str]) -> None:
        """Register kernels of translated queries."""
        register_kernels(self.context, (name for name in names if name not in self._overloads))
        self._overloads |= set(names)

    def check_runnable(self, planned: Planned) -> None:
        """Check that DataFusion can execute what it has planned.

        Raises:
            Unplannable: it has no operator for a part of the plan.
        """
        try:
            planned.frame.execution_plan()
        except Exception as error:  # as for `plan`
            raise Unplannable(_reason(error)) from error

    def plan(self, sql: str) -> Planned:
        """Plan a query in DataFusion's SQL, and bring the plan into canonical form.

        Raises:
            Unplannable: DataFusion cannot plan it, or Substrait cannot express it.
        """
        try:
            frame = self.context.sql(sql)
            optimized = frame.optimized_logical_plan()
            encoded = Producer.to_substrait_plan(optimized, self.context).encode()
            plan = canonical_plan(encoded)
        except Exception as error:  # DataFusion raises bare exceptions for every kind of error
            raise Unplannable(_reason(error)) from error
        return Planned(plan, spark_schema(frame.schema()), frame)


def planning_context(
    settings: Settings,
    extra: Iterable[tuple[str, str]] = (),
    *,
    runtime: RuntimeEnvBuilder | None = None,
) -> SessionContext:
    """Return a DataFusion session with Spark's functions and the semantics that plans rely on."""
    zone = {"datafusion.execution.time_zone": settings.time_zone}
    return translated_session(zone | dict(extra), runtime)


def register_function(context: SessionContext, function: Function, arity: int) -> None:
    """Register a function in a session, for one number of arguments.

    Table functions are not registered: their calls become tables.
    """
    if function.kind is FunctionKind.TABLE:
        return
    if function.kind is not FunctionKind.SCALAR:
        register_group_function(context, function, arity)
        return
    types = function.signature.argument_types(arity)
    assert types is not None, "the translation has checked the number of arguments"
    context.register_udf(
        udf(
            function,
            list(types),
            function.signature.returns,
            function.volatility.value,
            function.overload(arity),
        )
    )


def folded(schema: pa.Schema) -> pa.Schema:
    """Return the same columns under the folded names that plans use."""
    return pa.schema([field.with_name(field.name.casefold()).remove_metadata() for field in schema])


def _reason(error: Exception) -> str:
    """Return DataFusion's own message, without the layers around it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    messages = (
        [line for line in lines if _MESSAGE_START.match(line)] or lines or [type(error).__name__]
    )
    return _MESSAGE_START.sub("", messages[-1])[:_LONGEST]
