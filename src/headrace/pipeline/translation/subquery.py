"""Queries inside expressions: IN, NOT IN and scalar queries."""

from sqlglot import exp

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.compiler import Compiled, Compiler, known
from headrace.pipeline.translation.operator import compare
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.scope import Scope
from headrace.pipeline.translation.typed import Typed


def in_query(compiler: Compiler, node: exp.In, scope: Scope) -> Typed:
    """IN (SELECT ...), where a null counts as false."""
    value, inner, equal = _membership(compiler, node, scope)
    if value.type == inner.columns[0].type and not t.is_float(value.type):
        return Typed(f"({value.text} IN ({inner.text}))", t.BOOLEAN, can_fail=value.can_fail)
    return Typed(f"EXISTS (SELECT 1 FROM ({inner.text}) AS q(c) WHERE {equal})", t.BOOLEAN)


def not_in_query(compiler: Compiler, node: exp.In, scope: Scope) -> Typed:
    """Rows that are in no case in the query: it has no null, or the row itself is none."""
    value, inner, equal = _membership(compiler, node, scope)
    rows = f"({inner.text}) AS q(c)"
    parts = [f"NOT EXISTS (SELECT 1 FROM {rows} WHERE {equal})"]
    if inner.columns[0].nullable:
        parts.append(f"(SELECT count(*) FROM {rows} WHERE q.c IS NULL) = 0")
    if value.nullable:
        parts.append(f"({value.text} IS NOT NULL OR (SELECT count(*) FROM {rows}) = 0)")
    return Typed(f"({' AND '.join(parts)})", t.BOOLEAN)


def _membership(compiler: Compiler, node: exp.In, scope: Scope) -> tuple[Typed, Compiled, str]:
    query = node.args["query"]
    inner = compiler.subqueries.query(
        query.this if isinstance(query, exp.Subquery) else query, scope
    )
    value = compiler.value(node.this, scope)
    if len(inner.columns) != 1:
        raise wrong(node, f"the query gives {len(inner.columns)} columns, not one")
    if inner.is_correlated:
        raise unsupported(node, "the query names a column of the one around it; use EXISTS")
    column = Typed("q.c", inner.columns[0].type)
    equal = known(compare(compiler.casts, "=", value, column), node, value, column)
    return value, inner, equal.text


def scalar_query(compiler: Compiler, node: exp.Subquery, scope: Scope) -> Typed:
    """A query that stands for one value."""
    inner = compiler.subqueries.query(node.this, scope)
    if len(inner.columns) != 1:
        raise wrong(node, f"a scalar query gives one column, not {len(inner.columns)}")
    if not inner.gives_one_row:
        raise unsupported(node, "it may give more than one row; aggregate it")
    return Typed(f"({inner.text})", inner.columns[0].type)
