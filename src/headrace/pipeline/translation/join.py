"""Joins of every kind, and what can be named after them."""

from collections.abc import Sequence

import msgspec
from sqlglot import exp

from headrace.pipeline.translation.compiler import Queries
from headrace.pipeline.translation.operator import compare
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.relation import relation
from headrace.pipeline.translation.scope import Scope, ScopeColumn
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
    """The FROM clause, and what can be named after it."""
    source = node.args.get("from_")
    if source is None:
        return "", Scope([], parent)
    text, columns = relation(queries, source.this)
    scope = Scope(columns, parent)
    for inner in source.this.args.get("joins") or ():
        text = _join(queries, text, scope, inner)
    for outer in node.args.get("joins") or ():
        text = _join(queries, text, scope, outer)
    return f" FROM {text}", scope


def _join(queries: Queries, left: str, scope: Scope, join: exp.Join) -> str:
    """Add a relation to those on the left."""
    side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
    if join.args.get("method") or (side, kind) not in _JOINS:
        raise unsupported(join, "the catalogue has no such join")
    word = _JOINS[side, kind]
    right, columns = relation(queries, join.this)
    taken = {column.qualifier for column in scope.columns}
    if any(column.qualifier in taken for column in columns):
        raise unsupported(join, "two relations have the same name")
    both = Scope([*scope.columns, *columns], scope.parent)
    condition = join.args.get("on")
    if join.args.get("using"):
        on = _using(queries, scope, columns, join, word)
        return f"{left} {word} {right} ON {on}"
    on = "TRUE" if condition is None else queries.expressions.boolean(condition, both).text
    if "SEMI" not in word and "ANTI" not in word:
        scope.columns = both.columns
    if condition is None and word == "INNER JOIN":
        return f"{left} CROSS JOIN {right}"
    return f"{left} {word} {right}" if word == "CROSS JOIN" else f"{left} {word} {right} ON {on}"


def _using(
    queries: Queries,
    scope: Scope,
    columns: Sequence[ScopeColumn],
    join: exp.Join,
    word: str,
) -> str:
    """Join by columns of the same name; each of them is one column afterwards."""
    using = [part.name.casefold() for part in join.args["using"]]
    merged, conditions = [], []
    for name in using:
        sides = [
            [c for c in some if c.name == name and not c.is_hidden]
            for some in (scope.columns, columns)
        ]
        if any(len(side) != 1 for side in sides):
            raise wrong(join, f"not both sides have one column {name}")
        left, right = (side[0].value for side in sides)
        equal = compare(queries.expressions.casts, "=", left, right)
        if equal is None or left.type != right.type:
            raise unsupported(join, f"{name} has different types")
        conditions.append(equal.text)
        value = right if word == "RIGHT JOIN" else left
        if word == "FULL JOIN":
            value = Typed(f"coalesce({left.text}, {right.text})", left.type)
        merged.append(ScopeColumn("", name, value))
    if "SEMI" not in word and "ANTI" not in word:
        rest = [
            msgspec.structs.replace(c, is_hidden=True) if c.name in using else c
            for c in (*scope.columns, *columns)
        ]
        scope.columns = [*merged, *rest]
    return " AND ".join(conditions)
