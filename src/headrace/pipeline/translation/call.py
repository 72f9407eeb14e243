"""Translates calls of functions: the catalogue's, the project's, and those with special syntax.

A parsed call enters; a typed DataFusion expression leaves. Unknown functions, and argument types
that the catalogue lacks, are refused.
"""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.functions.builtin import spark_functions
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES, RANKS
from headrace.pipeline.translation.catalogue.collection import element, struct_of, zip_arrays
from headrace.pipeline.translation.catalogue.over import Over
from headrace.pipeline.translation.catalogue.table import SCALAR
from headrace.pipeline.translation.catalogue.time_unit import call_with_unit, takes_unit
from headrace.pipeline.translation.compiler import Clock, Compiler, or_refuse
from headrace.pipeline.translation.higher_order import compile_higher_order
from headrace.pipeline.translation.literal import CASTING_NAMES, cast_value
from headrace.pipeline.translation.project_call import project_function
from headrace.pipeline.translation.refusal import nearest, unsupported, wrong
from headrace.pipeline.translation.scope import Scope, field_of
from headrace.pipeline.translation.typed import (
    Typed,
    call,
    literal_micros,
    present,
    sql_cast,
)
from headrace.pipeline.translation.window import aggregate, window

_CLOCK_NAMES = frozenset({"now", "current_timestamp", "current_date", "curdate"})
_ORDER_FREE = frozenset(
    {"sort_array", "array_sort", "array_max", "array_min", "array_contains"}
    | {"size", "cardinality", "array_size"}
)
"""Functions of an array that do not depend on the order of its elements."""
_NONDETERMINISTIC = {
    "rand": Typed("random()", t.DOUBLE),
    "random": Typed("random()", t.DOUBLE),
    "uuid": Typed("uuid()", t.STRING),
}
"""Functions that return different values in each run, on either runner."""


def named_call(compiler: Compiler, node: exp.Anonymous, scope: Scope) -> Typed:  # noqa: C901
    """Compile a call by the name that the author wrote."""
    name = node.name.casefold()
    if any(isinstance(part, exp.Lambda) for part in node.expressions):
        return compile_higher_order(compiler, node, scope)
    if name in AGGREGATES:
        return aggregate(compiler, node, scope, Over())
    if name in _CLOCK_NAMES and not node.expressions:
        return clock_time(compiler, node, Scope([]), is_date="dat" in name and "stamp" not in name)
    if name in _NONDETERMINISTIC and not node.expressions:
        return _NONDETERMINISTIC[name]
    if name in compiler.functions:
        return project_function(compiler, node, scope, Over())
    if name in _FORMS:
        return _FORMS[name](compiler, node, scope)
    if name in CASTING_NAMES and len(node.expressions) == 1:
        cast = exp.cast(node.expressions[0].copy(), name, dialect="spark")
        return cast_value(compiler, cast, scope)
    if name in RANKS:
        raise unsupported(node, "it needs a window: OVER (...)")
    if takes_unit(name, len(node.expressions)):
        return _with_unit(compiler, node, scope)
    if name not in SCALAR:
        if name not in spark_functions():
            similar = nearest(name, [*compiler.functions.entries, *spark_functions()])
            raise wrong(node, "there is no such function", similar)
        raise unsupported(node, "the catalogue does not have this function")
    return call_entry(compiler, name, node.expressions, node, scope)


def _grouping_mark(compiler: Compiler, node: exp.Anonymous, scope: Scope) -> Typed:
    """Compile `grouping` and `grouping_id`."""
    if scope.marks is None:
        raise unsupported(node, "there are no grouping sets")
    plain = Scope(scope.columns, scope.parent, scope.aliases)
    keys = [compiler.value(argument, plain).text for argument in node.expressions]
    if node.name.casefold() == "grouping_id":
        if keys and keys != list(scope.marks.keys):
            raise unsupported(node, "the arguments are not the keys of GROUP BY")
        return scope.marks.identity
    if len(keys) != 1 or keys[0] not in scope.marks.keys:
        raise unsupported(node, "the argument is not a key of GROUP BY")
    return scope.marks.keys[keys[0]]


def call_entry(
    compiler: Compiler, name: str, arguments: Sequence[exp.Expr], node: exp.Expr, scope: Scope
) -> Typed:
    """Compile a call of a scalar function of the catalogue."""
    if any(isinstance(argument, exp.Star | exp.Lambda | exp.Kwarg) for argument in arguments):
        raise unsupported(node, "the catalogue has only plain arguments")
    values = [
        compiler.value(argument, scope)
        if place or name not in _ORDER_FREE
        else _in_any_order(compiler, argument, scope)
        for place, argument in enumerate(arguments)
    ]
    return or_refuse(SCALAR.translate(name, compiler.casts, values), node, *values)


