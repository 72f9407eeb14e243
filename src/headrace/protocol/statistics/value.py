"""Convert the Python values of one leaf column of many files to a typed Arrow column.

A value of the wrong type, or one that does not fit the type, becomes null.
"""

from decimal import Context, Decimal
from types import NoneType
from typing import Any

import pyarrow as pa

from headrace.protocol import light
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.cast import parse_float
from headrace.protocol.schema import DecimalType

_CONVERT_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError)
_WIDE = Context(prec=80)


def array_of(values: list[Any], target: pa.DataType, accepted: type) -> pa.Array:
    """Convert the values of the accepted type; others become null."""
    # Compare types exactly: True is an int in Python, but not a number in JSON.
    if {NoneType, accepted}.issuperset(map(type, values)):
        try:
            return light.array(values, target)
        except _CONVERT_ERRORS:
            pass
    typed = (value if type(value) is accepted else None for value in values)
    return light.array([_or_none(value, target) for value in typed], target)


def double_array(values: list[Any]) -> pa.DoubleArray:
    """Convert numbers, and strings for the numbers that JSON cannot express, to doubles."""
    return light.array([_float_or_none(value) for value in values], pa.float64())


def _float_or_none(value: Any) -> float | None:
    try:
        if isinstance(value, str):
            return parse_float(value)
        return float(value) if type(value) in (int, float, Decimal) else None
    except (ValueError, OverflowError):
        return None


def decimal_array(values: list[Any], data_type: DecimalType, rounding: str) -> pa.Array:
    """Convert decimals and integers, rounded to the type if they have more digits."""
    target = arrow_type(data_type)
    try:
        array = light.array(values, target)
    except _CONVERT_ERRORS:
        array = None
    # Arrow does not detect every loss of digits or every overflow.
    if array is not None and array.to_pylist() == values:
        return array
    return light.array([_rounded(value, data_type, rounding) for value in values], target)


def _rounded(value: Any, data_type: DecimalType, rounding: str) -> Decimal | None:
    if type(value) is int:
        value = Decimal(value)
    # A huge exponent would be expanded digit by digit.
    if type(value) is not Decimal or not value.is_finite() or abs(value.adjusted()) > _WIDE.prec:
        return None
    try:
        rounded = value.quantize(Decimal((0, (1,), -data_type.scale)), rounding, _WIDE)
    except ArithmeticError:
        return None
    return rounded if rounded.adjusted() < data_type.precision - data_type.scale else None


def _or_none(value: Any, target: pa.DataType) -> Any:
    try:
        light.scalar(value, target)
    except _CONVERT_ERRORS:
        return None
    return value
