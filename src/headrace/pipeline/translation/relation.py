"""Translates FROM: tables, queries and inline tables, under the names that the query uses.

A syntax node enters; a `Relation` leaves: its DataFusion text and its visible columns.
"""

from collections.abc import Sequence

import msgspec
from sqlglot import exp

from headrace.pipeline.functions.definition import FunctionKind
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.catalogue.collection import cast_to_common
from headrace.pipeline.translation.compiler import Compiled, Guard, Queries
from headrace.pipeline.translation.generator import GENERATORS, counted_rows, expand, expand_rows
from headrace.pipeline.translation.order import order_and_limit
from headrace.pipeline.translation.pivot import rewritten
from headrace.pipeline.translation.project_call import project_arguments
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.scope import Output, Scope, ScopeColumn, columns_of
from headrace.pipeline.translation.table_call import TableCall
from headrace.pipeline.translation.typed import identifier, literal_int

_NOT_CONSTANT = (exp.Anonymous, exp.Query, exp.Column, exp.CurrentDate, exp.CurrentTimestamp)


class Relation(msgspec.Struct, frozen=True):
    """A part of FROM."""

    text: str
    columns: list[ScopeColumn]
    is_correlated: bool = False
    guard: Guard | None = None


def relation(queries: Queries, node: exp.Expr, parent: Scope | None) -> Relation:
    """Compile a relation under its name; a query may refer to columns of the enclosing query."""
    if node.args.get("pivots"):
        return _pivoted(queries, node, parent)
    is_correlated, guard = False, None
    match node:
        case exp.Table() if isinstance(node.this, exp.Identifier):
            text, outputs, name = _table(queries, node)
            guard = queries.guards.get(text)
        case exp.Table() if isinstance(node.this, exp.Anonymous):
            text, outputs, name = _table_call(queries, node.this)
        case exp.Subquery():
            inner = wrapped(queries, node, queries.query(node.this, parent))
            text, outputs, name = f"({inner.text})", inner.columns, queries.new_name()
            is_correlated, guard = inner.is_correlated, inner.guard
        case exp.Values():
            inner = inline_table(queries, node)
            text, outputs, name = f"({inner.text})", inner.columns, queries.new_name()
        case _:
            raise unsupported(node, "the catalogue has only tables and queries in FROM")
    alias = node.args.get("alias")
    named = renamed(outputs, alias, node)
    qualifier = node.alias.casefold() or name
    columns = ", ".join(identifier(output.name.casefold()) for output in named)
    listed = f" ({columns})" if alias is not None and alias.columns else ""
    if not isinstance(node.this, exp.Identifier):
        listed = f" ({columns})"
    check_distinct(named, node)
    whole = f"{text} AS {identifier(qualifier)}{listed}"
    named_as = f"AS {identifier(qualifier)} ({columns})"
    relation_guard = None if guard is None else _in_from(guard, named_as)
    return Relation(whole, columns_of(qualifier, named), is_correlated, relation_guard)


def _in_from(guard: Guard, named_as: str) -> Guard:
    return lambda used: f"({guard(used)}) {named_as}"


def _pivoted(queries: Queries, node: exp.Expr, parent: Scope | None) -> Relation:
    """Compile a relation followed by PIVOT or UNPIVOT."""
    source = node.copy()
    pivot, *more = source.args.pop("pivots")
    if more:
        raise unsupported(node, "it is pivoted twice")
    columns = relation(queries, source, parent).columns
    outputs = [Output(column.name, column.value.type) for column in columns]
    query = exp.Subquery(this=rewritten(pivot, source, outputs), alias=pivot.args.get("alias"))
    return relation(queries, query, parent)


def _table(queries: Queries, node: exp.Table) -> tuple[str, tuple[Output, ...], str]:
    name = ".".join(part.name for part in node.parts).casefold()
    for ctes in reversed(queries.ctes):
        if name in ctes:
            real, outputs = ctes[name]
            queries.expressions.fallible += real in queries.fallible_queries
            return identifier(real), outputs, name
    if name not in queries.tables:
        raise unsupported(node, "the columns of this table are unknown")
    queries.expressions.fallible += name in queries.fallible_queries
    return identifier(name), queries.tables[name], name.rpartition(".")[2]


