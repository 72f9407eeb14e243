"""Finds the constants that Spark computes while it plans, before it reads a row.

A constant that raises fails the whole query there, even if no row needs it; DataFusion would fail
only at a row. Inside a conditional form over columns, Spark keeps a constant that raises and
evaluates it where a row needs it, as DataFusion does.
"""

from sqlglot import exp

from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES
from headrace.pipeline.translation.catalogue.table import SCALAR
from headrace.pipeline.translation.catalogue.time_unit import takes_unit
from headrace.pipeline.translation.literal import CASTING_NAMES

_VARYING = (
    *(exp.Star, exp.Query, exp.Exists, exp.Lambda, exp.Window, exp.Filter, exp.WithinGroup),
    *(exp.CurrentTimestamp, exp.CurrentDate),
)
_NAMED = (exp.Alias, exp.ColumnDef, exp.Anonymous, exp.Dot, exp.Column)
"""Nodes in which an identifier is only a name; elsewhere it is a parameter of a lambda."""
_STRUCTS = frozenset({"struct", "arrays_zip"})
_CONDITIONAL_NAMES = frozenset(
    {"if", "coalesce", "nvl", "ifnull", "nvl2", "nullif", "decode", "nanvl"}
    | {"zeroifnull", "nullifzero"}
)


def is_computed_early(node: exp.Expr, functions: Catalog) -> bool:
    """Return whether Spark computes an expression while planning, as a whole.

    A part of a larger constant is computed with it, and only where the larger one needs it.
    """
    if not is_constant(node, functions):
        return False
    parent = node.parent
    if isinstance(parent, exp.Condition) and is_constant(parent, functions):
        return False
    return not _is_in_conditional(parent)


def computes_casts_early(node: exp.Expr, functions: Catalog) -> bool:
    """Return whether Spark computes the implicit casts of an expression's constants on their own.

    Those of a constant are computed with it.
    """
    return not is_constant(node, functions) and not _is_in_conditional(node)


def _is_in_conditional(node: exp.Expr | None) -> bool:
    while node is not None and not isinstance(node, exp.Query):
        if _is_conditional(node):
            return True
        node = node.parent
    return False


def _is_conditional(node: exp.Expr) -> bool:
    is_call = isinstance(node, exp.Anonymous)
    return isinstance(node, exp.Case | exp.If) or (
        is_call and node.name.casefold() in _CONDITIONAL_NAMES
    )


def is_constant(node: exp.Expr, functions: Catalog) -> bool:
    """Return whether an expression has the same value for every row."""
    return not any(_varies(part, functions) for part in node.walk())


def _varies(part: exp.Expr, functions: Catalog) -> bool:
    match part:
        case exp.Column():
            return not _is_unit(part)
        case exp.Identifier():
            return not isinstance(part.parent, _NAMED)
        case exp.Anonymous():
            name = part.name.casefold()
            is_scalar = (
                name in SCALAR
                or name in CASTING_NAMES | _STRUCTS
                or takes_unit(name, len(part.expressions))
            )
            return not is_scalar or name in AGGREGATES or name in functions
        case _:
            return isinstance(part, _VARYING)


def _is_unit(column: exp.Column) -> bool:
    """Return whether a name is a unit: the first argument of `timestampadd(HOUR, 1, ts)`."""
    call = column.parent
    return (
        isinstance(call, exp.Anonymous)
        and takes_unit(call.name.casefold(), len(call.expressions))
        and column is call.expressions[0]
    )
