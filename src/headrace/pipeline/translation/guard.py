"""Keeps the filter of an inner query before the conditions of the outer one.

DataFusion merges the filters of nested queries, and may evaluate the outer condition for rows that
the inner one drops. `SELECT * FROM (SELECT * FROM t WHERE q <> 0) WHERE a / q > 1` then divides by
zero. So if a condition can raise, the columns that it reads from an inner query are null where the
inner condition does not hold.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

import msgspec
from sqlglot import exp

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.compiler import Compiler, Guard
from headrace.pipeline.translation.condition import mixes_equality
from headrace.pipeline.translation.operator import comparable
from headrace.pipeline.translation.refusal import unsupported
from headrace.pipeline.translation.scope import Scope
from headrace.pipeline.translation.typed import Typed, case, identifier, native

_AGAIN = ("SELECT ", "random()", "uuid()")
"""Parts of a condition that cannot be written, or computed, a second time."""
_IN_ONE_PIECE = r'"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\''
"""A quoted name or a literal, in which no column is looked for."""


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


def refuse_conditional(expressions: Sequence[exp.Expr], scope: Scope) -> None:
    """Refuse a column that can raise, if a SELECT list reads it once, after AND or OR.

    Spark then computes it as part of the list, only where it is needed. DataFusion computes it for
    all rows. If it is read twice, both do.

    Raises:
        Refused: there is one.
    """
    columns = {c.name for c in scope.columns if c.can_fail and not c.is_aggregated}
    if not columns or any(column.find(exp.Star) for column in expressions):
        return
    names = [name for column in expressions for name in column.find_all(exp.Column)]
    counts = Counter(name.name.casefold() for name in names)
    for name in names:
        folded = name.name.casefold()
        if folded in columns and counts[folded] == 1 and _is_conditional(name):
            reason = "Spark computes it only where the condition before it leaves the result open"
            raise unsupported(name, reason)


def _is_conditional(node: exp.Expr) -> bool:
    above = node.parent
    while above is not None and not isinstance(above, exp.Query):
        if isinstance(above, exp.And | exp.Or) and above.expression is node:
            return True
        node, above = above, above.parent
    return False


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


def keys_guard(
    node: exp.Select, test: Typed | None, scope: Scope, conditions: Sequence[Typed]
) -> Typed | None:
    """Return the condition of WHERE if HAVING has to be guarded by it.

    DataFusion moves a condition over grouping keys below the grouping, and merges it with WHERE.

    Args:
        node: The query.
        test: The condition of WHERE.
        scope: The visible names.
        conditions: The parts of HAVING and QUALIFY that can raise.
    """
    is_moved = any(all(a.text not in part.text for a in scope.aggregates) for part in conditions)
    is_grouped = node.args.get("group") is not None or node.args.get("qualify") is not None
    return test if is_moved and is_grouped and _can_repeat(test) else None


def guarded_text(text: str, test: Typed | None, scope: Scope) -> str:
    """Return a text of DataFusion SQL in which columns are null where a condition does not hold."""
    columns = {column.value.text: column.value for column in scope.columns}
    if test is None or not columns:
        return text
    longest_first = sorted(map(re.escape, columns), key=len, reverse=True)
    pattern = re.compile(f"({'|'.join(longest_first)})|{_IN_ONE_PIECE}")

    def guarded(match: re.Match[str]) -> str:
        value = columns.get(match[1] or "")
        return match[0] if value is None else _where(test, value).text

    return pattern.sub(guarded, text)


def _where(test: Typed, value: Typed) -> Typed:
    return case(value.type, (test.text, value.text), can_fail=value.can_fail)


def _can_repeat(test: Typed | None) -> bool:
    return test is None or not any(part in test.text for part in _AGAIN)


class SelectParts(msgspec.Struct, frozen=True):
    """The parts of a SELECT in DataFusion SQL."""

    items: Sequence[tuple[str, Typed]]
    shown: Sequence[str]
    """The items as they are written if rows are grouped."""
    source: str
    test: Typed | None
    """The condition of WHERE."""
    marks: str
    """What FROM has to end with for grouping sets, or nothing."""
    groups: str
    """GROUP BY, HAVING and QUALIFY, or nothing."""


def guard_of(node: exp.Select, parts: SelectParts, scope: Scope) -> Guard | None:
    """Return how to write a SELECT so that columns are null where its condition does not hold.

    None if it has no such form, or if no condition drops any rows.
    """
    test = parts.test
    if (test is None and not scope.filtered) or not _can_repeat(test):
        return None
    if node.args.get("limit") or node.args.get("offset"):
        return None
    is_plain = not parts.groups and not any(" OVER (" in v.text for _, v in parts.items)

    def written(used: frozenset[int]) -> str:
        inner = parts.source
        for relation in scope.filtered:
            every = frozenset(range(len(relation.columns)))
            inner = inner.replace(relation.text, relation.guard(every), 1)
        word = "DISTINCT " if node.args.get("distinct") else ""
        where = "" if test is None else f" WHERE {test.text}"
        if not is_plain:
            shown, groups = (
                guarded_text(text, test, scope) for text in (", ".join(parts.shown), parts.groups)
            )
            return f"SELECT {word}{shown}{inner}{parts.marks}{where}{groups}"
        items = []
        for place, (name, value) in enumerate(parts.items):
            text = value.text
            if place in used and test is not None:
                text = _where(test, value).text
            items.append(f"{text} AS {identifier(name.casefold())}")
        return f"SELECT {word}{', '.join(items)}{inner}{where}"

    return written
