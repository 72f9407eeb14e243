"""Spark's type rules: names, widening, and the precision of decimals.

Arrow types enter and leave; the constants name Spark's types. Every part of the translation asks
here which type a result has.
"""

from decimal import Decimal

import pyarrow as pa

from headrace.pipeline.arrow_ddl import spark_type, type_text
from headrace.pipeline.translation.interval_type import TIME_OF_DAY, VARIANT, Interval, wider

BOOLEAN, STRING, BINARY, DATE = pa.bool_(), pa.string(), pa.binary(), pa.date32()
BYTE, SHORT, INT, LONG = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE, VOID = pa.float32(), pa.float64(), pa.null()
TIMESTAMP, TIMESTAMP_NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")

INTEGERS = (BYTE, SHORT, INT, LONG)
_DIGITS = {BYTE: 3, SHORT: 5, INT: 10, LONG: 20}
MOST_DIGITS = 38
FLOAT_LIMIT, DOUBLE_LIMIT = Decimal("3.4028234663852886E38"), Decimal("1.7976931348623157E308")
"""The largest numbers that can be written, as Java writes them."""
_MIN_SCALE = 6
"""The scale that Spark keeps when a result has more digits than fit."""


def is_integer(kind: pa.DataType) -> bool:
    """Return whether a type is one of Spark's integers."""
    return kind in INTEGERS


def is_decimal(kind: pa.DataType) -> bool:
    """Return whether a type is a decimal."""
    return bool(pa.types.is_decimal(kind))


def is_float(kind: pa.DataType) -> bool:
    """Return whether a type is FLOAT or DOUBLE."""
    return kind in (FLOAT, DOUBLE)


def is_numeric(kind: pa.DataType) -> bool:
    """Return whether a type is any number."""
    return is_integer(kind) or is_decimal(kind) or is_float(kind)


def is_timestamp(kind: pa.DataType) -> bool:
    """Return whether a type is a timestamp, with a zone or without."""
    return bool(pa.types.is_timestamp(kind))


def is_time(kind: pa.DataType) -> bool:
    """Return whether a type is a date or a timestamp."""
    return kind == DATE or is_timestamp(kind)


def is_interval(kind: pa.DataType) -> bool:
    """Return whether a type is an interval."""
    return isinstance(kind, Interval)


def is_array(kind: pa.DataType) -> bool:
    """Return whether a type is an array."""
    return bool(pa.types.is_list(kind))


def array_of(kind: pa.DataType) -> pa.DataType:
    """Return the array type with elements of a type."""
    return pa.list_(pa.field("element", kind))


def map_of(key: pa.DataType, value: pa.DataType) -> pa.DataType:
    """Return the map type from one type to another."""
    return pa.map_(pa.field("key", key, nullable=False), pa.field("value", value))


def has_float(kind: pa.DataType) -> bool:
    """Return whether a type contains floats, whose zeros and NaNs need care."""
    if pa.types.is_nested(kind):
        return any(has_float(kind.field(i).type) for i in range(kind.num_fields))
    return is_float(kind)


def decimal(precision: int, scale: int) -> pa.DataType:
    """Return a decimal type, bounded as Spark bounds those of results."""
    return pa.decimal128(min(precision, MOST_DIGITS), min(scale, MOST_DIGITS))


def adjusted(precision: int, scale: int) -> pa.DataType:
    """Return Spark's decimal type for a result that may have more digits than fit."""
    if precision <= MOST_DIGITS:
        return pa.decimal128(precision, scale)
    whole = precision - scale
    final_scale = max(MOST_DIGITS - whole, min(scale, _MIN_SCALE))
    return pa.decimal128(MOST_DIGITS, final_scale)


def as_decimal(kind: pa.DataType) -> pa.DataType:
    """Return the decimal type that holds every value of an integer type."""
    return kind if is_decimal(kind) else pa.decimal128(_DIGITS[kind], 0)


def wider_decimal(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the decimal type that holds two; if not all digits fit, the last ones are dropped."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    missing = max(whole + scale - MOST_DIGITS, 0)
    return pa.decimal128(min(whole + scale, MOST_DIGITS), max(scale - missing, 0))


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:  # noqa: C901  (one case a pair)
    """Return the type to which Spark widens both without loss; None if the catalogue has none.

    Strings are not widened here: an implicit cast of a string in Spark is requested as a cast.
    """
    if left == right:
        return left
    if left == VOID:
        return right
    if right == VOID:
        return left
    if is_integer(left) and is_integer(right):
        return max(left, right, key=INTEGERS.index)
    if {left, right} == {FLOAT, DOUBLE}:
        return DOUBLE
    if DOUBLE in (left, right) and is_numeric(left) and is_numeric(right):
        return DOUBLE
    if is_decimal(left) and (is_integer(right) or is_decimal(right)):
        return wider_decimal(left, as_decimal(right))
    if is_decimal(right) and is_integer(left):
        return wider_decimal(as_decimal(left), right)
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if isinstance(left, Interval) and isinstance(right, Interval):
        return wider(left, right)
    if is_array(left) and is_array(right):
        element = common_type(left.value_type, right.value_type)
        return None if element is None else array_of(element)
    if pa.types.is_map(left) and pa.types.is_map(right):
        key = common_type(left.key_type, right.key_type)
        value = common_type(left.item_type, right.item_type)
        return None if key is None or value is None else map_of(key, value)
    return None


def is_orderable(kind: pa.DataType) -> bool:
    """Return whether both runners order, group and compare values of a type in the same way."""
    is_nested = pa.types.is_nested(kind)
    return not is_nested and kind not in (VOID, TIME_OF_DAY, VARIANT)


__all__ = ["spark_type", "type_text"]
