"""Translates generators: explode, posexplode, inline, stack and range, wherever Spark allows them.

A generator becomes an array of structs for each row of its relation. DataFusion turns each struct
into a row, next to the columns of the relation, and the fields become columns.
"""

from collections.abc import Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.catalogue.collection import cast_to_common
from headrace.pipeline.translation.compiler import Clock, Compiler, Queries
from headrace.pipeline.translation.grouping import has_aggregate
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.scope import Scope, ScopeColumn
from headrace.pipeline.translation.typed import Typed, call, identifier, literal_int

GENERATORS = frozenset(
    {"explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer"}
    | {"stack"}
)
_MAX_NUMBERS = 1_000_000
GENERATED = "__generated"
"""The relation of a generator in the SELECT list; authors cannot use this name."""


def is_generator(node: exp.Expr) -> bool:
    """Return whether an item of a SELECT list is a generator."""
    inner = node.this if isinstance(node, exp.Alias | exp.Aliases) else node
    return isinstance(inner, exp.Anonymous) and inner.name.casefold() in GENERATORS


def without_generator(
    queries: Queries, node: exp.Select, text: str, scope: Scope
) -> tuple[exp.Select, str]:
    """Move the generator of a SELECT list, if any, into FROM.

    Raises:
        Refused: the query has a form with which the catalogue has no generators.
    """
    generators = [item for item in node.expressions if is_generator(item)]
    if not generators:
        return node, text
    is_unsupported = any(node.args.get(key) for key in ("group", "having", "qualify", "windows"))
    functions = queries.expressions.functions
    has_aggregates = any(has_aggregate(item, functions) for item in node.expressions)
    if len(generators) > 1 or is_unsupported or has_aggregates:
        raise unsupported(
            generators[0], "the catalogue has no generator next to aggregates or another generator"
        )
    if node.find(exp.Window) is not None:
        raise unsupported(generators[0], "the catalogue has no generator next to a window")
    (item,) = generators
    inner = item.this if isinstance(item, exp.Alias | exp.Aliases) else item
    names = [part.name for part in item.expressions] if isinstance(item, exp.Aliases) else []
    if isinstance(item, exp.Alias):
        names = [item.alias]
    source = text.removeprefix(" FROM ")
    source = expand(queries, source, scope, inner, qualifier=GENERATED, names=names, hidden=True)
    generated_names = [c.name for c in scope.columns if c.qualifier == GENERATED]
    columns = [exp.alias_(exp.column(n, table=GENERATED), n, quoted=True) for n in generated_names]
    place = node.expressions.index(item)
    changed = node.copy()
    select_list = changed.expressions
    changed.set("expressions", [*select_list[:place], *columns, *select_list[place + 1 :]])
    return changed, f" FROM {source}"


def lateral(queries: Queries, text: str, scope: Scope, node: exp.Lateral) -> str:
    """Add LATERAL VIEW, or a generator after LATERAL, to a relation."""
    alias = node.args.get("alias")
    if not isinstance(node.this, exp.Anonymous) or node.this.name.casefold() not in GENERATORS:
        raise unsupported(node, "the catalogue has only generators after LATERAL")
    names = [part.name for part in alias.columns] if isinstance(alias, exp.TableAlias) else []
    qualifier = node.alias.casefold() or queries.new_name()
    if any(column.qualifier == qualifier for column in scope.columns):
        raise unsupported(node, "two relations have the same name")
    is_outer = bool(node.args.get("outer"))
    return expand(queries, text, scope, node.this, qualifier=qualifier, names=names, outer=is_outer)


def expand(  # noqa: PLR0913
    queries: Queries,
    text: str,
    scope: Scope,
    node: exp.Anonymous,
    *,
    qualifier: str,
    names: Sequence[str],
    outer: bool = False,
    hidden: bool = False,
) -> str:
    """Add a generator to a relation, and its columns to the scope."""
    rows = _generated(queries.expressions, node, scope, outer=outer)
    return expand_rows(
        queries, text, scope, rows, qualifier=qualifier, names=names, node=node, hidden=hidden
    )


def expand_rows(  # noqa: PLR0913
    queries: Queries,
    text: str,
    scope: Scope,
    rows: Typed,
    *,
    qualifier: str,
    names: Sequence[str],
    node: exp.Expr,
    hidden: bool = False,
) -> str:
    """Add arrays of structs to a relation, one row per struct."""
    kind = rows.type.value_type
    if names and len(names) != kind.num_fields:
        raise wrong(node, f"{len(names)} names for {kind.num_fields} columns")
    named = [name.casefold() for name in names or [field.name for field in kind]]
    if len(set(named)) < len(named):
        raise unsupported(node, "two columns have the same name")
    relation = identifier(queries.new_name())
    shown = [f"{c.value.text} AS {identifier(f'c{n}')}" for n, c in enumerate(scope.columns)]
    is_run = queries.expressions.clock is Clock.RUNNING
    generated = f"unnest({rows.text})" if is_run else call("one_of", kind, rows).text
    shown.append(f'{generated} AS "g"')
    source = f" FROM {text}" if text else ""
    previous = [
        msgspec.structs.replace(
            column,
            value=Typed(
                f"{relation}.{identifier(f'c{n}')}",
                column.value.type,
                nullable=column.value.nullable,
            ),
        )
        for n, column in enumerate(scope.columns)
    ]
    struct = Typed(f'{relation}."g"', kind)
    new = [
        ScopeColumn(
            qualifier,
            name,
            call("field", kind.field(place).type, struct, parameters=(str(place),)),
            is_hidden=hidden,
        )
        for place, name in enumerate(named)
    ]
    scope.columns = [*previous, *new]
    return f"(SELECT {', '.join(shown)}{source}) AS {relation}"