def _with_unit(compiler: Compiler, node: exp.Anonymous, scope: Scope) -> Typed:
    """Compile a call whose first argument is a unit: a word that looks like a column."""
    unit, *arguments = node.expressions
    if not isinstance(unit, exp.Column) or len(unit.parts) > 1 or unit.this.quoted:
        raise unsupported(node, "the first argument is not a unit")
    values = [compiler.value(argument, scope) for argument in arguments]
    expression = call_with_unit(compiler.casts, node.name.casefold(), unit.name, values)
    return or_refuse(expression, node, *values)


def _in_any_order(compiler: Compiler, node: exp.Expr, scope: Scope) -> Typed:
    """Compile an array whose element order does not matter, such as a collecting aggregate."""
    if isinstance(node, exp.Anonymous) and node.name.casefold() in AGGREGATES:
        return aggregate(compiler, node, scope, Over(any_order=True))
    if isinstance(node, exp.Filter):
        return window(compiler, node, scope, any_order=True)
    return compiler.value(node, scope)


def struct(compiler: Compiler, node: exp.Expr, scope: Scope) -> Typed:
    """Compile a struct; a field has the name of its column."""
    names = [_name(part, f"col{place}") for place, part in enumerate(node.expressions, 1)]
    values = [compiler.value(part, scope) for part in node.expressions]
    if not values:
        raise unsupported(node, "a struct needs at least one field")
    return present(struct_of(names, values))


def zipped(compiler: Compiler, node: exp.Expr, scope: Scope) -> Typed:
    """Compile `arrays_zip`: an array of structs whose fields have the names of the arrays."""
    names = [_name(part, str(place)) for place, part in enumerate(node.expressions)]
    values = [compiler.value(part, scope) for part in node.expressions]
    if not values or len({name.casefold() for name in names}) < len(names):
        raise unsupported(node, "the catalogue has it only for arrays with different names")
    return or_refuse(zip_arrays(names, values), node, *values)


def _name(part: exp.Expr, default: str) -> str:
    """Return the name of a struct part, or a default."""
    named = isinstance(part, exp.Alias | exp.Column | exp.Identifier | exp.Dot)
    return str(part.alias_or_name) if named else default


_FORMS: Mapping[str, Callable[[Compiler, exp.Anonymous, Scope], Typed]] = {
    "struct": struct,
    "arrays_zip": zipped,
    "grouping": _grouping_mark,
    "grouping_id": _grouping_mark,
}
"""Functions that inspect their arguments before these are compiled."""


def bracket(compiler: Compiler, node: exp.Bracket, scope: Scope) -> Typed:
    """Compile an element of an array or a map, or a field of a struct."""
    value = compiler.value(node.this, scope)
    key = compiler.value(node.expressions[0], scope)
    if pa.types.is_struct(value.type) and key.is_text():
        return field_of(value, key.value, node)
    return or_refuse(element(compiler.casts, value, key), node, value, key)


def trim(compiler: Compiler, node: exp.Trim, scope: Scope) -> Typed:
    """Compile TRIM with its keywords."""
    side = {"": "both", "BOTH": "both", "LEADING": "left", "TRAILING": "right"}[
        str(node.args.get("position") or "").upper()
    ]
    text = compiler.value(node.this, scope)
    values = [or_refuse(compiler.casts.cast(text, t.STRING), node, text)]
    letters = node.args.get("expression")
    if letters is not None:
        values.append(compiler.value(letters, scope))
    if any(value.type != t.STRING for value in values):
        raise unsupported(node, "TRIM takes strings")
    return call("trim", t.STRING, *values, parameters=(side,))


def clock_time(compiler: Compiler, node: exp.Expr, scope: Scope, *, is_date: bool) -> Typed:
    """Return the time of the run, or its date."""
    column = exp.column("current_date" if is_date else "current_timestamp")
    if scope.look_up([column.name], column) is not None:
        raise unsupported(node, "it may mean the column of this name; use backticks")
    now = literal_micros(0, t.TIMESTAMP)
    if compiler.clock is Clock.RUNNING:
        now = Typed(sql_cast("NOW()", t.TIMESTAMP), t.TIMESTAMP)
    return or_refuse(compiler.casts.cast(now, t.DATE), node) if is_date else now
