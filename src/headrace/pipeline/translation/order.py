"""Translates ORDER BY, LIMIT and OFFSET.

A compiled query without them enters; the same query with them leaves. Positions in the SELECT list
are replaced by column names.
"""

from collections.abc import Collection, Sequence

import msgspec
from sqlglot import exp

from headrace.pipeline.translation.compiler import Compiled, Queries
from headrace.pipeline.translation.literal import ordinal
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.scope import Output, Scope, ScopeColumn
from headrace.pipeline.translation.typed import Typed, identifier
from headrace.pipeline.translation.window import sort_key


def order_and_limit(
    queries: Queries,
    node: exp.Expr,
    compiled: Compiled,
    scope: Scope | None,
    items: Sequence[tuple[str, Typed]] = (),
) -> Compiled:
    """Add order and limit to a query.

    Args:
        queries: The compiler.
        node: The query.
        compiled: The query without order and limit.
        scope: The columns that the order may refer to; None for only those of the result.
        items: The SELECT list.
    """
    text = compiled.text
    order = node.args.get("order")
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if limit is None and offset is None:
        for key in ("sort", "distribute", "cluster"):
            node.args.pop(key, None)  # the layout of rows does not change them
    elif any(node.args.get(key) for key in ("sort", "distribute", "cluster")):
        raise unsupported(node, "the catalogue has no SORT BY with LIMIT")
    if order is not None:
        is_limited = limit is not None or offset is not None
        keys = _order_by(queries, order, compiled, scope, items, is_limited=is_limited)
        text += f" ORDER BY {keys}"
        if not is_limited:
            compiled = msgspec.structs.replace(compiled, columns=_marked(order, compiled))
    for word, clause in (("LIMIT", limit), ("OFFSET", offset)):
        if clause is not None and clause.expression != exp.var("ALL"):
            count = clause.expression
            if not isinstance(count, exp.Literal) or not count.is_int:
                raise unsupported(clause, f"{word} takes a literal")
            text += f" {word} {count.name}"
    gives_one = compiled.gives_one_row and limit is None and offset is None
    return Compiled(text, compiled.columns, compiled.is_correlated, gives_one)


def _order_by(  # noqa: PLR0913
    queries: Queries,
    order: exp.Expr,
    compiled: Compiled,
    scope: Scope | None,
    items: Sequence[tuple[str, Typed]],
    *,
    is_limited: bool,
) -> str:
    named = {
        output.name.casefold(): Typed(identifier(output.name.casefold()), output.type)
        for output in compiled.columns
    }
    if scope is None:  # only the columns of the result are visible
        inner = Scope([ScopeColumn("", name, value) for name, value in named.items()])
    else:
        aliases = {**scope.aliases, **{n.casefold(): v for n, v in items}}
        inner = msgspec.structs.replace(scope, aliases=aliases, prefers_aliases=True)
    shown = {value.text: identifier(name.casefold()) for name, value in reversed(items)}
    keys = []
    visible = {*inner.aliases, *(column.name for column in inner.columns)}
    for key in _spread(order, compiled, visible):
        plain = key.this if isinstance(key, exp.Ordered) else key
        place = ordinal(plain)
        if place is not None:
            if not 1 <= place <= len(compiled.columns):
                raise wrong(plain, f"there is no column {place} in the SELECT list")
            by_place = Scope([ScopeColumn("", n, v) for n, v in named.items()])
            name = compiled.columns[place - 1].name
            copy = key.copy()
            target = copy.this if isinstance(copy, exp.Ordered) else copy
            target.replace(exp.column(name, quoted=True))
            keys.append(sort_key(queries.expressions, copy, by_place))
            continue
        is_inner = order.parent is not None and order.parent.parent is not None
        is_shown = isinstance(plain, exp.Column) and plain.name.casefold() in named
        if is_inner and not is_limited and not is_shown and _can_fail(queries, plain, inner):
            raise unsupported(plain, "it may fail, and DataFusion omits the order of inner queries")
        keys.append(sort_key(queries.expressions, key, inner, lambda v: shown.get(v.text, v.text)))
    return ", ".join(keys)


def _marked(order: exp.Expr, compiled: Compiled) -> tuple[Output, ...]:
    """Mark the columns that can fail, if the order is by them."""
    names = {column.name.casefold() for column in order.find_all(exp.Column)}
    places = {
        ordinal(key.this if isinstance(key, exp.Ordered) else key) for key in order.expressions
    }
    return tuple(
        msgspec.structs.replace(
            o,
            is_order=o.can_fail
            and not o.is_aggregated
            and (o.name.casefold() in names or n in places),
        )
        for n, o in enumerate(compiled.columns, 1)
    )


def _can_fail(queries: Queries, key: exp.Expr, scope: Scope) -> bool:
    value = queries.expressions.value(key, scope)
    columns = (column for column in scope.columns if column.can_fail)
    return value.can_fail or any(column.value.text in value.text for column in columns)


def _spread(order: exp.Expr, compiled: Compiled, names: Collection[str]) -> list[exp.Expr]:
    """Return the keys, with ORDER BY ALL expanded to the position of each column."""
    keys = list(order.expressions)
    if len(keys) != 1 or keys[0].this != exp.var("ALL"):
        return keys
    if "all" in names:
        raise unsupported(order, "ORDER BY ALL may mean the column all; use backticks")
    spread = []
    for place in range(1, len(compiled.columns) + 1):
        key = keys[0].copy()
        key.set("this", exp.Literal.number(place))
        spread.append(key)
    return spread
