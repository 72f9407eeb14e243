"""Turn the recorded minimum and maximum of a file into bounds that hold for every writer.

Writers truncate long strings and the microseconds of timestamps and differ on NaN, and some
convert decimals through a double or clip them to 64 bits. So the bounds here may be wider than the
recorded extremes; a null bound means that nothing is known.
"""

from collections.abc import Callable
from decimal import Decimal
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from headrace.protocol import light
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType

_CUT_BYTES = 32
"""From this length on, a string's maximum may be only a prefix of the real one."""

_PREFIX_BYTES = 31
"""Strings that start as a cut maximum does agree with it at least up to here."""

_TIE_BREAKER = "\ufffd"
"""Older versions of Delta end a cut maximum with this character, as the greatest of UTF-16.

In UTF-8, characters beyond it, such as emoji, are greater. If the cut divided one, its first half
became a question mark, which is less.
"""
_TIE_BROKEN = rf"\??{_TIE_BREAKER}$"

_CUT_MICROSECONDS = 999
_DOUBLE_DIGITS = 14
"""A decimal with this many digits survives a round trip through a double."""

_DOUBLE_ERROR = light.scalar(Decimal(10) ** -_DOUBLE_DIGITS, pa.decimal256(_DOUBLE_DIGITS, 14))

_MIN_LONG, _GREATEST_LONG = Decimal(-(2**63)), Decimal(2**63 - 1)
_LONG_DIGITS = 19


class Recorded(Enum):
    """What an extreme was recorded for."""

    FOR_ONE_FILE = "one file"
    FOR_MANY_FILES = "many files"
    """It is the extreme of their extremes, and another file's may be the inexact one."""


def lower_bound(
    minimum: pa.Array, data_type: DataType, *, recorded: Recorded = Recorded.FOR_ONE_FILE
) -> pa.Array:
    """Return a bound that no value of the file, or of the files, is below."""
    match data_type:
        case PrimitiveType("float" | "double"):
            return _without_nan(minimum)
        case DecimalType(precision) if precision > _DOUBLE_DIGITS:
            clipped = pc.equal if recorded is Recorded.FOR_ONE_FILE else pc.less_equal
            exact, margin = _with_margin(_unclipped(minimum, _MIN_LONG, clipped))
            return pc.subtract(exact, margin)
        case _:
            return minimum


def upper_bound(
    maximum: pa.Array, data_type: DataType, *, recorded: Recorded = Recorded.FOR_ONE_FILE
) -> pa.Array:
    """Return a bound that no value is above, except NaN. Strings become bytes."""
    match data_type:
        case PrimitiveType("float" | "double"):
            return _without_nan(maximum)
        case DecimalType(precision) if precision > _DOUBLE_DIGITS:
            clipped = pc.equal if recorded is Recorded.FOR_ONE_FILE else pc.greater_equal
            exact, margin = _with_margin(_unclipped(maximum, _GREATEST_LONG, clipped))
            return pc.add(exact, margin)
        case PrimitiveType("timestamp" | "timestamp_ntz"):
            return _beyond_milliseconds(maximum)
        case PrimitiveType("string"):
            return _beyond_prefix(maximum, recorded)
        case _:
            return maximum


def _without_nan(array: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_nan(array), light.null(array.type), array)


def _beyond_milliseconds(array: pa.Array) -> pa.Array:
    ticks = array.cast(pa.int64())
    fits = pc.less_equal(ticks, light.scalar(2**63 - 1 - _CUT_MICROSECONDS))
    widened = pc.add(ticks, light.scalar(_CUT_MICROSECONDS))
    return pc.if_else(fits, widened, light.null(pa.int64())).cast(array.type)


def _beyond_prefix(array: pa.Array, recorded: Recorded) -> pa.Array:
    raw = array.cast(pa.binary())
    long = pc.greater_equal(pc.binary_length(raw), light.scalar(_CUT_BYTES, pa.int32()))
    cut = pc.or_(long, pc.ends_with(raw, pattern=_TIE_BREAKER))
    if not pc.any(cut).as_py():
        return raw
    prefix = pc.replace_substring_regex(raw, pattern=_TIE_BROKEN, replacement="")
    if recorded is Recorded.FOR_MANY_FILES:
        prefix = pc.binary_slice(prefix, 0, _PREFIX_BYTES)
    # UTF-8 never contains the byte 0xFF, so this is above every string with that prefix.
    above = pc.binary_join_element_wise(prefix, light.scalar(b"\xff"), light.scalar(b""))
    return pc.if_else(cut, above, raw)


def _unclipped(
    array: pa.Array, limit: Decimal, is_clipped: Callable[[pa.Array, pa.Scalar], pa.BooleanArray]
) -> pa.Array:
    """Drop extremes at `limit`: delta-rs writes it for any number beyond 64 bits."""
    kind = array.type
    if kind.precision - kind.scale < _LONG_DIGITS:
        return array
    clipped = is_clipped(array, light.scalar(limit, kind))
    return pc.if_else(clipped, light.null(kind), array)


def _with_margin(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    exact = array.cast(pa.decimal256(38, array.type.scale))
    # A margin below one unit of the scale becomes zero, so that short decimals stay exact.
    error = pc.multiply(pc.abs(exact), _DOUBLE_ERROR)
    return exact, error.cast(pa.decimal256(38, array.type.scale), safe=False)
