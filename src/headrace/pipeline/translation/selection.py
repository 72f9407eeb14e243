"""Translates SELECT: its list, its clauses, and the names of its columns.

A SELECT and the scope of the enclosing query enter; a `Compiled` query leaves.
"""

from collections.abc import Sequence

import msgspec
from sqlglot import exp

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.compiler import Compiled, Placement, PlainSelect, Queries
from headrace.pipeline.translation.eager import having, where, with_aggregates
from headrace.pipeline.translation.generator import is_generator, without_generator
from headrace.pipeline.translation.grouping import (
    group_by,
    has_aggregate,
    is_aggregate,
    is_global_aggregate,
    star_of,
)
from headrace.pipeline.translation.guard import (
    SelectParts,
    boolean,
    computing_columns,
    fallible_parts,
    guard_of,
    guarded_source,
    guarded_text,
    keys_guard,
    refuse_conditional,
)
from headrace.pipeline.translation.join import from_clause
from headrace.pipeline.translation.operator import ordered
from headrace.pipeline.translation.order import order_and_limit
from headrace.pipeline.translation.placement import in_place
from headrace.pipeline.translation.project_call import is_project_aggregate
from headrace.pipeline.translation.refusal import nearest, unsupported, wrong
from headrace.pipeline.translation.relation import check_distinct
from headrace.pipeline.translation.scope import Output, Scope
from headrace.pipeline.translation.shared import refuse_shared, refuse_shared_arguments
from headrace.pipeline.translation.typed import Typed, call, identifier


def select(queries: Queries, node: exp.Select, parent: Scope | None) -> Compiled:
    """Compile a SELECT."""
    text, scope = from_clause(queries, node, parent)
    joins = node.args.get("joins") or ()
    has_generator = any(map(is_generator, node.expressions)) or any(
        isinstance(part, exp.Lateral) and not isinstance(part.this, exp.Subquery)
        for part in (*(node.args.get("laterals") or ()), *(j.this for j in joins))
    )
    scope.has_generator = has_generator
    node, text = without_generator(queries, node, text, scope)
    before = queries.expressions.windows
    named = [(window.name.casefold(), window) for window in node.args.get("windows") or ()]
    queries.expressions.windows = dict(named)
    if len(queries.expressions.windows) < len(named):
        raise wrong(node, "two windows have the same name")
    try:
        compiled = _selected(queries, node, text, scope)
    finally:
        queries.expressions.windows = before
    return msgspec.structs.replace(compiled, plain=None, guard=None) if has_generator else compiled


