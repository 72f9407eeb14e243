"""Refuses what Spark computes once, and too early, because it occurs twice.

Spark computes an expression that occurs twice before anything else, also if both are behind AND, OR
or FILTER. `a <> 0 AND x / a > 1 AND x / a < 5` divides by zero there; DataFusion would return rows.
"""

from collections.abc import Sequence

from sqlglot import exp

from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.translation.compiler import Compiler
from headrace.pipeline.translation.grouping import is_aggregate
from headrace.pipeline.translation.refusal import Refused, unsupported
from headrace.pipeline.translation.scope import Scope

_BRANCHING = frozenset({"if", "coalesce", "nvl", "ifnull", "nvl2", "decode", "nanvl"})
"""Functions that always evaluate their first argument only."""
_ONE_VALUE = frozenset(
    {"sum", "max", "min", "count", "count_if", "any", "some", "every", "bool_and", "bool_or"}
    | {"bit_and", "bit_or", "bit_xor", "collect_list", "collect_set", "array_agg", "first", "last"}
)
"""Aggregates that use their argument once; an average adds it and counts it."""
_SKIPPED = (
    exp.Query,
    exp.Lambda,
    exp.Window,
    exp.Column,
    exp.Literal,
    exp.Null,
    exp.Boolean,
    exp.Star,
)


def refuse_shared(compiler: Compiler, expressions: Sequence[exp.Expr], scope: Scope) -> None:
    """Refuse an expression that can raise, and that occurs twice, each time in a condition.

    Args:
        compiler: The compiler of expressions.
        expressions: What Spark computes together, such as a SELECT list.
        scope: The visible names.

    Raises:
        Refused: there is one.
    """
    places: _Places = {}
    for node in expressions:
        _visit(node, places, is_conditional=False)
    _check(compiler, places, scope)


def refuse_shared_arguments(
    compiler: Compiler, nodes: Sequence[exp.Expr], functions: Catalog, scope: Scope
) -> None:
    """Refuse such an expression in the arguments of aggregates.

    Raises:
        Refused: there is one.
    """
    places: _Places = {}
    for node in nodes:
        for part in node.walk(prune=lambda n: isinstance(n, exp.Query | exp.Window)):
            if is_aggregate(part, functions):
                has_filter = isinstance(part.parent, exp.Filter)
                uses = 1 if part.name.casefold() in _ONE_VALUE else 2
                for argument in part.expressions * uses:
                    _visit(argument, places, is_conditional=has_filter)
    _check(compiler, places, scope.before_grouping())


_Places = dict[exp.Expr, list[bool]]
"""By expression, whether each of its occurrences is in a condition."""


def _check(compiler: Compiler, places: _Places, scope: Scope) -> None:
    for node, occurrences in places.items():
        is_early = len(occurrences) > 1 and all(occurrences)
        if is_early and _can_raise(compiler, node, scope):
            reason = "it occurs twice, so that Spark computes it before AND, OR or FILTER"
            raise unsupported(node, reason)


def _can_raise(compiler: Compiler, node: exp.Expr, scope: Scope) -> bool:
    """Return whether an expression can raise; a branch of a CASE is protected by its condition."""
    if not isinstance(node, exp.Case) and not _is_branching(node):
        try:
            return compiler.value(node, scope).can_fail
        except Refused:  # a part that is no expression on its own, such as DISTINCT
            return False
    parts = (part.unnest() for part, is_behind in _evaluated_parts(node) if not is_behind)
    return any(_can_raise(compiler, part, scope) for part in parts)


def _is_branching(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.casefold() in _BRANCHING


def _visit(node: exp.Expr, places: _Places, *, is_conditional: bool) -> None:
    """Count what is always evaluated in an expression, and what only AND and OR protect."""
    node = node.unalias().unnest()
    if isinstance(node, _SKIPPED):
        return
    if node in places:
        places[node].append(is_conditional)
        return
    places[node] = [is_conditional]
    for part, behind in _evaluated_parts(node):
        _visit(part, places, is_conditional=is_conditional or behind)


def _evaluated_parts(node: exp.Expr) -> list[tuple[exp.Expr, bool]]:
    """Return the parts that are evaluated without a choice, and whether a condition comes first."""
    match node:
        case exp.And() | exp.Or():
            return [(node.this, False), (node.expression, True)]
        case exp.Not() if isinstance(node.this.unnest(), exp.And | exp.Or):
            return _evaluated_parts(node.this.unnest())  # Spark negates both sides instead
        case exp.Case():
            tests = [branch.this for branch in node.args["ifs"]]
            first = tests if node.this is None else [node.this, *tests]
            return [(test, place > 0) for place, test in enumerate(first)]
        case exp.Anonymous() if _is_branching(node):
            return [(argument, False) for argument in node.expressions[:1]]
        case _:
            parts = node.iter_expressions()
            return [(part, False) for part in parts if isinstance(part, exp.Condition)]
