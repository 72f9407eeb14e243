"""What flows between the operators of a plan: columns, and rows that are still a scan's own.

A column remembers the sources that it was computed from, and, as long as nothing was done to it,
its place in its scan. So a condition further up can be said over the scan itself.
"""

import msgspec
from substrait.algebra_pb2 import Expression
from substrait.type_pb2 import Type

from headrace.pipeline.analysis.expression import children, field_index, subplans

_INTEGERS = frozenset({"i8", "i16", "i32", "i64"})
"""What Substrait calls the types of whole numbers."""


class Column(msgspec.Struct, frozen=True):
    """A column between two operators: its name, its sources, and its scan if it is unchanged."""

    name: str
    sources: frozenset[str]
    type: str = ""
    """Its type, as Substrait calls it, where that is known."""
    origin: tuple[int, int] | None = None
    """The scan that it comes from and its place there, if nothing was done to it since."""


class Scan(msgspec.Struct):
    """One scan, with the conditions that every row of it must meet to be of use."""

    relation: str
    names: tuple[str, ...]
    types: tuple[Type, ...]
    needed: set[int] = msgspec.field(default_factory=set)
    conditions: list[Expression] = msgspec.field(default_factory=list)
    """Over the scan's own columns."""


class Rows(msgspec.Struct, frozen=True):
    """What an operator gives: columns, and the scan whose rows they still are, one by one."""

    columns: tuple[Column, ...]
    scan: int | None = None


def kind_of(found: Type) -> str:
    """What Substrait calls a type."""
    return found.WhichOneof("kind") or ""


def type_of(expression: Expression, rows: Rows) -> str:
    """The type of an expression; of a whole number that was made a double, that of the number."""
    place = field_index(expression)
    if place is not None:
        return rows.columns[place].type
    match expression.WhichOneof("rex_type"):
        case "cast":
            inner = type_of(expression.cast.input, rows)
            return inner if inner in _INTEGERS else kind_of(expression.cast.type)
        case "scalar_function":
            return kind_of(expression.scalar_function.output_type)
        case "literal":
            return expression.literal.WhichOneof("literal_type") or ""
        case "if_then":
            return type_of(expression.if_then.ifs[0].then, rows)
        case _:
            return ""


def onto_scan(condition: Expression, columns: tuple[Column, ...]) -> Expression | None:
    """A condition over an operator's columns, said over those of the scan itself."""
    moved = Expression()
    moved.CopyFrom(condition)
    waiting = [moved]
    while waiting:
        expression = waiting.pop()
        place = field_index(expression)
        if place is not None:
            origin = columns[place].origin
            if origin is None:
                return None
            expression.selection.direct_reference.struct_field.field = origin[1]
        elif any(subplans(expression)):
            return None
        waiting += children(expression)
    return moved
