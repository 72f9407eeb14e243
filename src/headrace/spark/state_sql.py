"""SQL about states on Spark: `headrace.spark.sql(spark, text)`, and table functions.

Statements about a state run on the driver, with the session's settings
(`spark.indextables.state.*`); large compactions run on the workers. Any other text is passed to
`spark.sql` unchanged.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udtf
from pyspark.sql.udtf import UserDefinedTableFunction

from headrace.errors import InvalidArgumentError
from headrace.maintain.command import (
    LOG_COLUMNS,
    PROPERTY_COLUMNS,
    ResultTable,
    run_statement,
)
from headrace.maintain.setting import StateSettings, session_settings
from headrace.maintain.statement import (
    DescribeLog,
    DescribeState,
    Statement,
    TableName,
    parse_statement,
)
from headrace.spark.state_compaction import run_tasks_on
from headrace.wiring import open_writable_store

_LOCATION = "Location"


def sql(spark: SparkSession, text: str) -> DataFrame:
    """Run SQL text: a statement about a state here, any other on Spark.

    Raises:
        StatementSyntaxError: it begins like a statement about a state, but continues differently.
        HeadraceError: the statement failed.
    """
    statement = parse_statement(text)
    if statement is None:
        return spark.sql(text)
    settings = session_settings(spark.conf.getAll)
    result = run_statement(
        _located(statement, spark),
        open_store=open_writable_store,
        settings=settings,
        run_tasks=run_tasks_on(spark),
    )
    return _frame(spark, result)


def register_state_functions(spark: SparkSession) -> None:
    """Register `describe_state(path)` and `describe_transaction_log(path)` in a session."""
    for name, function, columns in (
        ("describe_state", DescribeStateFunction, PROPERTY_COLUMNS),
        ("describe_transaction_log", DescribeLogFunction, LOG_COLUMNS),
    ):
        table_function = udtf(function, returnType=_ddl(columns), useArrow=False)
        spark.udtf.register(name, cast("UserDefinedTableFunction", table_function))


class DescribeStateFunction:
    """`SELECT * FROM describe_state('path')`: the nine properties of a state."""

    def eval(self, path: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows."""
        yield from _rows(DescribeState(table=TableName(text=path)))


class DescribeLogFunction:
    """`SELECT * FROM describe_transaction_log('path')`: one row per action."""

    def eval(self, path: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows."""
        yield from _rows(DescribeLog(table=TableName(text=path)))


def _rows(statement: Statement) -> tuple[tuple[Any, ...], ...]:
    return run_statement(statement, open_store=open_writable_store, settings=StateSettings()).rows


def _frame(spark: SparkSession, result: ResultTable) -> DataFrame:
    return spark.createDataFrame(list(result.rows), _ddl(result.columns))


def _ddl(columns: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())


def _located(statement: Statement, spark: SparkSession) -> Statement:
    """Return the statement with catalog names replaced by the locations of their tables."""
    located_names = {
        field: TableName(text=_location(spark, name.text))
        for field in ("table", "location")
        if isinstance(name := getattr(statement, field, None), TableName) and not name.is_path
    }
    if not located_names:
        return statement
    fields = {name: getattr(statement, name) for name in statement.__struct_fields__}
    return type(statement)(**(fields | located_names))


def _location(spark: SparkSession, name: str) -> str:
    for row in spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect():
        if row[0] == _LOCATION and row[1]:
            return str(row[1])
    reason = f"{name} has no location in the catalog: write the table's path in quotes"
    raise InvalidArgumentError(argument="table", reason=reason)