def counted_rows(compiler: Compiler, node: exp.Anonymous) -> Typed:
    """Compile `range` as a relation.

    Raises:
        Refused: it has too many rows, or its arguments are not literals.
    """
    values = [compiler.value(part, Scope([])) for part in node.expressions]
    numbers = [value.value for value in values]
    if not 1 <= len(numbers) <= 3 or not all(  # noqa: PLR2004
        value.is_literal and t.is_integer(value.type) for value in values
    ):
        raise unsupported(node, "the catalogue has range only with one to three literals")
    if len(numbers) == 1:
        numbers = [0, *numbers]
    step = numbers[2] if len(numbers) > 2 else 1  # noqa: PLR2004
    if step == 0 or len(range(numbers[0], numbers[1], step)) > _MAX_NUMBERS:
        raise unsupported(node, f"the catalogue has range only for up to {_MAX_NUMBERS:,} rows")
    kind = t.array_of(pa.struct([pa.field("id", t.LONG)]))
    parameters = tuple(str(number) for number in (*numbers[:2], step))
    return call("counted", kind, literal_int(0), parameters=parameters)


def _generated(compiler: Compiler, node: exp.Anonymous, scope: Scope, *, outer: bool) -> Typed:
    """Return the rows that a generator produces from one row, as an array of structs."""
    name = node.name.casefold()
    if name == "stack":
        return _stacked(compiler, node, scope)
    word = name.removesuffix("_outer")
    parameter = "input" if word == "inline" else "collection"
    arguments = [_unnamed(part, parameter) for part in node.expressions]
    if len(arguments) != 1:
        raise wrong(node, f"it takes one argument, not {len(arguments)}")
    value = compiler.value(arguments[0], scope)
    fields = _fields(word, value.type)
    if fields is None:
        raise unsupported(node, "the catalogue does not have it for this type")
    parameters = [word] if word == "inline" else []
    if word == "posexplode":
        fields, parameters = [pa.field("pos", t.INT), *fields], ["pos"]
    if outer or name.endswith("_outer"):
        parameters.append("outer")
    kind = t.array_of(pa.struct(fields))
    return call("exploded", kind, value, parameters=tuple(parameters))


def _unnamed(argument: exp.Expr, name: str) -> exp.Expr:
    """Return an argument without the name that it may be passed by."""
    is_named = isinstance(argument, exp.Kwarg) and argument.this.name.casefold() == name
    return argument.expression if is_named else argument


def _fields(word: str, kind: pa.DataType) -> list[pa.Field] | None:
    """Return the columns that a generator produces from a value; None if it does not take it."""
    if word == "inline":
        is_structs = t.is_array(kind) and pa.types.is_struct(kind.value_type)
        return list(kind.value_type) if is_structs else None
    if t.is_array(kind) and kind.value_type != t.VOID:
        return [pa.field("col", kind.value_type)]
    if pa.types.is_map(kind):
        return [pa.field("key", kind.key_type), pa.field("value", kind.item_type)]
    return None


def _stacked(compiler: Compiler, node: exp.Anonymous, scope: Scope) -> Typed:
    """Compile `stack`: its values, in as many rows as its first argument says."""
    first, *values = [compiler.value(part, scope) for part in node.expressions]
    count = first.value if first.is_literal and t.is_integer(first.type) else None
    if not count or count < 0 or not values:
        raise unsupported(node, "stack takes a literal number of rows, and their values")
    width = -(-len(values) // count)
    kinds = []
    for place in range(width):
        column = cast_to_common(compiler.casts, values[place::width])
        if column is None or column[0].type == t.VOID:
            raise unsupported(node, "the rows have no types in common")
        different = {v.type for v in values[place::width]} - {t.VOID, column[0].type}
        if different:
            raise unsupported(node, "the rows have different types")
        kinds.append(column[0].type)
    kind = t.array_of(pa.struct([pa.field(f"col{n}", k) for n, k in enumerate(kinds)]))
    cells = [compiler.casts.cast(v, kinds[n % width]) for n, v in enumerate(values)]
    return call("stacked", kind, *[v for v in cells if v is not None], parameters=(str(count),))
