"""What a file's minimum and maximum promise about its values, which is less than they say.

Writers cut long strings and the microseconds of timestamps, differ on NaN, and some of them
send decimals through a double or clip them to 64 bits. The functions here turn a recorded extreme
into a bound that holds for every writer; a null bound means that nothing is known.
"""

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from headrace.protocol.schema import DataType, DecimalType, PrimitiveType

_CUT_BYTES = 32
"""From this length on a string's maximum may be the bare beginning of the real one."""

_CUT_MICROSECONDS = 999
_DOUBLE_DIGITS = 14
"""A decimal of that many digits survives the way through a double unchanged."""

_DOUBLE_ERROR = pa.scalar(Decimal(10) ** -_DOUBLE_DIGITS, pa.decimal256(_DOUBLE_DIGITS, 14))

_LEAST_LONG, _GREATEST_LONG = Decimal(-(2**63)), Decimal(2**63 - 1)
_LONG_DIGITS = 19


def lower_bound(minimum: pa.Array, data_type: DataType) -> pa.Array:
    """What no value of the file is below."""
    match data_type:
        case PrimitiveType("float" | "double"):
            return _without_nan(minimum)
        case DecimalType(precision) if precision > _DOUBLE_DIGITS:
            exact, margin = _with_margin(_unclipped(minimum, _LEAST_LONG))
            return pc.subtract(exact, margin)
        case _:
            return minimum


def upper_bound(maximum: pa.Array, data_type: DataType) -> pa.Array:
    """What no value of the file is above, NaN aside. Strings come back as their bytes."""
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
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)


def _beyond_milliseconds(array: pa.Array) -> pa.Array:
    ticks = array.cast(pa.int64())
    fits = pc.less_equal(ticks, pa.scalar(2**63 - 1 - _CUT_MICROSECONDS))
    widened = pc.add(ticks, pa.scalar(_CUT_MICROSECONDS))
    return pc.if_else(fits, widened, pa.scalar(None, pa.int64())).cast(array.type)


def _beyond_prefix(array: pa.Array) -> pa.Array:
    raw = array.cast(pa.binary())
    cut = pc.greater_equal(pc.binary_length(raw), _CUT_BYTES)
    if not pc.any(cut).as_py():
        return raw
    # No UTF-8 text has the byte 0xFF, so this lies just above every text with that beginning.
    above = pc.binary_join_element_wise(raw, pa.scalar(b"\xff"), pa.scalar(b""))
    return pc.if_else(cut, above, raw)


def _unclipped(array: pa.Array, limit: Decimal) -> pa.Array:
    """Without the extremes that stand for any number beyond 64 bits, as delta-rs writes them."""
    kind = array.type
    if kind.precision - kind.scale < _LONG_DIGITS:
        return array
    clipped = pc.equal(array, pa.scalar(limit, kind))
    return pc.if_else(clipped, pa.scalar(None, kind), array)


def _with_margin(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    exact = array.cast(pa.decimal256(38, array.type.scale))
    # Below a unit of the scale this is nothing, so that short decimals stay exact.
    error = pc.multiply(pc.abs(exact), _DOUBLE_ERROR)
    return exact, error.cast(pa.decimal256(38, array.type.scale), safe=False)
