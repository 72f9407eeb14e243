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


def widens(given: pa.DataType, promised: pa.DataType) -> bool:
    """Return whether `promised` can represent every value of `given`, also in nested types."""
    if given == promised or pa.types.is_null(given):
        return True
    if pa.types.is_list(given) and pa.types.is_list(promised):
        return widens(given.value_type, promised.value_type)
    if pa.types.is_map(given) and pa.types.is_map(promised):
        keys, items = (given.key_type, promised.key_type), (given.item_type, promised.item_type)
        return widens(*keys) and widens(*items)
    if pa.types.is_struct(given) and pa.types.is_struct(promised):
        same = [field.name for field in given] == [field.name for field in promised]
        return same and all(
            widens(inner.type, outer.type) for inner, outer in zip(given, promised, strict=True)
        )
    before, after = _delta(given), _delta(promised)
    return before is not None and after is not None and is_widening(before, after)


def _delta(data_type: pa.DataType) -> DataType | None:
    if pa.types.is_decimal(data_type):
        return DecimalType(data_type.precision, data_type.scale)
    name = _DELTA_NAMES.get(data_type)
    return None if name is None else PrimitiveType(name)
