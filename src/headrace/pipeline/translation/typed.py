"""DataFusion SQL expressions with their Spark types.

`Typed` is what every part of the translation takes and returns: text, type, and whether evaluation
can fail. The functions build literals, casts, native expressions and kernel calls.
"""

from typing import Any

import msgspec
import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.interval_type import carrier
from headrace.pipeline.translation.kernel import KernelCall


class Typed(msgspec.Struct, frozen=True):
    """An expression: its text for DataFusion, and its Spark type."""

    text: str
    type: pa.DataType
    is_literal: bool = False
    value: Any = None
    """The value of a literal."""
    can_fail: bool = False
    """Whether it raises for some values, so that it must be evaluated only where Spark does."""
    nullable: bool = True
    is_null: bool = False
    """Whether it is a null literal, or a function of one."""
    is_present: bool = False
    """Whether Spark knows that it is never null: it then evaluates no test for null."""
    null_with: tuple[str, ...] | None = None
    """This is null exactly where at least one of these expressions is; None means itself."""

    def is_text(self) -> bool:
        """Return whether it is a string literal that is not null."""
        return self.is_literal and isinstance(self.value, str)


_SQL_TYPES = {
    t.BOOLEAN: "BOOLEAN",
    t.BYTE: "TINYINT",
    t.SHORT: "SMALLINT",
    t.INT: "INT",
    t.LONG: "BIGINT",
    t.FLOAT: "FLOAT",
    t.DOUBLE: "DOUBLE",
    t.STRING: "VARCHAR",
    t.DATE: "DATE",
}


def quoted(text: str) -> str:
    """Return a string literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a quoted name."""
    return '"' + name.replace('"', '""') + '"'


def sql_cast(text: str, kind: pa.DataType) -> str:
    """Return DataFusion's cast of an expression to a type."""
    if t.is_decimal(kind):
        return f"CAST({text} AS DECIMAL({kind.precision}, {kind.scale}))"
    if kind in _SQL_TYPES:
        return f"CAST({text} AS {_SQL_TYPES[kind]})"
    return f"arrow_cast({text}, {quoted(arrow_name(kind))})"


def arrow_name(kind: pa.DataType) -> str:
    """Return the name of a type in DataFusion's `arrow_cast`."""
    if kind == t.BINARY:
        return "Binary"
    if kind == t.STRING:
        return "Utf8"
    if t.is_timestamp(kind):
        zone = 'Some("UTC")' if kind.tz else "None"
        return f"Timestamp(Microsecond, {zone})"
    raise KeyError(str(kind))


def can_cast_natively(kind: pa.DataType) -> bool:
    """Return whether `sql_cast` supports a type."""
    return t.is_decimal(kind) or kind in _SQL_TYPES or kind == t.BINARY or t.is_timestamp(kind)


def call(
    kernel: str,
    gives: pa.DataType,
    *arguments: Typed,
    parameters: tuple[str, ...] = (),
    can_fail: bool = False,
) -> Typed:
    """Call a kernel; without arguments, a kernel cannot know how many rows to return."""
    takes = tuple(carrier(argument.type) for argument in arguments)
    kernel_call = KernelCall(kernel, parameters, takes, carrier(gives))
    texts = ", ".join(argument.text for argument in arguments)
    fails = can_fail or any(argument.can_fail for argument in arguments)
    return Typed(f"{identifier(kernel_call.sql_name)}({texts})", gives, can_fail=fails)


def native(template: str, gives: pa.DataType, *arguments: Typed, can_fail: bool = False) -> Typed:
    """Build a DataFusion expression, with `{0}`, `{1}` for the arguments."""
    fails = can_fail or any(argument.can_fail for argument in arguments)
    text = template.format(*(argument.text for argument in arguments))
    return Typed(text, gives, can_fail=fails)


def case(
    kind: pa.DataType, *branches: tuple[str, str], default: str | None = None, can_fail: bool
) -> Typed:
    """Build a CASE that evaluates only the chosen branch.

    DataFusion rewrites a CASE of booleans to AND and OR, which evaluate branches that are not
    chosen; it keeps one that compares an operand.
    """
    operand = "TRUE " if can_fail and kind == t.BOOLEAN else ""
    chosen = " ".join(f"WHEN {test} THEN {value}" for test, value in branches)
    last = "" if default is None else f" ELSE {default}"
    return Typed(f"CASE {operand}{chosen}{last} END", kind, can_fail=can_fail)


def null_of(kind: pa.DataType) -> Typed:
    """Return the null of a type."""
    if can_cast_natively(kind):
        return Typed(sql_cast("NULL", kind), kind, is_literal=True, is_null=True)
    text = call("null_of", kind, literal_int(0)).text
    return Typed(text, kind, is_literal=True, is_null=True)


def is_known_present(value: Typed) -> bool:
    """Return whether Spark knows that a value is never null."""
    is_constant = value.is_literal and value.value is not None
    return value.is_present or is_constant or not value.nullable


def present(value: Typed) -> Typed:
    """Mark a value as never null."""
    return msgspec.structs.replace(value, is_present=True)


def null_test(value: Typed, *, negated: bool = False) -> Typed:
    """Build IS NULL or IS NOT NULL, which evaluates only what Spark evaluates."""
    if value.can_fail and is_known_present(value):
        return literal_bool(value=negated)
    word = "IS NOT NULL" if negated else "IS NULL"
    return present(native(f"({{0}} {word})", t.BOOLEAN, value))


def computed(value: Typed) -> Typed:
    """Mark a value as computed: next to a decimal, only literals get fewer digits."""
    return msgspec.structs.replace(value, is_literal=False)


def literal_int(value: int, kind: pa.DataType = t.INT) -> Typed:
    """Return an integer literal."""
    return Typed(sql_cast(str(value), kind), kind, is_literal=True, value=value)


def literal_text(value: str) -> Typed:
    """Return a string literal."""
    return Typed(quoted(value), t.STRING, is_literal=True, value=value, nullable=False)


def literal_bool(*, value: bool) -> Typed:
    """Return a boolean literal."""
    return Typed("TRUE" if value else "FALSE", t.BOOLEAN, is_literal=True, value=value)


def literal_micros(micros: int, kind: pa.DataType) -> Typed:
    """Return a time literal, given in microseconds since 1970."""
    number = sql_cast(str(micros), t.LONG)
    return Typed(sql_cast(number, kind), kind, is_literal=True, value=micros)


def literal_days(days: int) -> Typed:
    """Return a date literal, given in days since 1970."""
    number = sql_cast(str(days), t.INT)
    return Typed(f"arrow_cast({number}, 'Date32')", t.DATE, is_literal=True, value=days)
