"""Evaluates aggregates that may raise for every group, as Spark does.

Spark evaluates all aggregates of a query before HAVING or the filter of an enclosing query drops a
group, and before a condition selects a branch. DataFusion would evaluate only what the remaining
groups and branches need, and would miss a sum that overflows in one of the others.
"""

from collections.abc import Callable, Sequence
from functools import reduce

from sqlglot import exp

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.compiler import Compiler
from headrace.pipeline.translation.condition import mixes_equality
from headrace.pipeline.translation.operator import logical
from headrace.pipeline.translation.refusal import unsupported
from headrace.pipeline.translation.scope import Scope
from headrace.pipeline.translation.typed import Typed, call, case


def with_aggregates(value: Typed, scope: Scope) -> Typed:
    """Return an expression that evaluates its aggregates even if they are in a branch."""
    used = [a for a in scope.aggregates if a.can_fail and a.text in value.text]
    outside = value.text
    for aggregate in used:
        outside = outside.replace(aggregate.text, "")
    return _after(value, used) if used and "CASE" in outside else value


def having(compiler: Compiler, node: exp.Expr, scope: Scope) -> Typed:
    """Compile the condition of HAVING; parts without an aggregate are tested before grouping."""
    condition = compiler.boolean(node, scope)
    early = [a for a in scope.aggregates if a.can_fail and " OVER (" not in a.text]
    if not early:
        return condition

    def checked(part: Typed) -> Typed:
        return _after(part, early) if any(a.text in part.text for a in scope.aggregates) else part

    return _conjunction(compiler, node, scope, checked)


def where(compiler: Compiler, node: exp.Expr, scope: Scope, text: str) -> Typed:
    """Compile the condition of WHERE again, over columns that an inner query aggregates.

    Args:
        compiler: The compiler of expressions.
        node: The condition.
        scope: The visible names.
        text: The whole query: columns that it does not use are not evaluated.

    Raises:
        Refused: what Spark evaluates before the filter depends on the windows that it omits.
    """
    early = [c for c in scope.columns if c.is_fallible and c.value.text in text]

    def checked(part: Typed) -> Typed:
        used = [column for column in scope.columns if column.value.text in part.text]
        relations = {column.qualifier for column in used}
        # The test of a join or of a query stays as it is, so that DataFusion recognizes it.
        if len(relations) > 1 or "SELECT " in part.text:
            return part
        values = [column.value for column in early if column.qualifier in relations]
        if not values or not any(column.is_aggregated for column in used):
            return part
        windows = [c for c in scope.columns if c.is_window and c.qualifier in relations]
        if not all(column.value.text in text for column in windows):
            reason = "Spark omits the window functions that are not used, and what they wait for"
            raise unsupported(node, reason)
        return _after(part, values)

    return _conjunction(compiler, node, Scope(scope.columns, scope.parent), checked)


def _conjunction(
    compiler: Compiler, node: exp.Expr, scope: Scope, checked: Callable[[Typed], Typed]
) -> Typed:
    inner = node.unnest()
    is_split = isinstance(inner, exp.And) and not mixes_equality(inner)
    parts = list(inner.flatten()) if is_split else [inner]
    conditions = (checked(compiler.boolean(part, scope)) for part in parts)
    return reduce(lambda left, right: logical("AND", left, right), conditions)


def _after(value: Typed, evaluated: Sequence[Typed]) -> Typed:
    """Return a value that is computed only after others; unlike AND, CASE is never reordered."""
    once = {other.text: other for other in evaluated}
    test = call("evaluated", t.BOOLEAN, *once.values())
    return case(value.type, (test.text, value.text), can_fail=value.can_fail)
