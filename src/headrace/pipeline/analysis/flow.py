"""What flows between the operators of a plan: columns, and rows that still belong to one scan.

A column records the sources that it was computed from and, as long as it is unchanged, its position
in its scan. So a condition further up can be rewritten over the columns of the scan.
"""

import msgspec
from substrait.algebra_pb2 import Expression
from substrait.type_pb2 import Type

from headrace.pipeline.analysis.plan_expression import children, field_index, subplans

_INTEGERS = frozenset({"i8", "i16", "i32", "i64"})
"""Substrait's names for the integer types."""


class Column(msgspec.Struct, frozen=True):
    """A column between two operators: its name, its sources, and its scan if it is unchanged."""

    name: str
    sources: frozenset[str]
    type: str = ""
    """Its Substrait type name, where known."""
    origin: tuple[int, int] | None = None
    """Its scan and its position there, if it is unchanged since."""


class Scan(msgspec.Struct):
    """One scan, with the conditions that a row must meet to be needed."""

    relation: str
    names: tuple[str, ...]
    types: tuple[Type, ...]
    needed: set[int] = msgspec.field(default_factory=set)
    conditions: list[Expression] = msgspec.field(default_factory=list)
    """Over the scan's own columns."""


class Rows(msgspec.Struct, frozen=True):
    """The output of an operator: columns, and the scan if its rows are still those of one scan."""

    columns: tuple[Column, ...]
    scan: int | None = None


def kind_of(substrait_type: Type) -> str:
    """Return Substrait's name of a type."""
    return substrait_type.WhichOneof("kind") or ""


def type_of(expression: Expression, rows: Rows) -> str:
    """Return the type of an expression; for a cast of an integer, the type of the integer."""
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
    """Rewrite a condition over an operator's columns to the scan's; None if not possible."""
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
