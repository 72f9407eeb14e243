"""Translates calls with lambdas: the body becomes an expression over its own columns.

A body uses its parameters and columns of the enclosing query. The latter are passed to the kernel
as arguments, so that the body can be evaluated without the query.
"""

from collections.abc import Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES
from headrace.pipeline.translation.catalogue.higher_order import HIGHER_ORDER, Body
from headrace.pipeline.translation.compiler import Compiler
from headrace.pipeline.translation.kernels.body import CAPTURED, VARIABLE
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.scope import Scope, field_of
from headrace.pipeline.translation.typed import Typed, identifier

_NOT_IN_LAMBDA = (
    *(exp.Query, exp.Window, exp.Filter, exp.WithinGroup, exp.Exists),
    *(exp.CurrentDate, exp.CurrentTimestamp),
)
_NONDETERMINISTIC = frozenset(
    {"rand", "random", "randn", "uuid", "shuffle", "now", "current_timestamp", "current_date"}
    | {"curdate", "monotonically_increasing_id"}
)


class LambdaScope(Scope, kw_only=True):
    """The names in the body of a lambda."""

    variables: dict[str, Typed]
    outside: Scope
    captured: dict[str, Typed] = msgspec.field(default_factory=dict)
    """The captured expressions of the enclosing query, by text."""

    def look_up(self, parts: Sequence[str], node: exp.Column) -> Typed | None:
        """Resolve a name; a parameter hides a column."""
        variable = self.variables.get(parts[0].casefold())
        if variable is not None:
            for name in parts[1:]:
                variable = field_of(variable, name, node)
            return variable
        value = self.outside.look_up(parts, node)
        if value is None or value.is_literal:
            return value
        value = self.outside.groups.get(value.text, value)
        self.captured.setdefault(value.text, value)
        place = list(self.captured).index(value.text)
        return Typed(identifier(f"{CAPTURED}{place}"), value.type, nullable=value.nullable)


def compile_higher_order(compiler: Compiler, node: exp.Anonymous, scope: Scope) -> Typed:
    """Compile a call with lambdas.

    Raises:
        Refused: the catalogue does not have it, or it is wrong.
    """
    name = node.name.casefold()
    entry = HIGHER_ORDER.get(name)
    arguments = list(node.expressions)
    first = next(n for n, part in enumerate(arguments) if isinstance(part, exp.Lambda))
    lambdas = arguments[first:]
    if entry is None or not all(isinstance(part, exp.Lambda) for part in lambdas):
        raise unsupported(node, "the catalogue does not have it with a lambda")
    values = [compiler.value(part, scope) for part in arguments[:first]]
    if any(_has_void(value.type) for value in values):
        raise unsupported(node, "an argument has elements of type VOID")

    def body(place: int, types: Sequence[pa.DataType]) -> Body:
        return _body(compiler, lambdas[place], types, scope)

    expression = entry.build(compiler.casts, values, body, len(lambdas))
    if expression is None:
        raise unsupported(node, "the catalogue does not have it for these types")
    return expression


def _has_void(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_void(kind.field(n).type) for n in range(kind.num_fields))
    return bool(kind == t.VOID)


def _body(compiler: Compiler, node: exp.Expr, types: Sequence[pa.DataType], scope: Scope) -> Body:
    names = [part.name.casefold() for part in node.expressions]
    if len(names) > len(types):
        raise wrong(node, f"the lambda takes {len(names)} arguments, not at most {len(types)}")
    if len(set(names)) < len(names):
        raise wrong(node, "two arguments of the lambda have the same name")
    for part in node.this.walk():
        called = part.name.casefold() if isinstance(part, exp.Anonymous) else ""
        is_aggregate_or_project = called in compiler.functions or called in AGGREGATES
        if (
            isinstance(part, _NOT_IN_LAMBDA)
            or is_aggregate_or_project
            or called in _NONDETERMINISTIC
        ):
            raise unsupported(part, "the catalogue does not have it inside a lambda")
    variables = {
        name: Typed(identifier(f"{VARIABLE}{place}"), kind)
        for place, (name, kind) in enumerate(zip(names, types, strict=False))
    }
    inner = LambdaScope(columns=[], variables=variables, outside=scope)
    value = compiler.value(node.this, inner)
    return Body(value=value, names=len(names), captured=tuple(inner.captured.values()))


__all__ = ["LambdaScope", "compile_higher_order"]
