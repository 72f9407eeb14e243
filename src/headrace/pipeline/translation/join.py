"""Translates joins of every kind, and computes the names visible after them.

The FROM clause of a SELECT enters; its DataFusion text leaves, with the scope for all other
clauses.
"""

from collections.abc import Sequence

import msgspec
from sqlglot import exp

from headrace.pipeline.translation.compiler import Queries
from headrace.pipeline.translation.generator import lateral
from headrace.pipeline.translation.grouping import (
    aggregates_globally,
    has_aggregate,
    is_global_aggregate,
)
from headrace.pipeline.translation.guard import boolean
from headrace.pipeline.translation.operator import compare
from headrace.pipeline.translation.refusal import nearest, unsupported, wrong
from headrace.pipeline.translation.relation import Relation, relation
from headrace.pipeline.translation.scope import FilteredRelation, Scope, ScopeColumn
from headrace.pipeline.translation.shared import refuse_shared
from headrace.pipeline.translation.typed import Typed

_JOINS = {
    ("", ""): "INNER JOIN", ("", "INNER"): "INNER JOIN", ("", "CROSS"): "CROSS JOIN",
    ("LEFT", ""): "LEFT JOIN", ("LEFT", "OUTER"): "LEFT JOIN",
    ("RIGHT", ""): "RIGHT JOIN", ("RIGHT", "OUTER"): "RIGHT JOIN",
    ("FULL", ""): "FULL JOIN", ("FULL", "OUTER"): "FULL JOIN",
    ("LEFT", "SEMI"): "LEFT SEMI JOIN", ("", "SEMI"): "LEFT SEMI JOIN",
    ("LEFT", "ANTI"): "LEFT ANTI JOIN", ("", "ANTI"): "LEFT ANTI JOIN",
}  # fmt: skip


def from_clause(queries: Queries, node: exp.Select, parent: Scope | None) -> tuple[str, Scope]:
    """Compile the FROM clause, and return the names visible after it."""
    source = node.args.get("from_")
    if source is None:
        return "", Scope([], parent)
    scope = Scope([], parent)
    text = _joined(queries, source.this, node.args.get("joins") or (), scope)
    for view in node.args.get("laterals") or ():
        text = lateral(queries, text, scope, view)
    return f" FROM {text}", scope


def _joined(queries: Queries, first: exp.Expr, joins: Sequence[exp.Join], scope: Scope) -> str:
    """Join relations from left to right; Spark does so also with comma-separated ones."""
    left = _operand(queries, first, scope)
    scope.columns = left.columns
    text = left.text
    for join in joins:
        text = _join(queries, text, scope, join)
    return text


def _operand(queries: Queries, node: exp.Expr, scope: Scope) -> Relation:
    """Compile one side of a join: a relation, or joins in parentheses."""
    inner = node.this
    if isinstance(node, exp.Lateral):
        operand = _lateral(queries, node, scope)
    elif not isinstance(node, exp.Subquery) or isinstance(inner, exp.Query):
        if node.args.get("joins"):
            raise unsupported(node, "the catalogue has nested joins only in parentheses")
        operand = relation(queries, node, scope.parent)
    else:
        if node.alias or not isinstance(inner, exp.Table):
            raise unsupported(node, "the catalogue does not have this form of parentheses in FROM")
        nested = Scope([], scope.parent)
        first = inner.copy()
        joins = first.args.pop("joins", None) or ()
        text = _joined(queries, first, joins, nested)
        operand = Relation(f"({text})", nested.columns, nested.is_correlated)
        scope.filtered += nested.filtered
        scope.fallible += nested.fallible
    scope.is_correlated |= operand.is_correlated
    if operand.guard is not None and not operand.is_correlated:
        scope.filtered.append(FilteredRelation(operand.text, operand.columns, operand.guard))
    return operand


def _lateral(queries: Queries, node: exp.Lateral, scope: Scope) -> Relation:
    """Compile a query that may refer to columns of the relations before it."""
    if not isinstance(node.this, exp.Subquery):
        raise unsupported(node, "the catalogue has no table functions after LATERAL")
    functions = queries.expressions.functions
    inner = node.this.this
    is_single = is_global_aggregate(inner, functions)
    is_plain = is_single and not inner.args.get("having")
    if aggregates_globally(inner, functions) and not (
        is_plain and all(has_aggregate(column, functions) for column in inner.expressions)
    ):
        raise unsupported(node, "the catalogue has no such aggregate after LATERAL")
    query = node.this.copy()
    query.set("alias", node.args.get("alias"))
    before = Scope(scope.columns, scope.parent)
    query_relation = relation(queries, query, before)
    scope.is_correlated |= before.is_correlated and scope.parent is not None
    return Relation(f"LATERAL {query_relation.text}", query_relation.columns)