def _selected(queries: Queries, node: exp.Select, source: str, scope: Scope) -> Compiled:
    clause = node.args.get("where")
    test = None if clause is None else boolean(queries.expressions, clause.this, scope)
    plain_source = source
    grouping = group_by(queries, node, scope)
    functions = queries.expressions.functions
    aggregates = any(has_aggregate(column, functions) for column in node.expressions)
    items = _items(queries, node, scope)
    _refuse_shared(queries, node, scope, aggregates=aggregates)
    if is_global_aggregate(node, functions):
        items = [(name, _of_a_group(value, scope)) for name, value in items]
    unnamed = {output_name(column) for column in node.expressions if not is_named(column)}
    outputs = tuple(
        _output(name, value, scope, is_named=name not in unnamed) for name, value in items
    )
    outputs = _before_windows(queries, node, scope, items, outputs)
    check_distinct(outputs, node)
    is_distinct = node.args.get("distinct") is not None
    # In a subquery of an expression, DataFusion looks for aggregates and columns as they are.
    is_fixed = queries.expressions.placement is Placement.FIXED and scope.parent is None
    shown = []
    for name, value in items:
        plain = value
        if is_distinct:
            if not t.is_orderable(value.type):
                raise unsupported(node, f"the catalogue has no DISTINCT of {type_text(value.type)}")
            plain = ordered(value)
        if is_fixed:
            plain = in_place(plain)
        shown.append(f"{plain.text} AS {identifier(name.casefold())}")
    groups, fallible = _having(queries, node, scope)
    source = _guarded(queries, node, source, scope, fallible) + grouping.relation
    word = "SELECT DISTINCT " if is_distinct else "SELECT "
    if (
        clause is not None
        and test is not None
        and any(column.is_fallible for column in scope.columns)
    ):
        used = "".join([*shown, test.text, grouping.clause, groups])
        with computing_columns(scope):
            test = where(queries.expressions, clause.this, scope, used)
    condition = "" if test is None else f" WHERE {test.text}"
    groups = grouping.clause + groups
    parts = SelectParts(items, shown, plain_source, test, grouping.relation, groups)
    keys_test = keys_guard(node, test, scope, fallible)
    listed, groups = (guarded_text(t, keys_test, scope) for t in (", ".join(shown), groups))
    text = f"{word}{listed}{source}{condition}{groups}"
    _refuse_unread_order(node, text, scope)
    one_row = aggregates and node.args.get("group") is None and not groups
    if scope.is_correlated and node.args.get("group") is None:
        nodes = (part for column in node.expressions for part in column.walk())
        if any(is_project_aggregate(functions, part) for part in nodes):
            raise unsupported(node, "the catalogue has no correlated aggregates of the project")
    compiled = Compiled(text, outputs, gives_one_row=one_row)
    separate = None if aggregates else _plain_select(node, source, condition, items, scope)
    result = order_and_limit(queries, node, compiled, scope if not is_distinct else None, items)
    is_global = is_global_aggregate(node, functions)
    guard = None if scope.is_correlated or is_global else guard_of(node, parts, scope)
    return msgspec.structs.replace(
        result, is_correlated=scope.is_correlated, plain=separate, guard=guard
    )


def _refuse_shared(queries: Queries, node: exp.Select, scope: Scope, *, aggregates: bool) -> None:
    compiler = queries.expressions
    clause = node.args.get("where")
    if clause is not None:
        refuse_shared(compiler, [clause.this], scope)
        _refuse_never_computed(queries, node)
    if not aggregates or node.args.get("group") is not None:
        refuse_conditional(node.expressions, scope)
    if aggregates or node.args.get("group") is not None:
        having = node.args.get("having")
        nodes = [*node.expressions, *([] if having is None else [having.this])]
        refuse_shared_arguments(compiler, nodes, compiler.functions, scope)
        keys = [c for c in node.expressions if not has_aggregate(c, compiler.functions)]
        refuse_shared(compiler, keys, scope.before_grouping())
    else:
        refuse_shared(compiler, node.expressions, scope)


def _refuse_unread_order(node: exp.Select, text: str, scope: Scope) -> None:
    """Refuse a query over one that is ordered by a column that can fail and is not read.

    Spark computes the order, and DataFusion omits it.
    """
    for column in scope.columns:
        if column.is_order and column.value.text not in text:
            reason = f"Spark may compute {column.name}, by which an inner query is ordered"
            raise unsupported(node, reason)


def _refuse_never_computed(queries: Queries, node: exp.Select) -> None:
    """Refuse a query inside a SELECT list that can raise, if WHERE is a constant.

    Spark computes it even if no row needs it; DataFusion does not if WHERE is false.
    """
    if node.args["where"].find(exp.Column) or not queries.expressions.fallible:
        return
    inner = next((q for column in node.expressions for q in column.find_all(exp.Query)), None)
    if inner is not None:
        raise unsupported(inner, "Spark computes it even if WHERE is never true")


def _guarded(
    queries: Queries, node: exp.Select, source: str, scope: Scope, fallible: Sequence[Typed]
) -> str:
    """Return FROM with guards on what conditions that can raise read."""
    if not scope.filtered:
        return source
    clause, fallible = node.args.get("where"), [*scope.fallible, *fallible]
    if clause is not None:
        fallible += fallible_parts(queries.expressions, clause.this, scope)
    return guarded_source(source, scope, fallible)


_NOT_PLAIN = ("distinct", "group", "having", "qualify", "limit", "offset")


