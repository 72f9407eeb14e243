"""Analyses builder views with Spark before they run: relations, columns, schema, fingerprint.

A view is built over empty tables, and its plans are read as JSON: the analysed plan shows what is
computed, the optimised plan which columns of each table are needed. Column ids differ between
sessions; they are renumbered in the order of their appearance. A table that the builder names but
that is not in its plan may have been read while it was built, by `count()` for example, so it
counts with all its columns.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from headrace.errors import InvalidViewError
from headrace.pipeline.arrow_ddl import parse_type, schema_text
from headrace.pipeline.bundle.content_hash import content_hash
from headrace.pipeline.planner.plan_request import BuilderAnalysis
from headrace.pipeline.project.view import BuilderView
from headrace.pipeline.runners.spark.volatility import volatile_parts

_ATTRIBUTE = "org.apache.spark.sql.catalyst.expressions.AttributeReference"
_TRANSIENT_KEYS = frozenset({"createTime", "lastAccessTime"})
_VIEW = "org.apache.spark.sql.catalyst.plans.logical.View"
_EXPRESSIONS = ".expressions."
_OWN_LEAVES = frozenset(
    {"CTERelationRef", "InMemoryRelation", "LocalRelation", "LogicalRDD", "OneRowRelation", "Range"}
)
"""The leaves of plans whose rows are the builder's own; any other leaf reads something else."""


class SparkAnalyst:
    """Analyses builder views in a private session."""

    def __init__(self, session: SparkSession) -> None:
        """Take a session; the tables are in a new session next to it."""
        self.session = session.newSession()

    @property
    def is_ready(self) -> bool:
        """Whether a session is open: always."""
        return True

    def analyse(self, view: BuilderView, schemas: Mapping[str, pa.Schema]) -> BuilderAnalysis:
        """Build a view over empty tables, and analyse its plans.

        Raises:
            InvalidViewError: the view cannot be built.
        """
        for name, schema in schemas.items():
            empty = self.session.sparkContext.emptyRDD()
            frame = self.session.createDataFrame(empty, schema_text(schema))
            frame.createOrReplaceTempView(name)
        try:
            frame = view.build(self.session)
            execution = frame._jdf.queryExecution()  # noqa: SLF001  (PySpark has no other way)
            analysed = json.loads(execution.analyzed().toJSON())
            volatile = (*volatile_parts(frame), *_foreign_leaves(analysed))
            tables = _tables(analysed)
            columns = {
                **{name: _all_columns(schema) for name, schema in schemas.items()},
                **_columns(execution.optimizedPlan(), tables),
            }
            fields = [
                pa.field(f.name, parse_type(f.dataType.simpleString()), nullable=f.nullable)
                for f in frame.schema.fields
            ]
        except Exception as error:  # any error of a builder
            text = str(error).partition("\n")[0]
            reason = (
                f"it cannot be built: {type(error).__name__}: {text} (a table that it reads under "
                "a computed name must be declared: @view(reads=...))"
            )
            raise InvalidViewError(file=view.file, line=None, reason=reason) from error
        finally:
            for name in schemas:
                self.session.catalog.dropTempView(name)
        return BuilderAnalysis(
            reads=tuple(sorted(columns)),
            columns=columns,
            schema=pa.schema(fields),
            fingerprint=content_hash(_numbered(analysed)),
            volatile=volatile,
        )


def _tables(plan: list[dict[str, Any]]) -> dict[int, str]:
    """Return the table of each column id, also of tables in subqueries."""
    tables: dict[int, str] = {}
    for node, table in _plan_leaves(plan):
        for attribute in _attributes(node) if table else ():
            tables[_id(attribute)] = table
    return tables


def _foreign_leaves(plan: list[dict[str, Any]]) -> list[str]:
    """Return descriptions of what a plan reads besides the project's tables."""
    names = {
        node["class"].rpartition(".")[2] for node, table in _plan_leaves(plan) if not table
    } - _OWN_LEAVES
    return [f"it reads data that is no source of the project ({name})" for name in sorted(names)]


def _plan_leaves(plan: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the leaves of a plan and of its subqueries, each with its table, or an empty string."""
    current = ""
    for node in plan:
        if node["class"] == _VIEW:
            current = str(node["desc"]["identifier"]["table"]).casefold()
        elif not node["num-children"] and _EXPRESSIONS not in node["class"]:
            yield node, current
            current = ""
        for subtree in _subtrees(list(node.values())):
            yield from _plan_leaves(subtree)


def _subtrees(value: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the trees in the fields of a node: lists of nodes."""
    if isinstance(value, list) and value and isinstance(value[0], dict) and "class" in value[0]:
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _subtrees(part)
    elif isinstance(value, dict):
        yield from _subtrees([*value.values()])


def _all_columns(schema: pa.Schema) -> frozenset[str]:
    return frozenset(name.casefold() for name in schema.names)


def _columns(plan: Any, tables: Mapping[int, str]) -> dict[str, frozenset[str]]:
    """Return the columns of each table that an optimised plan needs."""
    columns_by_table: dict[str, set[str]] = {name: set() for name in tables.values()}
    output = plan.output()
    attributes = [
        (output.apply(i).exprId().id(), output.apply(i).name()) for i in range(output.size())
    ]
    for node in json.loads(plan.toJSON()):
        if node["num-children"]:
            attributes += [(_id(attribute), attribute["name"]) for attribute in _attributes(node)]
    for column_id, name in attributes:
        if column_id in tables:
            columns_by_table[tables[column_id]].add(str(name).casefold())
    return {name: frozenset(columns) for name, columns in columns_by_table.items()}


def _attributes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every column that a part of a plan mentions."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            if current.get("class") == _ATTRIBUTE:
                yield current
            waiting += current.values()
        elif isinstance(current, list):
            waiting += current


def _id(attribute: Mapping[str, Any]) -> int:
    return int(attribute["exprId"]["id"])


def _numbered(plan: Any) -> Any:
    """Return a plan with ids numbered by appearance, without references to JVM or time."""
    numbers: dict[Any, int] = {}

    def number(value: Any) -> Any:
        if isinstance(value, list):
            return [number(part) for part in value]
        if not isinstance(value, dict):
            return value
        if "jvmId" in value:
            return numbers.setdefault(value["id"], len(numbers))
        return {key: number(part) for key, part in value.items() if key not in _TRANSIENT_KEYS}

    return number(plan)