def _join(queries: Queries, left: str, scope: Scope, join: exp.Join) -> str:
    """Add a relation to those on the left."""
    side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
    method = str(join.args.get("method") or "").upper()
    if method not in {"", "NATURAL"} or (side, kind) not in _JOINS:
        raise unsupported(join, "the catalogue has no such join")
    word = _JOINS[side, kind]
    if isinstance(join.this, exp.Lateral) and not isinstance(join.this.this, exp.Subquery):
        if word not in {"INNER JOIN", "CROSS JOIN"} or any(map(join.args.get, ("on", "using"))):
            raise unsupported(join, "the catalogue has no such join with LATERAL")
        return lateral(queries, left, scope, join.this)
    right = _operand(queries, join.this, scope)
    qualifiers = {column.qualifier for column in scope.columns}
    if any(column.qualifier in qualifiers for column in right.columns):
        raise unsupported(join, "two relations have the same name")
    using = [part.name.casefold() for part in join.args.get("using") or ()]
    if method == "NATURAL":
        if _keeps_left_only(word):
            raise wrong(join, "there is no natural semi or anti join")
        using = _common_names(scope.columns, right.columns)
    word = _with_condition(word, join, using)
    if using:
        on = _using(queries, scope, right.columns, using, join=join)
        return f"{left} {word} {right.text} ON {on}"
    both = Scope([*scope.columns, *right.columns], scope.parent)
    condition = join.args.get("on")
    on = "TRUE" if condition is None else _condition(queries, condition, both, scope)
    scope.is_correlated |= both.is_correlated
    if not _keeps_left_only(word):
        scope.columns = [
            *_after(scope.columns, is_outer=word in {"RIGHT JOIN", "FULL JOIN"}),
            *_after(right.columns, is_outer=word in {"LEFT JOIN", "FULL JOIN"}),
        ]
    if condition is None and word == "INNER JOIN":
        word = "CROSS JOIN"
    whole = f"{left} {word} {right.text}"
    return whole if word == "CROSS JOIN" else f"{whole} ON {on}"


def _condition(queries: Queries, node: exp.Expr, both: Scope, scope: Scope) -> str:
    """Compile the condition of a join, and register it if it can raise."""
    test = boolean(queries.expressions, node, both)
    if test.can_fail:
        refuse_shared(queries.expressions, [node], both)
        scope.fallible.append(test)
    return test.text


def _keeps_left_only(word: str) -> bool:
    return "SEMI" in word or "ANTI" in word


def _with_condition(word: str, join: exp.Join, using: Sequence[str]) -> str:
    """Return the join that DataFusion has: in Spark, a cross join may have a condition."""
    is_conditional = bool(using) or join.args.get("on") is not None
    return "INNER JOIN" if word == "CROSS JOIN" and is_conditional else word


def _after(columns: Sequence[ScopeColumn], *, is_outer: bool) -> list[ScopeColumn]:
    """Return the columns after a join: those of a side that may have no match are nullable."""
    if not is_outer:
        return list(columns)
    return [
        msgspec.structs.replace(c, value=msgspec.structs.replace(c.value, nullable=True))
        for c in columns
    ]


def _common_names(left: Sequence[ScopeColumn], right: Sequence[ScopeColumn]) -> list[str]:
    names = {column.name for column in right if not column.is_hidden}
    return [c.name for c in left if not c.is_hidden and c.name in names]


def _using(
    queries: Queries,
    scope: Scope,
    columns: Sequence[ScopeColumn],
    using: Sequence[str],
    *,
    join: exp.Join,
) -> str:
    """Join by columns of the same name; each pair becomes one column."""
    side = str(join.args.get("side") or "").upper()
    word = _JOINS[side, str(join.args.get("kind") or "").upper()]
    left_after = _after(scope.columns, is_outer=side in {"RIGHT", "FULL"})
    right_after = _after(columns, is_outer=word in {"LEFT JOIN", "FULL JOIN"})
    merged, conditions = [], []
    written = {part.name.casefold(): part for part in join.args.get("using") or ()}
    for name in using:
        sides = [
            [c for c in side_columns if c.name == name and not c.is_hidden]
            for side_columns in (scope.columns, columns)
        ]
        if any(len(side) != 1 for side in sides):
            known = sorted({c.name for c in (*scope.columns, *columns)})
            reason = f"{name} is not exactly one column on each side"
            raise wrong(written.get(name, join), reason, nearest(name, known))
        left, right = (side[0].value for side in sides)
        equal = compare(queries.expressions.casts, "=", left, right)
        if equal is None or left.type != right.type:
            raise unsupported(join, f"{name} has different types")
        conditions.append(equal.text)
        value = right if word == "RIGHT JOIN" else left
        if word == "FULL JOIN":
            value = Typed(f"coalesce({left.text}, {right.text})", left.type)
        can_fail = any(side[0].can_fail for side in sides)
        merged.append(ScopeColumn("", name, value, can_fail=can_fail))
    after = left_after if _keeps_left_only(word) else [*left_after, *right_after]
    unmerged = [msgspec.structs.replace(c, is_hidden=True) if c.name in using else c for c in after]
    scope.columns = [*merged, *unmerged]
    return " AND ".join(conditions)
