"""Translates queries inside expressions: IN, NOT IN and scalar queries.

Membership tests become EXISTS or IN with Spark's null semantics. An uncorrelated scalar query that
may return several rows is checked when it runs.
"""

import msgspec
from sqlglot import exp

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.compiler import Compiled, Compiler, or_refuse
from headrace.pipeline.translation.grouping import aggregates_globally
from headrace.pipeline.translation.operator import compare, logical
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.scope import Scope
from headrace.pipeline.translation.typed import Typed, call, identifier


class _Membership(msgspec.Struct, frozen=True):
    """Values to look up among the rows of a query."""

    values: list[Typed]
    inner: Compiled
    source: str
    """The rows of the query: a FROM clause."""
    condition: str
    """The WHERE clause of these rows, or nothing."""
    columns: list[Typed]
    equal: str
    """The condition that a row has the values."""

    def exists(self, test: str) -> str:
        """Return a test whether the query has a row that meets a condition."""
        where = f"{self.condition} AND {test}" if self.condition else f" WHERE {test}"
        return f"EXISTS (SELECT 1{self.source}{where})"

    def none_is(self, test: str) -> str:
        """Return a test whether the query has no row that meets a condition; it needs no join."""
        return f"(SELECT count(*){self.source} WHERE {test}) = 0"


def exists(compiler: Compiler, node: exp.Exists, scope: Scope) -> Typed:
    """Compile EXISTS. Of a correlated aggregate, DataFusion forgets that it always has a row."""
    inner = compiler.subqueries.query(node.this, scope)
    if inner.is_correlated and aggregates_globally(node.this, compiler.functions):
        raise unsupported(node, "the catalogue has no correlated aggregate in EXISTS")
    return Typed(f"EXISTS ({inner.text})", t.BOOLEAN)


def in_query(compiler: Compiler, node: exp.In, scope: Scope) -> Typed:
    """Compile IN (SELECT ...), where null counts as false."""
    rows = _membership(compiler, node, scope)
    value, column = rows.values[0], rows.columns[0]
    is_plain = len(rows.values) == 1 and value.type == column.type and not t.is_float(value.type)
    if is_plain and not rows.inner.is_correlated:
        return Typed(f"({value.text} IN ({rows.inner.text}))", t.BOOLEAN, can_fail=value.can_fail)
    return Typed(rows.exists(rows.equal), t.BOOLEAN)


def not_in_query(compiler: Compiler, node: exp.In, scope: Scope) -> Typed:
    """Compile NOT IN (SELECT ...): true where every row of the query certainly differs."""
    rows = _membership(compiler, node, scope)
    value, column = rows.values[0], rows.columns[0]
    if len(rows.values) > 1 or rows.inner.is_correlated:
        maybe = rows.exists(f"({rows.equal}) IS NOT FALSE")
        return Typed(f"(NOT {maybe})", t.BOOLEAN)
    parts = [f"NOT {rows.exists(rows.equal)}"]
    if column.nullable:
        parts.append(rows.none_is(f"{column.text} IS NULL"))
    if value.nullable:
        parts.append(f"({value.text} IS NOT NULL OR {rows.none_is('TRUE')})")
    return Typed(f"({' AND '.join(parts)})", t.BOOLEAN)


def _membership(compiler: Compiler, node: exp.In, scope: Scope) -> _Membership:
    query = node.args["query"]
    inner = compiler.subqueries.query(
        query.this if isinstance(query, exp.Subquery) else query, scope
    )
    sides = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    values = [compiler.value(side, scope) for side in sides]
    if len(inner.columns) != len(values):
        raise wrong(node, f"the query returns {len(inner.columns)} columns, not {len(values)}")
    source, condition, columns = _rows(compiler, inner, scope)
    tests = [
        or_refuse(compare(compiler.casts, "=", value, column), node, value, column)
        for value, column in zip(values, columns, strict=True)
    ]
    equal = tests[0]
    for test in tests[1:]:
        equal = logical("AND", equal, test)
    return _Membership(values, inner, source, condition, columns, equal.text)


def _rows(compiler: Compiler, inner: Compiled, scope: Scope) -> tuple[str, str, list[Typed]]:
    """Return the rows of a query, to which a condition with names of `scope` can be added.

    DataFusion finds the names of an enclosing query only if no other query is in between. So the
    condition is added to the query itself, unless an inner relation hides an outer one.
    """
    plain, outside = inner.plain, {column.qualifier for column in scope.columns}
    if inner.is_correlated and plain is not None and not plain.qualifiers & outside:
        return plain.source, plain.condition, list(plain.values)
    name = identifier(compiler.subqueries.new_name())
    columns = [
        Typed(f"{name}.c{place}", output.type, nullable=output.nullable)
        for place, output in enumerate(inner.columns)
    ]
    listed = ", ".join(f"c{place}" for place in range(len(columns)))
    return f" FROM ({inner.text}) AS {name}({listed})", "", columns


def scalar_query(compiler: Compiler, node: exp.Subquery, scope: Scope) -> Typed:
    """Compile a query for one value: null without a row, an error with more than one."""
    inner = compiler.subqueries.query(node.this, scope)
    if len(inner.columns) != 1:
        raise wrong(node, f"a scalar query returns one column, not {len(inner.columns)}")
    kind = inner.columns[0].type
    if inner.is_correlated and scope.has_groups:
        raise unsupported(node, "the catalogue has no correlated queries after GROUP BY")
    if inner.gives_one_row:
        return Typed(f"({inner.text})", kind)
    if inner.is_correlated:
        raise unsupported(node, "it may return more than one row; aggregate it")
    name = identifier(compiler.subqueries.new_name())
    rows = Typed("count(*)", t.LONG)
    first = Typed(f"first_value({name}.c)", kind)
    only = call("only_row", kind, rows, first, can_fail=True)
    return Typed(f"(SELECT {only.text} AS c FROM ({inner.text}) AS {name}(c))", kind, can_fail=True)
