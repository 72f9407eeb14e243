"""Analyses builder views with Spark before they run: relations, columns, schema, fingerprint.

A view is built over empty tables, and its plans are read as JSON: the analysed plan shows what is
computed, the optimised plan which columns of each table are needed. Column ids differ between
sessions; they are renumbered in the order of their appearance.
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
            volatile = volatile_parts(frame)
            tables = _tables(analysed)
            columns = _columns(execution.optimizedPlan(), tables)
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
            reads=tuple(sorted(set(tables.values()))),
            columns=columns,
            schema=pa.schema(fields),
            fingerprint=content_hash(_numbered(analysed)),
            volatile=volatile,
        )


def _tables(plan: list[dict[str, Any]]) -> dict[int, str]:
    """Return the table of each column id."""
    tables: dict[int, str] = {}
    current = ""
    for node in plan:
        if node["class"] == _VIEW:
            current = str(node["desc"]["identifier"]["table"]).casefold()
        elif not node["num-children"] and current:
            for attribute in _attributes(node):
                tables[_id(attribute)] = current
            current = ""
    return tables


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
