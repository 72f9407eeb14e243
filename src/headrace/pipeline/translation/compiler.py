"""The interfaces between the compilers of expressions and of queries.

Expressions contain queries, and queries contain expressions. Each compiler knows the other only by
the protocols in this module.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Protocol, TypeAlias

import msgspec
from sqlglot import exp

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.project.setting import VariableValue
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.refusal import unsupported
from headrace.pipeline.translation.scope import Output, Scope
from headrace.pipeline.translation.typed import Typed, sql_cast


class Clock(Enum):
    """How the time of a run is written."""

    RUNNING = "running"
    """The actual time, which differs between runs."""
    STOPPED = "stopped"
    """The start of 1970, so that a plan does not contain the time of planning."""


class Placement(Enum):
    """Where DataFusion may compute the columns of a SELECT."""

    FREE = "free"
    """Anywhere: a physical plan may compute them for rows that a filter below drops."""
    FIXED = "fixed"
    """Where the SELECT is: after the filters and limits below it."""


Guard: TypeAlias = Callable[[frozenset[int]], str]
"""Returns the text of a query in which the columns at these positions are null where its condition
does not hold."""


class PlainSelect(msgspec.Struct, frozen=True):
    """The parts of a query that only filters and projects the rows of its FROM."""

    source: str
    condition: str
    """The WHERE clause, or nothing."""
    values: tuple[Typed, ...]
    qualifiers: frozenset[str]
    """The names of its relations."""


class Compiled(msgspec.Struct, frozen=True):
    """A query in DataFusion SQL, with the columns that it returns."""

    text: str
    columns: tuple[Output, ...]
    is_correlated: bool = False
    gives_one_row: bool = False
    """Whether it returns exactly one row, whatever the data."""
    plain: PlainSelect | None = None
    guard: Guard | None = None


class Subqueries(Protocol):
    """Compiles the queries inside expressions."""

    def query(self, node: exp.Expr, scope: Scope | None) -> Compiled:
        """Compile a query that may refer to columns of `scope`."""

    def new_name(self) -> str:
        """Return a name for a relation that no query can refer to."""


class Compiler(Protocol):
    """Compiles the expressions inside expressions."""

    sql: str
    """The query text, from which literals are read as written."""
    casts: Casts
    functions: Catalog
    variables: Mapping[str, VariableValue]
    clock: Clock
    placement: Placement
    subqueries: Subqueries
    windows: dict[str, exp.Expr]
    """The named windows of the current query."""
    fallible: int
    """How many expressions so far raise for some values."""

    def value(self, node: exp.Expr, scope: Scope) -> Typed:
        """Compile an expression.

        Raises:
            Refused: the catalogue does not have it, or it is wrong.
        """

    def boolean(self, node: exp.Expr, scope: Scope) -> Typed:
        """Compile a condition, in which null counts as false.

        Raises:
            Refused: as for `value`, or it is not a condition.
        """


class Queries(Subqueries, Protocol):
    """Compiles the queries inside queries."""

    @property
    def expressions(self) -> Compiler:
        """Return the compiler of expressions."""

    tables: Mapping[str, tuple[Output, ...]]
    """The columns of each relation, by name."""
    ctes: list[dict[str, tuple[str, tuple[Output, ...]]]]
    """The visible common table expressions, innermost last: the DataFusion name of each, and its
    columns."""
    guards: dict[str, Guard]
    """The guarded text of common table expressions and inlined views, by DataFusion name."""
    fallible_queries: set[str]
    """The common table expressions and inlined views that raise for some values."""


def or_refuse(expression: Typed | None, node: exp.Expr, *values: Typed) -> Typed:
    """Return a translated expression, or refuse its node if there is none.

    Args:
        expression: The translation; None if the catalogue has none.
        node: The syntax node that a refusal names.
        values: The arguments, whose types a refusal lists.

    Raises:
        Refused: the catalogue has no translation for arguments of these types.
    """
    if expression is not None:
        return expression
    kinds = ", ".join(type_text(value.type) for value in values)
    over = f" for ({kinds})" if values else ""
    raise unsupported(node, f"the catalogue does not have it{over}")


def three_valued(compiler: Compiler, node: exp.Expr, scope: Scope) -> Typed:
    """Compile a BOOLEAN in which null differs from false.

    Raises:
        Refused: as for `value`, or it has another type.
    """
    value = compiler.value(node, scope)
    if value.type == t.VOID:
        return Typed(sql_cast("NULL", t.BOOLEAN), t.BOOLEAN)
    if value.type != t.BOOLEAN:
        raise unsupported(node, f"AND, OR and NOT take BOOLEAN, not {type_text(value.type)}")
    return value
