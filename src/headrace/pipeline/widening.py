"""Decides whether an Arrow type widens to another, by the rules of Delta's type widening."""

import pyarrow as pa

from headrace.protocol.schema import DataType, DecimalType, PrimitiveType
from headrace.protocol.widening import is_widening

_DELTA_NAMES = {
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp_ntz",
}


def widens(actual: pa.DataType, promised: pa.DataType) -> bool:
    """Return whether `promised` can represent every value of `actual`, also in nested types."""
    if actual == promised or pa.types.is_null(actual):
        return True
    if pa.types.is_list(actual) and pa.types.is_list(promised):
        return widens(actual.value_type, promised.value_type)
    if pa.types.is_map(actual) and pa.types.is_map(promised):
        keys, items = (actual.key_type, promised.key_type), (actual.item_type, promised.item_type)
        return widens(*keys) and widens(*items)
    if pa.types.is_struct(actual) and pa.types.is_struct(promised):
        has_same_names = [field.name for field in actual] == [field.name for field in promised]
        return has_same_names and all(
            widens(inner.type, outer.type) for inner, outer in zip(actual, promised, strict=True)
        )
    before, after = _delta_type(actual), _delta_type(promised)
    return before is not None and after is not None and is_widening(before, after)


def _delta_type(data_type: pa.DataType) -> DataType | None:
    """Return the Delta type of an Arrow type; None if no widening applies to it."""
    if pa.types.is_decimal(data_type):
        return DecimalType(data_type.precision, data_type.scale)
    name = _DELTA_NAMES.get(data_type)
    return None if name is None else PrimitiveType(name)
