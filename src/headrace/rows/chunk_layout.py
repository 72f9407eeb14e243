"""The physical layout of flat columns that a compiled loop can decode.

The Parquet and Arrow types of a column enter; a `ChunkLayout` leaves, or None for other columns.
"""

import json
from collections.abc import Mapping

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

_INT = {"Type": "Int", "isSigned": True}
_TEXTS = {
    pa.string(): pa.string(),
    pa.large_string(): pa.string(),
    pa.binary(): pa.binary(),
    pa.large_binary(): pa.binary(),
}
_UNITS = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


class ChunkLayout(msgspec.Struct, frozen=True):
    """The physical form of a column's values."""

    type: pa.DataType
    """The Arrow type that the decoded buffers have."""
    width: int
    """The size of a value in bytes; 0 for byte arrays."""
    is_optional: bool


def chunk_layout(source: pa.DataType, column: pq.ColumnSchema) -> ChunkLayout | None:
    """Return the layout of a column with the Arrow type `source`, or None if Arrow must decode it.

    Only types whose Arrow buffers contain the stored values unchanged are decoded here.
    """
    if column.max_repetition_level or column.max_definition_level > 1:
        return None
    is_optional = column.max_definition_level == 1
    if source in _TEXTS:
        if column.physical_type == "BYTE_ARRAY":
            return ChunkLayout(_TEXTS[source], 0, is_optional)
        return None
    stored = _fixed_types(source).get(column.physical_type)
    if stored is None or not _is_same(stored, json.loads(column.logical_type.to_json())):
        return None
    return ChunkLayout(source, source.bit_width // 8, is_optional)


def _fixed_types(source: pa.DataType) -> Mapping[str, Mapping[str, object]]:
    """Return the physical types that store a type's values unchanged, with their annotations."""
    match source:
        case _ if source == pa.int32():
            return {"INT32": {**_INT, "bitWidth": 32}}
        case _ if source == pa.int64():
            return {"INT64": {**_INT, "bitWidth": 64}}
        case _ if source == pa.float32():
            return {"FLOAT": {}}
        case _ if source == pa.float64():
            return {"DOUBLE": {}}
        case _ if source == pa.date32():
            return {"INT32": {"Type": "Date"}}
        case _ if pa.types.is_timestamp(source) and source.unit in _UNITS:
            return {"INT64": {"Type": "Timestamp", "timeUnit": _UNITS[source.unit]}}
        case _:
            return {}


def _is_same(expected: Mapping[str, object], logical: Mapping[str, object]) -> bool:
    """Whether an annotation is the expected one; integers and floats need none."""
    if logical.get("Type") in (None, "None", "Undefined"):
        return not expected or expected.get("Type") == "Int"
    return bool(expected and expected.items() <= logical.items())
