"""The decimal type in which Spark compares numbers, and the rounding that this causes.

A decimal has at most 38 digits. If the integer digits of one side and the fractional digits of the
other exceed that together, Spark drops fractional digits: it rounds both sides half up to the
remaining scale, then compares them.
"""

from collections.abc import Iterable
from decimal import Decimal

from headrace.expr.node import Literal
from headrace.protocol.cast import unscaled
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType
from headrace.protocol.value import INTEGER_BITS, integer_range

MAX_DIGITS = 38
_INTEGER_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}


def column_decimal(data_type: DataType) -> DecimalType | None:
    """Return the decimal type that Spark uses for a column; None if it has no exact numbers."""
    match data_type:
        case DecimalType():
            return data_type
        case PrimitiveType(name) if name in INTEGER_BITS:
            return DecimalType(_INTEGER_DIGITS[name], 0)
        case _:
            return None


def literal_decimals(literal: Literal) -> tuple[DecimalType, ...]:
    """Return the decimal types that Spark may use for an exact number in a comparison.

    A plain integer literal has the precision of its digits, a cast one that of its type. In SQL
    text the two look alike, so both are possible for a literal with a declared type.
    """
    smallest = own_decimal(literal.value)
    if smallest is None:
        return ()
    declared = None if literal.declared is None else column_decimal(literal.declared)
    return (smallest,) if declared is None else (smallest, declared)


def listed_decimal(literal: Literal) -> DecimalType | None:
    """Return the decimal type of an exact number in a list; integers use that of their type."""
    if literal.declared is not None:
        return column_decimal(literal.declared)
    if isinstance(literal.value, int):
        for name in ("integer", "long"):
            least, greatest = integer_range(name)
            if least <= literal.value <= greatest:
                return DecimalType(_INTEGER_DIGITS[name], 0)
    return own_decimal(literal.value)


def common_scale(types: Iterable[DecimalType]) -> int:
    """Return the number of fractional digits that Spark compares."""
    known = tuple(types)
    whole = max(kind.precision - kind.scale for kind in known)
    return min(max(kind.scale for kind in known), max(MAX_DIGITS - whole, 0))


def rounded(units: int, *, digits: int) -> int:
    """Drop the last `digits` digits of `units`, rounding half up."""
    if digits <= 0:
        return units
    step = int(10**digits)
    sign = -1 if units < 0 else 1
    return sign * ((abs(units) + step // 2) // step)


def rounded_literal(value: int | Decimal, *, scale: int) -> int | None:
    """Return the literal in units of `10**-scale`, rounded half up; None if it overflows."""
    if isinstance(value, int):
        units = value * 10**scale
    else:
        exponent = value.as_tuple().exponent
        literal_scale = max(-exponent if isinstance(exponent, int) else 0, scale)
        units = rounded(unscaled(value, scale=literal_scale)[0], digits=literal_scale - scale)
    return units if abs(units) < 10**MAX_DIGITS else None


def own_decimal(value: object) -> DecimalType | None:
    """Return the smallest decimal type that holds an exact number; None for any other value."""
    match value:
        case bool():
            return None
        case int():
            return DecimalType(len(str(abs(value))), 0)
        case Decimal():
            _, digits, exponent = value.as_tuple()
            scale = max(-exponent, 0) if isinstance(exponent, int) else 0
            whole = len(digits) + max(exponent, 0) if isinstance(exponent, int) else len(digits)
            return DecimalType(max(whole, scale, 1), scale)
        case _:
            return None
