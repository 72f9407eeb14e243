"""Translates UNION, EXCEPT and INTERSECT, with both sides cast to common types.

EXCEPT ALL and INTERSECT ALL number equal rows, and become their distinct forms.
"""

from collections.abc import Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.compiler import Compiled, Queries
from headrace.pipeline.translation.operator import ordered
from headrace.pipeline.translation.order import order_and_limit
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.scope import Output, Scope
from headrace.pipeline.translation.typed import Typed, identifier


def set_operation(queries: Queries, node: exp.SetOperation, scope: Scope | None) -> Compiled:
    """Compile a set operation."""
    word = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}[type(node)]
    is_all = node.args.get("distinct") is False
    if node.args.get("by_name"):
        raise unsupported(node, f"the catalogue does not have this form of {word}")
    is_bag = is_all and word == "UNION"
    is_numbered = is_all and not is_bag
    before = queries.expressions.fallible
    left, right = queries.query(node.left, scope), queries.query(node.right, scope)
    if word != "UNION" and queries.expressions.fallible > before:
        # DataFusion skips a side that cannot change the result; Spark evaluates it, and fails.
        raise unsupported(node, f"a side of {word} may fail for some values")
    if len(left.columns) != len(right.columns):
        reason = f"the sides have {len(left.columns)} and {len(right.columns)} columns"
        raise wrong(node, reason)
    kinds = []
    for a, b in zip(left.columns, right.columns, strict=True):
        kind = t.common_type(a.type, b.type)
        if kind is None or kind == t.VOID or not (is_bag or t.is_orderable(kind)):
            reason = f"column {a.name} is {type_text(a.type)} and {type_text(b.type)}"
            raise unsupported(node, reason)
        kinds.append(kind)

    def written(*sides: Compiled) -> list[str]:
        return [_side(queries, side, kinds, is_bag=is_bag, node=node) for side in sides]

    sides = written(left, right)
    if is_numbered:
        sides = [_numbered(side, len(kinds)) for side in sides]
    outputs = tuple(
        Output(
            a.name,
            kind,
            a.nullable or b.nullable,
            a.is_aggregated or b.is_aggregated,
            a.is_fallible or b.is_fallible,
            a.is_window or b.is_window,
            a.is_named,
            a.can_fail or b.can_fail,
        )
        for a, b, kind in zip(left.columns, right.columns, kinds, strict=True)
    )
    names = ", ".join(identifier(o.name.casefold()) for o in outputs)
    inner = f"({sides[0]}) {word}{' ALL' if is_bag else ''} ({sides[1]})"
    columns = f'{names}, "N"' if is_numbered else names
    both = Compiled(f"SELECT {names} FROM ({inner}) AS q({columns})", outputs)
    correlated = left.is_correlated or right.is_correlated
    result = order_and_limit(queries, node, both, None)

    def guarded(used: frozenset[int]) -> str:
        ones = written(*(_guarded(side, used) for side in (left, right)))
        rows = f"({ones[0]}) {word}{' ALL' if is_bag else ''} ({ones[1]})"
        return f"SELECT {names} FROM ({rows}) AS q({names})"

    is_limited = node.args.get("limit") or node.args.get("offset")
    has_guard = word == "UNION" and not is_limited and (left.guard or right.guard)
    guard = guarded if has_guard and not correlated else None
    return msgspec.structs.replace(result, is_correlated=correlated, guard=guard)


def _guarded(side: Compiled, used: frozenset[int]) -> Compiled:
    return side if side.guard is None else msgspec.structs.replace(side, text=side.guard(used))


def _side(
    queries: Queries, side: Compiled, kinds: Sequence[pa.DataType], *, is_bag: bool, node: exp.Expr
) -> str:
    shown = []
    for place, (column, kind) in enumerate(zip(side.columns, kinds, strict=True)):
        value = queries.expressions.casts.widen(Typed(f"q.c{place}", column.type), kind)
        if value is None:
            raise unsupported(
                node, f"the catalogue does not widen column {column.name} to {type_text(kind)}"
            )
        plain = value if is_bag else ordered(value)
        shown.append(f"{plain.text} AS c{place}")
    names = ", ".join(f"c{place}" for place in range(len(kinds)))
    return f"SELECT {', '.join(shown)} FROM ({side.text}) AS q({names})"


def _numbered(side: str, width: int) -> str:
    """Number equal rows, so that duplicates become distinct."""
    names = ", ".join(f"c{place}" for place in range(width))
    return f'SELECT {names}, row_number() OVER (PARTITION BY {names}) AS "N" FROM ({side}) AS q'
