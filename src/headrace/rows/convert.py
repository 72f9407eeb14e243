"""Converts values from a file's type to the table's type without loss.

Allowed are Delta's type widening, other encodings of the same type, and casts that fail rather than
change a value. Strings are never parsed as numbers, nor numbers formatted as strings.
"""

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

Convert: TypeAlias = Callable[[pa.Array], pa.Array]

_EXACT_BITS = 32
"""The widest integers that doubles represent without loss."""
_DECIMAL_DIGITS = 76


def converter(source: pa.DataType, target: pa.DataType) -> Convert:
    """Return a function that converts arrays of a file to the table's type.

    It raises `pa.ArrowInvalid` for values that do not fit.

    Raises:
        TypeError: the types are incompatible.
    """
    if source == target:
        return _unchanged
    if isinstance(source, pa.BaseExtensionType):
        inner = converter(source.storage_type, target)
        return lambda array: inner(array.storage)
    if types.is_dictionary(source):
        decoded = converter(source.value_type, target)
        return lambda array: decoded(array.dictionary_decode())
    if types.is_timestamp(source) and types.is_timestamp(target):
        return lambda array: _to_timestamp(array, target)
    if types.is_date32(source) and types.is_timestamp(target) and target.tz is None:
        return lambda array: array.cast(pa.timestamp("s")).cast(target)
    if types.is_integer(source) and types.is_decimal(target):
        # By way of a type in which every integer fits, whatever width the file declares.
        widest = pa.decimal256(_DECIMAL_DIGITS, target.scale)
        return lambda array: array.cast(widest).cast(target)
    if _is_castable(source, target):
        return lambda array: array.cast(target)
    raise TypeError(f"the file has {source}, which is not read as {target}")


def _unchanged(array: pa.Array) -> pa.Array:
    return array


def _is_castable(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether a checked cast either preserves every value or fails."""
    if types.is_null(source):
        return True
    if types.is_integer(source):
        if types.is_floating(target):
            return bool(target.bit_width > source.bit_width <= _EXACT_BITS)
        return bool(types.is_integer(target))
    if types.is_floating(source):
        return types.is_floating(target) and bool(source.bit_width <= target.bit_width)
    if types.is_decimal(source):
        return bool(types.is_decimal(target))
    if types.is_date(source):
        return bool(types.is_date(target))
    return _is_bytes(source) and _is_bytes(target)


def _is_bytes(kind: pa.DataType) -> bool:
    return any(
        test(kind)
        for test in (
            types.is_string,
            types.is_large_string,
            types.is_string_view,
            types.is_binary,
            types.is_large_binary,
            types.is_binary_view,
            types.is_fixed_size_binary,
        )
    )


def _to_timestamp(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the same timestamps in the table's unit.

    Files store moments in UTC, so changing the zone changes no value. Finer units are truncated
    towards the past, as in Spark.
    """
    plain = array.cast(pa.timestamp(array.type.unit))
    try:
        ticks = plain.cast(pa.timestamp(target.unit))
    except pa.ArrowInvalid:
        if array.type.unit != "ns":
            raise  # beyond what the type can hold
        ticks = pc.floor_temporal(plain, unit="microsecond").cast(pa.timestamp(target.unit))
    return ticks.cast(target)
