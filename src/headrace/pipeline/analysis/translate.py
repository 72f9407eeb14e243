"""Translates a view's query for DataFusion, for planning only.

DataFusion plans the translation; Spark runs the original. The translation keeps the types that
Spark would produce: integers are INT, a quotient of integers is a DOUBLE. Names are folded to lower
case and quoted, since names are case-insensitive in Spark but not in DataFusion.
"""

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError

from headrace.pipeline.analysis.dialect import DataFusion
from headrace.pipeline.analysis.numeric import Kinds, NumericKind
from headrace.pipeline.analysis.volatile import is_clock, is_clock_date
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.functions.definition import FunctionKind
from headrace.pipeline.project.setting import VariableValue, variable_literal
from headrace.pipeline.translation.compiler import Clock
from headrace.pipeline.translation.grouping import star_of

_Kind = exp.DataType.Type
_FROZEN_DAY = "1970-01-01"
_NO_VALUE = (
    *(exp.Limit, exp.Offset, exp.Fetch, exp.Interval, exp.Ordered, exp.Group, exp.WindowSpec),
    *(exp.DataTypeParam, exp.DataType, exp.Bracket, exp.Cast, exp.TryCast, exp.TableSample),
)
"""Parents of a number that is not a value of the query, or that already has a type."""
_TYPES = frozenset({"bigint", "tinyint", "smallint", "double", "float", "boolean", "decimal"})
"""Types whose names are also functions that cast to them."""
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile)


class Untranslatable(Exception):  # noqa: N818  (an answer, not an error: the view is not planned)
    """DataFusion cannot express this; the text says why."""


def translate(  # noqa: C901, PLR0912, PLR0913  (one case a kind of node)
    tree: exp.Query,
    *,
    catalog: Catalog,
    variables: Mapping[str, VariableValue],
    kinds: Kinds,
    ansi: bool = True,
    clock: Clock = Clock.RUNNING,
) -> str:
    """Return the query as DataFusion SQL; without `ansi`, a failing cast returns null.

    Raises:
        Untranslatable: it uses something that Spark and DataFusion compute differently.
    """
    translated = tree.copy()
    for hint in list(translated.find_all(exp.Hint)):
        hint.pop()
    _name_outputs(translated)
    for node in list(translated.walk()):
        match node:
            case exp.Select():
                _plain_select(node)
            case exp.Placeholder():
                node.replace(variable_literal(variables[node.name]))
            case exp.Literal() if node.is_int and _is_value(node):
                node.replace(_integer(node))
            case exp.Div():
                _divide(node, kinds)
            case exp.Cast() if not ansi and not isinstance(node.this, exp.Literal):
                node.replace(exp.TryCast(this=node.this, to=node.to))
            case exp.Anonymous() if node.name.casefold() in catalog:
                _call(node, catalog)
            case exp.Anonymous() if node.name.casefold() in _TYPES and len(node.expressions) == 1:
                node.replace(exp.cast(node.expressions[0].copy(), node.name, dialect="spark"))
            case _ if clock is Clock.STOPPED and is_clock(node):
                node.replace(_frozen(node))
            case _ if isinstance(node, _RANKS):
                _as_integer(node)
    for name in translated.find_all(exp.Identifier):
        name.set("this", name.name.casefold())
        name.set("quoted", True)
    try:
        return translated.sql(
            dialect=DataFusion, unsupported_level=ErrorLevel.RAISE, comments=False, copy=False
        )
    except UnsupportedError as error:
        raise Untranslatable(str(error)) from error


def output_names(tree: exp.Query) -> list[str | None]:
    """Return Spark's names of the columns; None for a star, whose columns only a plan knows."""
    return [_output_name(column) if star_of(column) is None else None for column in tree.selects]


def _output_name(column: exp.Expr) -> str:
    """Return the author's name, or the one that Spark generates."""
    if isinstance(column, exp.Count) and isinstance(column.this, exp.Star):
        return "count(1)"
    return column.output_name or column.sql(dialect="spark").casefold()


def _name_outputs(tree: exp.Query) -> None:
    """Name every column of the result: Spark and DataFusion generate different names."""
    first: exp.Expr = tree
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if isinstance(first, exp.Select):
        named = [
            column
            if column.output_name or star_of(column) is not None or isinstance(column, exp.UDTF)
            else exp.alias_(column, _output_name(column), quoted=True)
            for column in first.expressions
        ]
        first.set("expressions", named)


def _plain_select(select: exp.Select) -> None:
    """Remove Spark-specific syntax where it does not change the result."""
    if select.args.get("limit") is None:
        for clause in ("sort", "distribute", "cluster"):  # the layout of rows does not change them
            select.set(clause, None)
    for join in select.args.get("joins") or ():
        if join.kind in {"SEMI", "ANTI"} and not join.side:
            join.set("side", "LEFT")


def _is_value(literal: exp.Literal) -> bool:
    parent = literal.parent
    while isinstance(parent, exp.Paren | exp.Neg):
        parent = parent.parent
    return not isinstance(parent, _NO_VALUE)


def _integer(literal: exp.Literal) -> exp.Expr:
    value = int(literal.name)
    if value < 1 << 31:
        return _cast(literal.copy(), _Kind.INT)
    if value < 1 << 63:
        return _cast(literal.copy(), _Kind.BIGINT)
    return exp.cast(literal.copy(), f"DECIMAL({len(literal.name)}, 0)")


def _cast(node: exp.Expr, kind: exp.DType) -> exp.Cast:
    return exp.Cast(this=node, to=exp.DataType(this=kind))


def _divide(node: exp.Div, kinds: Kinds) -> None:
    """Make a quotient a double, unless a side is known to be a decimal or a double already."""
    sides = {kinds.of(node.this), kinds.of(node.expression)}
    if not sides & {NumericKind.DECIMAL, NumericKind.FLOAT}:
        node.set("this", _cast(node.this.copy(), _Kind.DOUBLE))
    node.set("typed", True)
    node.set("safe", False)


def _call(node: exp.Anonymous, catalog: Catalog) -> None:
    """Name the overload: a DataFusion function has a fixed number of arguments."""
    function = catalog[node.name.casefold()]
    is_plain = not (isinstance(node.parent, exp.Window | exp.Filter) or node.find(exp.Kwarg))
    if function.kind is not FunctionKind.SCALAR or not is_plain:
        raise Untranslatable(f"{function.name} is planned by its exact translation only")
    if function.signature.argument_types(len(node.expressions)) is None:
        reason = (
            f"{function.name} takes {function.signature}, not {len(node.expressions)} arguments"
        )
        raise Untranslatable(reason)
    node.set("this", function.overload(len(node.expressions)))


def _frozen(node: exp.Expr) -> exp.Expr:
    if is_clock_date(node):
        return _cast(exp.Literal.string(_FROZEN_DAY), _Kind.DATE)
    return _cast(exp.Literal.string(f"{_FROZEN_DAY} 00:00:00"), _Kind.TIMESTAMPTZ)


def _as_integer(node: exp.Expr) -> None:
    """Cast ranks: they are INT in Spark and unsigned in DataFusion."""
    outer = node.parent if isinstance(node.parent, exp.Window) else node
    if not isinstance(outer.parent, exp.Cast):
        outer.replace(_cast(outer.copy(), _Kind.INT))