def _table_call(queries: Queries, node: exp.Anonymous) -> tuple[str, tuple[Output, ...], str]:
    """Compile a function in FROM, and return the name of its result."""
    name = node.name.casefold()
    if name in queries.expressions.functions:
        return _project_table_call(queries, node)
    scope = Scope([])
    if name == "range":
        rows = counted_rows(queries.expressions, node)
        text = expand_rows(queries, "", scope, rows, qualifier=name, names=(), node=node)
    elif name in GENERATORS:
        text = expand(queries, "", scope, node, qualifier=name, names=())
    else:
        raise unsupported(node, "the catalogue has no such function in FROM")
    outputs = tuple(Output(column.name, column.value.type) for column in scope.columns)
    shown = ", ".join(f"{c.value.text} AS {identifier(c.name)}" for c in scope.columns)
    return f"(SELECT {shown} FROM {text})", outputs, name


def _project_table_call(
    queries: Queries, node: exp.Anonymous
) -> tuple[str, tuple[Output, ...], str]:
    """Compile a table function of the project; in Spark its columns have no qualifier."""
    function = queries.expressions.functions[node.name.casefold()]
    if function.kind is not FunctionKind.TABLE:
        raise wrong(node, f"FROM takes a table function, not one of the kind {function.kind}")
    if any(part is not node for part in node.find_all(*_NOT_CONSTANT)):
        raise unsupported(node, "its arguments are not literals")
    values = project_arguments(queries.expressions, function, node, Scope([]))
    call = TableCall(function.name, tuple(value.text for value in values))
    outputs = tuple(Output(field.name, field.type) for field in function.signature.returns)
    return identifier(call.relation), outputs, queries.new_name()


def wrapped(queries: Queries, node: exp.Expr, inner: Compiled) -> Compiled:
    """Compile a query in parentheses, which may have its own order and limit."""
    if not any(node.args.get(key) for key in ("order", "limit", "offset")):
        return inner
    text = f"SELECT * FROM ({inner.text}) AS q"
    whole = msgspec.structs.replace(inner, text=text, guard=None)
    return order_and_limit(queries, node, whole, None)


def inline_table(queries: Queries, node: exp.Values) -> Compiled:
    """Compile VALUES as a query."""
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    nothing = Scope([])
    cells = [[queries.expressions.value(cell, nothing) for cell in row] for row in rows]
    if len({len(row) for row in cells}) != 1:
        raise wrong(node, "the rows have different numbers of columns")
    columns = []
    for column in zip(*cells, strict=True):
        cast = cast_to_common(queries.expressions.casts, column)
        if cast is None:
            raise unsupported(node, "the rows have no types in common")
        columns.append(cast)
    outputs = tuple(Output(f"col{n}", c[0].type) for n, c in enumerate(columns, 1))
    typed = {o.name: c for o, c in zip(outputs, columns, strict=True) if o.type != t.VOID}
    typed = typed or {"n": [literal_int(0)] * len(rows)}
    lines = (", ".join(cell.text for cell in row) for row in zip(*typed.values(), strict=True))
    values = f"(VALUES {', '.join(f'({line})' for line in lines)}) AS q({', '.join(typed)})"
    shown = (o.name if o.name in typed else f"NULL AS {o.name}" for o in outputs)
    return Compiled(f"SELECT {', '.join(shown)} FROM {values}", outputs)


def check_distinct(outputs: Sequence[Output], node: exp.Expr) -> None:
    """Refuse two columns with the same name."""
    names = [output.name.casefold() for output in outputs]
    for name in names:
        if names.count(name) > 1:
            raise unsupported(node, f"two columns are called {name}")


def renamed(
    outputs: Sequence[Output], alias: exp.Expr | None, node: exp.Expr
) -> tuple[Output, ...]:
    """Rename columns as an alias does."""
    names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if not names:
        return tuple(outputs)
    if len(names) != len(outputs):
        raise wrong(node, f"{len(names)} names for {len(outputs)} columns")
    return tuple(
        msgspec.structs.replace(output, name=name, is_named=True)
        for output, name in zip(outputs, names, strict=True)
    )
