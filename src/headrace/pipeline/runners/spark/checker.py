"""Spark's analyser over the text of views: what is wrong is known before anything is computed.

Views are analysed in the order in which they run, over tables without rows. What Spark says is
brought into the form of all mistakes: file, line, column, and the nearest known name.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import InvalidViewError
from headrace.pipeline.analysis.name_scope import has_variant
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.functions.builtin import spark_functions
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.runners.spark.arrow_function import register_functions
from headrace.pipeline.runners.spark.expansion import expand_calls

_POSITION = re.compile(r"\(line (\d+), pos (\d+)\)")
_QUOTED = re.compile(r"`([^`]+)`")
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_LONGEST = 400
_MISSING = ("objectName", "relationName", "routineName", "fieldName", "targetString", "colName")
"""The parameters of Spark's errors that name what is not there."""
_KNOWN = ("proposal", "fields", "columns", "suggestion")
"""Those that name what is there instead."""


class SparkChecker:
    """Asks a session whether views are right."""

    def __init__(self, session: SparkSession, catalog: Catalog) -> None:
        """Take a session with the settings of the views, which nobody else uses."""
        self._session, self._catalog = session, catalog

    def check(
        self, bundle: Bundle, schemas: Mapping[str, pa.Schema], views: Collection[str]
    ) -> None:
        """Analyse views, and those that they read where nothing else tells their columns.

        Args:
            bundle: The plans of all views.
            schemas: By source, its columns.
            views: The views to check.

        Raises:
            InvalidViewError: Spark refuses the text of one.
        """
        register_functions(self._session, (self._catalog[name] for name in self._used(bundle)))
        known: set[str] = set()
        for name, schema in schemas.items():
            self._register(name, schema, known)
        for name in bundle.order:
            plan = bundle[name]
            schema = plan.arrow_schema
            if name in views and known.issuperset(plan.reads) and _needs_no_files(plan):
                frame = self._analysed(plan, [*schemas, *known])
                if schema is None:
                    frame.createOrReplaceTempView(name)
                    known.add(name)
            if schema is not None:
                self._register(name, schema, known)

    def _used(self, bundle: Bundle) -> list[str]:
        used = {name for plan in bundle.views.values() for name in plan.key.functions}
        return sorted(name for name in used if name in self._catalog)

    def _register(self, name: str, schema: pa.Schema, known: set[str]) -> None:
        """Make a table without rows known, unless Arrow does not know all of its types."""
        if any(has_variant(field.type) for field in schema):
            return
        rows = self._session.sparkContext.emptyRDD()
        self._session.createDataFrame(rows, schema_text(schema)).createOrReplaceTempView(name)
        known.add(name)

    def _analysed(self, plan: ViewPlan, relations: Collection[str]) -> DataFrame:
        assert plan.sql is not None, "only SQL is analysed"
        text = expand_calls(plan.sql, self._catalog, file=plan.file)
        try:
            with _quiet():
                return self._session.sql(text, args=plan.arguments or None)
        except (AnalysisException, ParseException) as error:
            raise self._mistake(plan, text, error, relations) from error

    def _mistake(
        self, plan: ViewPlan, sql: str, error: PySparkException, relations: Collection[str]
    ) -> InvalidViewError:
        parameters = error.getMessageParameters() or {}
        told = " ".join(_SQLSTATE.sub("", str(error)).split()).removesuffix(".")[:_LONGEST]
        missing = next((parameters[key] for key in _MISSING if key in parameters), None)
        named = _QUOTED.findall(missing or "") or [missing or ""]
        line, column = _place(sql, error, named[-1])
        if sql != plan.sql:  # the positions are those of the text with calls written out
            line, column = _line_and_column(plan.sql or "", _word_start(plan.sql or "", named[-1]))
        hint = ""
        if missing is not None:
            condition = error.getCondition() or ""
            known = [name for key in _KNOWN for name in _QUOTED.findall(parameters.get(key, ""))]
            if condition.startswith("TABLE_OR_VIEW"):
                known = [*relations]
            elif condition.startswith("UNRESOLVED_ROUTINE"):
                known = [*self._catalog.entries, *spark_functions()]
            close = get_close_matches(named[-1], known, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]}?" if close else ""
        reason = f"Spark says: {told}{hint}"
        return InvalidViewError(file=plan.file, line=line, column=column, reason=reason)


def _needs_no_files(plan: ViewPlan) -> bool:
    """Whether a text means the same over tables without files: `_metadata` is of files."""
    return plan.sql is not None and "_metadata" not in plan.sql.casefold()


def _place(sql: str, error: PySparkException, name: str) -> tuple[int, int]:
    """The line and column of what Spark complains about, both from 1; else those of the name."""
    starts = [_attempt(context.startIndex) for context in error.getQueryContext() or ()]
    told = _POSITION.search(str(error))
    if told is not None and not starts:
        return int(told[1]), int(told[2]) + 1
    start = next((start for start in starts if start is not None and start < len(sql)), None)
    return _line_and_column(sql, _word_start(sql, name) if start is None else start)


def _word_start(sql: str, name: str) -> int:
    """Where a name first stands in a text; its beginning if it does not."""
    word = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sql) if name else None
    return 0 if word is None else word.start()


def _line_and_column(sql: str, start: int) -> tuple[int, int]:
    before = sql[:start]
    return before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1


def _attempt(ask: Callable[[], int]) -> int | None:
    try:
        start = int(ask())
    except PySparkException:  # a context that comes from Python code has no index
        return None
    return start if start >= 0 else None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep PySpark from logging an error that is reported by its caller."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")  # a plain one would not do later
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
