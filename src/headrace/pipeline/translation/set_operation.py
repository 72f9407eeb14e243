"""UNION, EXCEPT and INTERSECT: both sides in the types that they have in common."""

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
    if node.args.get("by_name") or (is_all and word != "UNION"):
        raise unsupported(node, f"{word} of this form")
    left, right = queries.query(node.left, scope), queries.query(node.right, scope)
    if len(left.columns) != len(right.columns):
        reason = f"the sides have {len(left.columns)} and {len(right.columns)} columns"
        raise wrong(node, reason)
    kinds = []
    for a, b in zip(left.columns, right.columns, strict=True):
        kind = t.common_type(a.type, b.type)
        if kind is None or kind == t.VOID or not (is_all or t.is_orderable(kind)):
            reason = f"column {a.name} is {type_text(a.type)} and {type_text(b.type)}"
            raise unsupported(node, reason)
        kinds.append(kind)
    sides = [_side(queries, side, kinds, is_all=is_all, node=node) for side in (left, right)]
    outputs = tuple(
        Output(a.name, kind, a.nullable or b.nullable)
        for a, b, kind in zip(left.columns, right.columns, kinds, strict=True)
    )
    names = ", ".join(identifier(o.name.casefold()) for o in outputs)
    inner = f"({sides[0]}) {word}{' ALL' if is_all else ''} ({sides[1]})"
    both = Compiled(f"SELECT {names} FROM ({inner}) AS q({names})", outputs)
    correlated = left.is_correlated or right.is_correlated
    result = order_and_limit(queries, node, both, None)
    return msgspec.structs.replace(result, is_correlated=correlated)


def _side(
    queries: Queries, side: Compiled, kinds: Sequence[pa.DataType], *, is_all: bool, node: exp.Expr
) -> str:
    shown = []
    for place, (column, kind) in enumerate(zip(side.columns, kinds, strict=True)):
        value = queries.expressions.casts.widen(Typed(f"q.c{place}", column.type), kind)
        if value is None:
            raise unsupported(node, f"column {column.name} as {type_text(kind)}")
        plain = value if is_all else ordered(value)
        shown.append(f"{plain.text} AS c{place}")
    names = ", ".join(f"c{place}" for place in range(len(kinds)))
    return f"SELECT {', '.join(shown)} FROM ({side.text}) AS q({names})"