def _plain_select(
    node: exp.Select, source: str, condition: str, items: Sequence[tuple[str, Typed]], scope: Scope
) -> PlainSelect | None:
    if any(node.args.get(part) for part in _NOT_PLAIN):
        return None
    if any(column.find(exp.Window) for column in node.expressions) or not source:
        return None
    qualifiers = frozenset(column.qualifier for column in scope.columns)
    return PlainSelect(source, condition, tuple(value for _, value in items), qualifiers)


def _items(queries: Queries, node: exp.Select, scope: Scope) -> list[tuple[str, Typed]]:
    items: list[tuple[str, Typed]] = []
    for column in node.expressions:
        star = star_of(column)
        if star is not None:
            items += _star_columns(star, column, scope)
            continue
        name = output_name(column)
        _refuse_aliases_inside(column, scope, queries.expressions.functions)
        value = with_aggregates(queries.expressions.value(column.unalias(), scope), scope)
        items.append((name, value))
        if isinstance(column, exp.Alias):
            scope.aliases.setdefault(name.casefold(), value)
    if not items:
        raise wrong(node, "it selects nothing")
    return items


def _of_a_group(value: Typed, scope: Scope) -> Typed:
    """Return a constant that is computed from the group of all rows.

    DataFusion would move a filter on a plain one below the aggregate, which returns a row even if
    the filter drops all of its rows.
    """
    if any(part in value.text for part in (a.text for a in scope.aggregates)):
        return value
    rows = call("evaluated", t.BOOLEAN, Typed("count(1)", t.LONG))
    text = f"CASE WHEN {rows.text} THEN {value.text} END"
    return msgspec.structs.replace(value, text=text, is_literal=False, value=None)


def _refuse_aliases_inside(column: exp.Expr, scope: Scope, functions: Catalog) -> None:
    """Refuse an alias of the same SELECT list in an aggregate or in a window."""
    for name in column.find_all(exp.Column):
        if len(name.parts) > 1 or not scope.means_alias([name.name]):
            continue
        above = name.parent
        while above is not None and not isinstance(above, exp.Query):
            if isinstance(above, exp.Window) or is_aggregate(above, functions):
                raise wrong(name, "Spark has no alias of the same list in a window or an aggregate")
            above = above.parent


def _star_columns(star: exp.Star, column: exp.Expr, scope: Scope) -> list[tuple[str, Typed]]:
    table = column.table.casefold() if isinstance(column, exp.Column) else ""
    left_out = {part.name.casefold() for part in star.args.get("except_") or ()}
    columns = [
        (c.name, scope.groups.get(c.value.text, c.value))
        for c in scope.columns
        if (c.qualifier == table if table else not c.is_hidden)
    ]
    if not columns:
        raise unsupported(column, "it matches no columns")
    known = [name for name, _ in columns]
    for part in star.args.get("except_") or ():
        if part.name.casefold() not in known:
            similar = nearest(part.name.casefold(), known)
            raise wrong(part, "there is no such column", similar)
    return [(name, value) for name, value in columns if name not in left_out]


def _output(name: str, value: Typed, scope: Scope, *, is_named: bool) -> Output:
    is_aggregated = any(a.text in value.text for a in scope.aggregates)
    inner = [column for column in scope.columns if column.value.text in value.text]
    return Output(
        name,
        value.type,
        value.nullable,
        is_aggregated or any(column.is_aggregated for column in inner),
        any(a.can_fail and a.text == value.text for a in scope.aggregates)
        or any(c.is_fallible and c.value.text == value.text for c in inner),
        any(column.is_window for column in inner),
        is_named and all(c.is_named or c.value.text != value.text for c in inner),
        value.can_fail or any(column.can_fail for column in inner),
    )


