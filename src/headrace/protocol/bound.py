"""Turn the recorded minimum and maximum of a file into bounds that hold for every writer.

Writers truncate long strings and the microseconds of timestamps and differ on NaN, and some
convert decimals through a double or clip them to 64 bits. So the bounds here may be wider than the
recorded extremes; a null bound means that nothing is known.
"""

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from headrace.protocol import light
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType

_CUT_BYTES = 32
"""From this length on, a string's maximum may be only a prefix of the real one."""

_CUT_MICROSECONDS = 999
_DOUBLE_DIGITS = 14
"""A decimal with this many digits survives a round trip through a double."""

_DOUBLE_ERROR = light.scalar(Decimal(10) ** -_DOUBLE_DIGITS, pa.decimal256(_DOUBLE_DIGITS, 14))

_MIN_LONG, _GREATEST_LONG = Decimal(-(2**63)), Decimal(2**63 - 1)
_LONG_DIGITS = 19


def lower_bound(minimum: pa.Array, data_type: DataType) -> pa.Array:
    """Return a bound that no value of the file is below."""
    match data_type:
        case PrimitiveType("float" | "double"):
            return _without_nan(minimum)
        case DecimalType(precision) if precision > _DOUBLE_DIGITS:
            exact, margin = _with_margin(_unclipped(minimum, _MIN_LONG))
            return pc.subtract(exact, margin)
        case _:
            return minimum


def upper_bound(maximum: pa.Array, data_type: DataType) -> pa.Array:
    """Return a bound that no value of the file is above, except NaN. Strings become bytes."""
    match data_type:
        case PrimitiveType("float" | "double"):
            return _without_nan(maximum)
        case DecimalType(precision) if precision > _DOUBLE_DIGITS:
            exact, margin = _with_margin(_unclipped(maximum, _GREATEST_LONG))
            return pc.add(exact, margin)
        case PrimitiveType("timestamp" | "timestamp_ntz"):
            return _beyond_milliseconds(maximum)
        case PrimitiveType("string"):
            return _beyond_prefix(maximum)
        case _:
            return maximum


def _without_nan(array: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_nan(array), light.null(array.type), array)


def _beyond_milliseconds(array: pa.Array) -> pa.Array:
    ticks = array.cast(pa.int64())
    fits = pc.less_equal(ticks, light.scalar(2**63 - 1 - _CUT_MICROSECONDS))
    widened = pc.add(ticks, light.scalar(_CUT_MICROSECONDS))
    return pc.if_else(fits, widened, light.null(pa.int64())).cast(array.type)


def _beyond_prefix(array: pa.Array) -> pa.Array:
    raw = array.cast(pa.binary())
    cut = pc.greater_equal(pc.binary_length(raw), light.scalar(_CUT_BYTES, pa.int32()))
    if not pc.any(cut).as_py():
        return raw
    # UTF-8 never contains the byte 0xFF, so this is above every string with that prefix.
    above = pc.binary_join_element_wise(raw, light.scalar(b"\xff"), light.scalar(b""))
    return pc.if_else(cut, above, raw)


def _unclipped(array: pa.Array, limit: Decimal) -> pa.Array:
    """Drop extremes equal to `limit`: delta-rs writes it for any number beyond 64 bits."""
    kind = array.type
    if kind.precision - kind.scale < _LONG_DIGITS:
        return array
    clipped = pc.equal(array, light.scalar(limit, kind))
    return pc.if_else(clipped, light.null(kind), array)


def _with_margin(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    exact = array.cast(pa.decimal256(38, array.type.scale))
    # A margin below one unit of the scale becomes zero, so that short decimals stay exact.
    error = pc.multiply(pc.abs(exact), _DOUBLE_ERROR)
    return exact, error.cast(pa.decimal256(38, array.type.scale), safe=False)
