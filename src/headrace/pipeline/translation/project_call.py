"""Translates calls of a project's functions, of every kind, with positional and named arguments.

A parsed call enters; a typed DataFusion expression leaves. Its arguments are in the declared order
and cast to the declared types.
"""

from collections.abc import Sequence

from sqlglot import exp

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.functions.definition import Function, FunctionKind
from headrace.pipeline.translation.catalogue.over import Over
from headrace.pipeline.translation.compiler import Compiler
from headrace.pipeline.translation.refusal import nearest, unsupported, wrong
from headrace.pipeline.translation.scope import Scope
from headrace.pipeline.translation.typed import Typed, identifier


def project_function(compiler: Compiler, node: exp.Anonymous, scope: Scope, over: Over) -> Typed:
    """Compile a call in an expression; DataFusion knows the function by its overload name.

    Raises:
        Refused: its kind is not allowed here, or it does not take these arguments.
    """
    function = compiler.functions[node.name.casefold()]
    _check_use(function, node, over)
    if any(isinstance(part, exp.Distinct) for part in node.expressions):
        raise unsupported(node, "the catalogue has DISTINCT only in Spark's own aggregates")
    inner = scope
    if function.kind is FunctionKind.AGGREGATE and over.window is None:
        inner = scope.before_grouping()
    values = project_arguments(compiler, function, node, inner)
    scope.is_correlated |= inner.is_correlated
    expression = _call(function, values, over)
    if function.kind is FunctionKind.AGGREGATE:
        scope.aggregates.append(expression)
    return expression


def project_arguments(
    compiler: Compiler, function: Function, node: exp.Anonymous, scope: Scope
) -> list[Typed]:
    """Return the arguments of a call in the declared order, cast to the declared types.

    Raises:
        Refused: the function does not take these arguments.
    """
    arguments = list(node.expressions)
    types = function.signature.argument_types(len(arguments))
    if types is None:
        raise wrong(node, f"it takes {function.signature}, not {len(arguments)} arguments")
    names = [part.this.name if isinstance(part, exp.Kwarg) else None for part in arguments]
    try:
        places = function.positions(names)
    except ValueError as error:
        unknown = [n for n in names if n and n.casefold() not in function.argument_names]
        similar = nearest(unknown[0], function.argument_names) if unknown else None
        raise wrong(node, str(error), similar) from error
    cast_values: dict[int, Typed] = {}
    for place, part in zip(places, arguments, strict=True):
        value = compiler.value(part.expression if isinstance(part, exp.Kwarg) else part, scope)
        cast = compiler.casts.cast(value, types[place])
        if cast is None:
            reason = (
                f"argument {place + 1} is {type_text(types[place])}, not {type_text(value.type)}"
            )
            raise unsupported(node, reason)
        cast_values[place] = cast
    return [cast_values[place] for place in range(len(arguments))]


def is_project_aggregate(functions: Catalog, node: exp.Expr) -> bool:
    """Return whether a node calls an aggregate of the project."""
    if not isinstance(node, exp.Anonymous) or node.name.casefold() not in functions:
        return False
    return functions[node.name.casefold()].kind is FunctionKind.AGGREGATE


def _check_use(function: Function, node: exp.Expr, over: Over) -> None:
    has_window, has_filter = over.window is not None, over.condition is not None
    if function.kind is FunctionKind.TABLE:
        raise wrong(node, "it returns a table: call it in FROM")
    if function.kind is FunctionKind.SCALAR and (has_window or has_filter):
        raise wrong(node, "it is a scalar function: it takes neither OVER nor FILTER")
    if function.kind is FunctionKind.WINDOW and "ORDER BY" not in (over.window or ""):
        raise wrong(node, "it is a window function: it needs OVER (... ORDER BY ...)")
    if has_window and has_filter:
        raise unsupported(node, "the catalogue has no FILTER over a window")


def _call(function: Function, values: Sequence[Typed], over: Over) -> Typed:
    texts = ", ".join(value.text for value in values)
    count = len(values)
    if over.window is not None:
        text = f"{identifier(function.over_name(count))}({texts}) OVER ({over.window})"
    elif function.kind is FunctionKind.AGGREGATE:
        parts = ", ".join(f"'a{place}', {value.text}" for place, value in enumerate(values))
        rows = f"array_agg(named_struct({parts}))"
        if over.condition is not None:
            rows += f" FILTER (WHERE {over.condition})"
        text = f"{identifier(function.rows_name(count))}({rows})"
    else:
        text = f"{identifier(function.overload(count))}({texts})"
    return Typed(text, function.signature.returns, can_fail=True)
