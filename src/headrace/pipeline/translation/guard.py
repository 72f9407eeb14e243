"""Keeps the filter of an inner query before the conditions of the outer one.

DataFusion merges the filters of nested queries, and may evaluate the outer condition for rows that
the inner one drops. `SELECT * FROM (SELECT * FROM t WHERE q <> 0) WHERE a / q > 1` then divides by
zero. So if a condition can raise, the columns that it reads from an inner query are null where the
inner condition does not hold.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

import msgspec
from sqlglot import exp

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.compiler import Compiler, Guard
from headrace.pipeline.translation.condition import mixes_equality
from headrace.pipeline.translation.operator import comparable
from headrace.pipeline.translation.scope import Scope
from headrace.pipeline.translation.typed import Typed, case, identifier, native

_AGAIN = ("SELECT ", "random()", "uuid()")
"""Parts of a condition that cannot be written, or computed, a second time."""
_OTHER_ROWS = ("group", "having", "qualify", "limit", "offset")


@contextmanager
def computing_columns(scope: Scope) -> Iterator[None]:
    """Treat columns of inner queries as what computes them: a filter may compute them again."""
    columns = scope.columns
    scope.columns = [
        msgspec.structs.replace(c, value=msgspec.structs.replace(c.value, can_fail=True))
        if c.can_fail
        else c
        for c in columns
    ]
    try:
        yield
    finally:
        scope.columns = columns


def boolean(compiler: Compiler, node: exp.Expr, scope: Scope) -> Typed:
    """Compile a condition of WHERE or ON, over columns that may be computed with it.

    Both sides of an equality between two relations are keys of a join: Spark computes them for all
    rows, and DataFusion joins by them only if no other part of the condition comes first.
    """
    with computing_columns(scope):
        test = compiler.boolean(node, scope)
        inner = node.unnest()
        if not test.can_fail or (isinstance(inner, exp.And) and mixes_equality(inner)):
            return test
        keys, others = [], []
        for part in _parts(inner):
            key = _join_key(compiler, part.unnest(), scope)
            if key is None:
                others.append(part.copy())
            else:
                keys.append(key)
        if not keys:
            return test
        rest = [compiler.boolean(exp.and_(*others, copy=False), scope)] if others else []
        return reduce(
            lambda left, right: native("({0} AND {1})", t.BOOLEAN, left, right), keys + rest
        )


def _parts(condition: exp.Expr) -> list[exp.Expr]:
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def _join_key(compiler: Compiler, node: exp.Expr, scope: Scope) -> Typed | None:
    """Compile an equality between columns of two relations; None if it is another condition."""
    if not isinstance(node, exp.EQ):
        return None
    sides = [compiler.value(side, scope) for side in (node.this, node.expression)]
    relations = [
        {column.qualifier for column in scope.columns if column.value.text in side.text}
        for side in sides
    ]
    is_key = all(relations) and relations[0].isdisjoint(relations[1])
    if not is_key or "" in relations[0] | relations[1] or any("SELECT " in s.text for s in sides):
        return None
    both = comparable(compiler.casts, *sides)
    return None if both is None else native("({0} = {1})", t.BOOLEAN, *both)


def fallible_parts(compiler: Compiler, node: exp.Expr, scope: Scope) -> list[Typed]:
    """Compile the parts of a condition, and return those that can raise."""
    conditions = [boolean(compiler, part, scope) for part in _parts(node.unnest())]
    return [condition for condition in conditions if condition.can_fail]


def guarded_source(source: str, scope: Scope, conditions: Sequence[Typed]) -> str:
    """Return FROM with guards on the columns that these conditions read."""
    for relation in scope.filtered:
        used = frozenset(
            place
            for place, column in enumerate(relation.columns)
            if (scope.has_generator and conditions)
            or any(column.value.text in condition.text for condition in conditions)
        )
        if used:
            source = source.replace(relation.text, relation.guard(used), 1)
    return source


def guard_of(
    node: exp.Select,
    items: Sequence[tuple[str, Typed]],
    source: str,
    test: Typed | None,
    scope: Scope,
) -> Guard | None:
    """Return how to write a SELECT so that columns are null where its condition does not hold.

    None if its rows are no rows of its FROM, or if no condition drops any.
    """
    if any(node.args.get(part) for part in _OTHER_ROWS) or (test is None and not scope.filtered):
        return None
    if test is not None and any(part in test.text for part in _AGAIN):
        return None
    if scope.aggregates or any(" OVER (" in value.text for _, value in items):
        return None

    def written(used: frozenset[int]) -> str:
        inner = source
        for relation in scope.filtered:
            every = frozenset(range(len(relation.columns)))
            inner = inner.replace(relation.text, relation.guard(every), 1)
        shown = []
        for place, (name, value) in enumerate(items):
            text = value.text
            if place in used and test is not None:
                text = case(value.type, (test.text, text), can_fail=value.can_fail).text
            shown.append(f"{text} AS {identifier(name.casefold())}")
        word = "DISTINCT " if node.args.get("distinct") else ""
        where = "" if test is None else f" WHERE {test.text}"
        return f"SELECT {word}{', '.join(shown)}{inner}{where}"

    return written
