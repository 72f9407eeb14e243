"""GROUP BY, and which expressions aggregate."""

from sqlglot import exp

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES
from headrace.pipeline.translation.compiler import Queries
from headrace.pipeline.translation.operator import ordered
from headrace.pipeline.translation.refusal import Refused, unsupported, wrong
from headrace.pipeline.translation.scope import Scope
from headrace.pipeline.translation.typed import Typed


def group_by(queries: Queries, node: exp.Select, scope: Scope) -> str:
    """The GROUP BY clause; the scope learns what stands for each key."""
    group = node.args.get("group")
    if group is None:
        return ""
    if group.args.get("all"):
        keys = [c.unalias() for c in node.expressions if not has_aggregate(c)]
        if any(star_of(c) is not None for c in node.expressions):
            raise unsupported(node, "GROUP BY ALL with a star")
    else:
        keys = list(group.expressions)
    texts = []
    for key in keys:
        value = _group_key(queries, key, node, scope)
        if not t.is_orderable(value.type):
            raise unsupported(key, f"GROUP BY {type_text(value.type)}")
        plain = ordered(value)
        if plain.text != value.text:
            scope.groups[value.text] = plain
        texts.append(plain.text)
    return f" GROUP BY {', '.join(texts)}" if texts else ""


def _group_key(queries: Queries, key: exp.Expr, node: exp.Select, scope: Scope) -> Typed:
    if isinstance(key, exp.Literal) and not key.is_string:
        place = int(key.name) if key.is_int else 0
        if not 1 <= place <= len(node.expressions):
            raise wrong(key, f"there is no column {key.name} in the SELECT list")
        return queries.expressions.value(node.expressions[place - 1].unalias(), scope)
    if isinstance(key, exp.Column) and len(key.parts) == 1:
        try:
            return scope.find(key)
        except Refused:
            name = key.name.casefold()
            for column in node.expressions:
                if isinstance(column, exp.Alias) and column.alias.casefold() == name:
                    return queries.expressions.value(column.this, scope)
            raise
    return queries.expressions.value(key, scope)


def has_aggregate(column: exp.Expr) -> bool:
    """Whether an expression aggregates, other than over a window or in a query of its own."""
    waiting = [column]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Query | exp.Window):
            continue
        if isinstance(node, exp.Anonymous) and node.name.casefold() in AGGREGATES:
            return True
        waiting += node.iter_expressions()
    return False


def star_of(column: exp.Expr) -> exp.Star | None:
    """The star of an item of the SELECT list, if it is one."""
    if isinstance(column, exp.Star):
        return column
    is_qualified = isinstance(column, exp.Column) and isinstance(column.this, exp.Star)
    return column.this if is_qualified else None
