"""Checks the SQL of views with Spark's analyser, before anything is computed.

Views are analysed in the order in which they run, over empty tables. Errors of Spark are reported
like all mistakes: with file, line, column, and the nearest known name.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException, PySparkException, QueryContext
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import InvalidViewError
from headrace.pipeline.analysis.name_scope import has_variant
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.functions.builtin import spark_functions
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.functions.definition import Function
from headrace.pipeline.runners.spark.arrow_function import register_functions
from headrace.pipeline.runners.spark.expansion import expand_calls

_POSITION = re.compile(r"\(line (\d+), pos (\d+)\)")
_QUOTED = re.compile(r"`([^`]+)`")
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_MAX_CHARACTERS = 400
_MISSING = ("objectName", "relationName", "routineName", "fieldName", "targetString", "colName")
"""The parameters of Spark's errors that name something missing."""
_ALTERNATIVES = ("proposal", "fields", "columns", "suggestion")
"""The parameters that list what exists instead."""


class SparkChecker:
    """Checks views in a session."""

    def __init__(self, session: SparkSession, catalog: Catalog) -> None:
        """Take a private session with the settings of the views."""
        self._session, self._catalog = session, catalog

    def check(
        self, bundle: Bundle, schemas: Mapping[str, pa.Schema], views: Collection[str]
    ) -> None:
        """Analyse views, and the views that they read if their columns are not known otherwise.

        Args:
            bundle: The plans of all views.
            schemas: The columns of each source.
            views: The views to check.

        Raises:
            InvalidViewError: Spark rejects a view.
        """
        register_functions(self._session, self._used_functions(bundle))
        registered: set[str] = set()
        for name, schema in schemas.items():
            self._register(name, schema, registered)
        for name in bundle.order:
            plan = bundle[name]
            schema = plan.arrow_schema
            if name in views and registered.issuperset(plan.reads) and _needs_no_files(plan):
                frame = self._analyse(plan, [*schemas, *registered])
                if schema is None:
                    frame.createOrReplaceTempView(name)
                    registered.add(name)
            if schema is not None:
                self._register(name, schema, registered)

    def _used_functions(self, bundle: Bundle) -> list[Function]:
        names = {name for plan in bundle.views.values() for name in plan.key.functions}
        return [self._catalog[name] for name in sorted(names) if name in self._catalog]

    def _register(self, name: str, schema: pa.Schema, registered: set[str]) -> None:
        """Register an empty table, unless Arrow lacks one of its types."""
        if any(has_variant(field.type) for field in schema):
            return
        rows = self._session.sparkContext.emptyRDD()
        self._session.createDataFrame(rows, schema_text(schema)).createOrReplaceTempView(name)
        registered.add(name)

    def _analyse(self, plan: ViewPlan, relations: Collection[str]) -> DataFrame:
        assert plan.sql is not None, "only SQL is analysed"
        text = expand_calls(plan.sql, self._catalog, file=plan.file)
        try:
            with _quiet():
                return self._session.sql(text, args=plan.arguments or None)
        except (AnalysisException, ParseException) as error:
            raise self._view_error(plan, text, error, relations) from error

    def _view_error(
        self, plan: ViewPlan, sql: str, error: PySparkException, relations: Collection[str]
    ) -> InvalidViewError:
        parameters = error.getMessageParameters() or {}
        message = " ".join(_SQLSTATE.sub("", str(error)).split()).removesuffix(".")
        missing = next((parameters[key] for key in _MISSING if key in parameters), None)
        name = (_QUOTED.findall(missing or "") or [missing or ""])[-1]
        line, column = _error_position(sql, error, name)
        if sql != plan.sql:  # positions refer to the text with expanded calls
            line, column = _line_and_column(plan.sql or "", _word_start(plan.sql or "", name))
        hint = ""
        if missing is not None:
            condition = error.getCondition() or ""
            candidates = [
                alternative
                for key in _ALTERNATIVES
                for alternative in _QUOTED.findall(parameters.get(key, ""))
            ]
            if condition.startswith("TABLE_OR_VIEW"):
                candidates = [*relations]
            elif condition.startswith("UNRESOLVED_ROUTINE"):
                candidates = [*self._catalog.entries, *spark_functions()]
            close = get_close_matches(name, candidates, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]}?" if close else ""
        reason = f"Spark says: {message[:_MAX_CHARACTERS]}{hint}"
        return InvalidViewError(file=plan.file, line=line, column=column, reason=reason)


def _needs_no_files(plan: ViewPlan) -> bool:
    """Return whether SQL means the same over tables without files; `_metadata` needs files."""
    return plan.sql is not None and "_metadata" not in plan.sql.casefold()


def _error_position(sql: str, error: PySparkException, name: str) -> tuple[int, int]:
    """Return line and column of an error, from 1; else those of the name it mentions."""
    starts = [_start_index(context) for context in error.getQueryContext() or ()]
    position = _POSITION.search(str(error))
    if position is not None and not starts:
        return int(position[1]), int(position[2]) + 1
    start = next((start for start in starts if start is not None and start < len(sql)), None)
    return _line_and_column(sql, _word_start(sql, name) if start is None else start)


def _word_start(sql: str, name: str) -> int:
    """Return the offset of a name in a text; 0 if it does not occur."""
    word = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sql) if name else None
    return 0 if word is None else word.start()


def _line_and_column(sql: str, start: int) -> tuple[int, int]:
    before = sql[:start]
    return before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1


def _start_index(context: QueryContext) -> int | None:
    """Return the offset that an error context refers to; None if it has none."""
    try:
        start = int(context.startIndex())
    except PySparkException:  # a context in Python code has no offset
        return None
    return start if start >= 0 else None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep PySpark from logging an error that the caller reports."""
    # A plain logger of this name would break PySpark later.
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    was_disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was_disabled
