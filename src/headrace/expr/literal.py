"""The meaning of literals in Spark SQL: numbers by their spelling, cast literals by their type.

The text of a literal enters; a `Literal` leaves. Each function raises `ValueError`, with the
reason, for text that Spark rejects too.
"""

import operator
import re
from collections.abc import Callable
from decimal import Decimal
from math import isinf
from typing import Any

from headrace.expr.decimal_type import own_decimal
from headrace.expr.node import CompareOp, Constant, Literal, Value
from headrace.protocol.cast import (
    UnrepresentableError,
    parse_date,
    parse_float,
    parse_timestamp,
)
from headrace.protocol.schema import DecimalType, PrimitiveType
from headrace.protocol.value import fit_decimal, integer_range, single

_TIMESTAMP = PrimitiveType("timestamp")
_BEYOND_LONG = 2**63
_DIGITS = 38
"""The maximum precision of a decimal."""

_WHOLE = re.compile(r"[0-9]+")
_INTEGERS = {"TINYINT": "byte", "SMALLINT": "short", "INT": "integer", "BIGINT": "long"}
_FOLDED: dict[CompareOp, Callable[[Any, Any], bool]] = {
    CompareOp.EQ: operator.eq,
    CompareOp.NE: operator.ne,
    CompareOp.LT: operator.lt,
    CompareOp.LE: operator.le,
    CompareOp.GT: operator.gt,
    CompareOp.GE: operator.ge,
    CompareOp.SAFE_EQ: operator.eq,
}


def number_literal(text: str, *, sign: int) -> Literal:
    """Parse a number without a suffix: an integer, a decimal (point) or a double (exponent)."""
    if _WHOLE.fullmatch(text):
        if len(text.lstrip("0")) > _DIGITS:
            raise ValueError(f"{text} has more than {_DIGITS} digits")
        return Literal(sign * int(text))
    if "e" in text.lower():
        return Literal(sign * _double(text))
    return Literal(_signed(_decimal(text), sign=sign))


def typed_number(text: str, type_name: str, *, sign: int) -> Literal | None:
    """Parse a number with a suffix or under a cast; None if the cast would change it."""
    if type_name in _INTEGERS:
        return _typed_integer(text, type_name, sign=sign) if _WHOLE.fullmatch(text) else None
    if type_name == "DOUBLE":
        return Literal(sign * _double(text))
    if type_name == "FLOAT":
        return Literal(sign * single(_double(text)))
    return None


def typed_text(text: str, type_name: str) -> Literal | None:
    """Parse a string under a cast or a typed literal such as `DATE '…'`; None if unsupported."""
    try:
        return _typed_text(text, type_name)
    except UnrepresentableError:
        return None


def typed_decimal(text: str, precision: int, scale: int, *, sign: int) -> Literal | None:
    """Parse text as a decimal; None if the type cannot hold it exactly."""
    value = _decimal(text)
    try:
        kind = DecimalType(precision, scale)
        fitted = fit_decimal(value, kind)
    except ValueError:
        return None
    # A literal with the suffix BD looks like a cast to the type that it already has.
    is_own = kind == own_decimal(fitted) and abs(fitted) < _BEYOND_LONG
    return Literal(_signed(fitted, sign=sign), None if is_own else kind)


def fold(left: Literal, op: CompareOp, right: Literal) -> Constant | None:
    """Compare two literals; None if that needs a conversion."""
    if left.value is None or right.value is None:
        both = left.value is None and right.value is None
        return Constant(both if op is CompareOp.SAFE_EQ else None)
    if type(left.value) is not type(right.value) or not isinstance(left.value, bool | int | str):
        return None
    return Constant(_FOLDED[op](left.value, right.value))


def _typed_text(text: str, type_name: str) -> Literal | None:
    match type_name:
        case "DATE":
            return Literal(parse_date(text))
        case "TIMESTAMP" | "TIMESTAMPTZ" | "TIMESTAMPLTZ":
            moment = parse_timestamp(text)
            return Literal(moment, _TIMESTAMP if moment.tzinfo is None else None)
        case "TIMESTAMPNTZ":
            moment = parse_timestamp(text)
            return Literal(moment) if moment.tzinfo is None else None
        case "DOUBLE":
            return Literal(parse_float(text))
        case "TEXT":
            return Literal(text)
        case _:
            return None


def _typed_integer(text: str, type_name: str, *, sign: int) -> Literal:
    value: Value = number_literal(text, sign=sign).value
    least, greatest = integer_range(_INTEGERS[type_name])
    if not isinstance(value, int) or not least <= value <= greatest:
        raise ValueError(f"{text} is not a {type_name}")
    return Literal(value, PrimitiveType(_INTEGERS[type_name]))


def _signed(value: Decimal, *, sign: int) -> Decimal:
    """Apply a sign without arithmetic, which would round to the precision of the context."""
    return value if sign > 0 else value.copy_negate()


def _double(text: str) -> float:
    value = parse_float(text)
    if isinf(value):
        raise ValueError(f"{text} is out of range for a double")
    return value


def _decimal(text: str) -> Decimal:
    value = Decimal(text)
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or not -_DIGITS <= exponent <= _DIGITS - len(digits):
        raise ValueError(f"{text} has more than {_DIGITS} digits")
    return value