def _before_windows(
    queries: Queries,
    node: exp.Select,
    scope: Scope,
    items: Sequence[tuple[str, Typed]],
    outputs: tuple[Output, ...],
) -> tuple[Output, ...]:
    """Mark what Spark evaluates before the window functions of a SELECT, and so before a filter.

    A filter of the enclosing query drops rows after the windows, unless it is one of their common
    keys. The columns that are no windows are evaluated before them, for all rows.
    """
    windows = [
        window
        for column in node.expressions
        for window in column.find_all(exp.Window)
        if window.find_ancestor(exp.Select) is node
    ]
    if not windows:
        return outputs
    common: set[str] | None = None
    for part in windows:
        alias = part.args.get("alias") if part.args.get("over") else None
        named = None if alias is None else queries.expressions.windows.get(alias.name.casefold())
        keys = (part if named is None else named).args.get("partition_by") or ()
        texts = {queries.expressions.value(key, scope).text for key in keys}
        common = texts if common is None else common & texts
    return tuple(
        msgspec.structs.replace(
            output,
            is_aggregated=output.is_aggregated or value.text not in (common or ()),
            is_fallible=output.is_fallible or (value.can_fail and " OVER (" not in value.text),
            is_window=output.is_window or " OVER (" in value.text,
        )
        for output, (_, value) in zip(outputs, items, strict=True)
    )


def _having(queries: Queries, node: exp.Select, scope: Scope) -> tuple[str, list[Typed]]:
    """Compile the conditions after grouping, and return those of their parts that can raise."""
    text, fallible = "", []
    for word in ("having", "qualify"):
        clause = node.args.get(word)
        if clause is not None:
            _refuse_shadowed(clause, scope)
            _refuse_marks(clause, node)
            condition = (
                having(queries.expressions, clause.this, scope)
                if word == "having"
                else queries.expressions.boolean(clause.this, scope)
            )
            text += f" {word.upper()} {condition.text}"
            fallible += fallible_parts(queries.expressions, clause.this, scope)
    return text, fallible


def _refuse_marks(clause: exp.Expr, node: exp.Select) -> None:
    """Refuse `grouping(key)` after grouping unless the SELECT list has the key, as Spark does."""
    shown = {column.unalias() for column in node.expressions}
    for part in clause.find_all(exp.Anonymous):
        is_mark = part.name.casefold() in {"grouping", "grouping_id"}
        if is_mark and any(key not in shown for key in part.expressions):
            raise unsupported(part, "Spark has it here only for keys of the SELECT list")


def _refuse_shadowed(clause: exp.Expr, scope: Scope) -> None:
    """Refuse a name that is both a column and an alias: it may mean either."""
    for column in clause.find_all(exp.Column):
        name = column.name.casefold()
        alias = scope.aliases.get(name) if len(column.parts) == 1 else None
        columns = [c for c in scope.columns if c.name == name]
        if alias is not None and columns and all(c.value.text != alias.text for c in columns):
            raise unsupported(column, "the name is both a column and an alias")


_CALLS_NAMED_ALIKE = frozenset(
    {"count", "sum", "avg", "min", "max", "upper", "lower", "abs", "length"}
)
"""Functions whose calls over columns are named as they are written, also by Spark."""


def is_named(column: exp.Expr) -> bool:
    """Return whether `output_name` is the name that Spark gives to a column, ignoring case."""
    match column:
        case exp.Alias() | exp.Aliases() | exp.Column() | exp.Star() | exp.Boolean() | exp.Null():
            return True
        case exp.Paren() | exp.Neg():
            inner = column.this
            return is_named(inner) and (isinstance(column, exp.Paren) or inner.is_int)
        case exp.Literal():
            return column.name.isidentifier() if column.is_string else column.is_int
        case exp.Cast():
            return isinstance(column.this, exp.Column)
        case exp.Anonymous() if column.name.casefold() in _CALLS_NAMED_ALIKE:
            parts = [
                inner
                for part in column.expressions
                for inner in (part.expressions if isinstance(part, exp.Distinct) else [part])
            ]
            return all(isinstance(p, exp.Column) and len(p.parts) == 1 for p in parts) or (
                [type(part) for part in parts] == [exp.Star]
            )
        case _:
            return is_generator(column)


def output_name(column: exp.Expr) -> str:
    """Return the author's name of a column, or the one that Spark generates."""
    is_count = isinstance(column, exp.Anonymous) and column.name.casefold() == "count"
    if is_count and [type(part) for part in column.expressions] == [exp.Star]:
        return "count(1)"
    return column.output_name or column.sql(dialect="spark").casefold()
