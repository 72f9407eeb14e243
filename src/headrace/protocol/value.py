"""Convert partition values from the text in the log to values of their column's type.

The empty string is null for every type. Timestamps may have a zone; a `timestamp` without one is
in UTC.
"""

import struct
from datetime import date, datetime
from decimal import Decimal
from math import copysign, inf
from typing import TypeAlias

from headrace.errors import PartitionValueError
from headrace.protocol.cast import (
    as_instant,
    from_unscaled,
    parse_boolean,
    parse_date,
    parse_decimal,
    parse_float,
    parse_integer,
    parse_timestamp,
    unscaled,
)
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType

PartitionValue: TypeAlias = bool | int | float | Decimal | str | bytes | date | datetime | None

INTEGER_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
"""The width of each integer type in bits."""

FLOATS = (PrimitiveType("float"), PrimitiveType("double"))
"""The types that have NaN."""

_ORDERED = frozenset(
    (
        *("byte", "short", "integer", "long", "float", "double"),
        *("boolean", "string", "date", "timestamp", "timestamp_ntz"),
    )
)
_DECIMAL_MAX_ADJUSTED = 38


def typed_value(text: str | None, data_type: DataType, *, column: str) -> PartitionValue:
    """Return the typed value of a partition's text.

    Raises:
        PartitionValueError: the text is not of the type.
    """
    if not text:
        return None
    try:
        return _typed(text, data_type)
    except ValueError as error:
        raise PartitionValueError(column=column, value=text, type_name=str(data_type)) from error


def is_ordered(data_type: DataType) -> bool:
    """Whether Headrace compares values of the type with each other."""
    match data_type:
        case DecimalType():
            return True
        case PrimitiveType(name):
            return name in _ORDERED
        case _:
            return False


def single(value: float) -> float:
    """Round to the nearest 32-bit float."""
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return copysign(inf, value)
    return rounded


def integer_range(name: str) -> tuple[int, int]:
    """Return the least and greatest value of an integer type."""
    half = 1 << (INTEGER_BITS[name] - 1)
    return -half, half - 1


def fit_decimal(value: Decimal, data_type: DecimalType) -> Decimal:
    """Return the same number at the type's scale.

    Raises:
        ValueError: the type cannot hold the number exactly.
    """
    # A huge exponent would be expanded digit by digit.
    if value.is_finite() and abs(value.adjusted()) <= 2 * _DECIMAL_MAX_ADJUSTED:
        units, exact = unscaled(value, scale=data_type.scale)
        if exact and abs(units) < 10**data_type.precision:
            return from_unscaled(units, scale=data_type.scale)
    raise ValueError(f"{value} is not a {data_type}")


def _typed(text: str, data_type: DataType) -> PartitionValue:  # noqa: C901  (one case a type)
    match data_type:
        case DecimalType():
            return fit_decimal(parse_decimal(text), data_type)
        case PrimitiveType("string"):
            return text
        case PrimitiveType("binary"):
            return text.encode()
        case PrimitiveType("boolean"):
            return parse_boolean(text)
        case PrimitiveType("byte" | "short" | "integer" | "long" as name):
            return _integer(text, name)
        case PrimitiveType("float"):
            return single(parse_float(text))
        case PrimitiveType("double"):
            return parse_float(text)
        case PrimitiveType("date"):
            return parse_date(text)
        case PrimitiveType("timestamp"):
            return as_instant(parse_timestamp(text))
        case PrimitiveType("timestamp_ntz"):
            return parse_timestamp(text).replace(tzinfo=None)
        case PrimitiveType(name) if name.startswith(("string", "char", "varchar")):
            return text
        case _:
            raise ValueError(f"{data_type} has no text form")


def _integer(text: str, name: str) -> int:
    value = parse_integer(text)
    least, greatest = integer_range(name)
    if not least <= value <= greatest:
        raise ValueError(f"{value} is not a {name}")
    return value
