"""Encode Arrow columns as Avro records, column by column instead of record by record.

Each field becomes binary arrays that hold its encoded bytes, one value per record. They are joined
row by row, so the records of any range of rows are one slice of the result. The bytes are those
that fastavro writes for the same values.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.avro.varint import write_long
from headrace.protocol import light
from headrace.protocol.state_schema import Schema

EncodedPart: TypeAlias = bytes | pa.LargeBinaryArray
"""Encoded bytes: the same for all rows, or one value per row without nulls."""

_BINARY = pa.large_binary()
_NULL, _VALUE = write_long(0), write_long(1)
"""The branches of a union of null and one other type."""
_END = b"\x00"
"""Ends a map or an array."""
_MIN_OF_LENGTH = np.array([1 << (7 * n) for n in range(1, 10)], np.uint64)
"""The least number that takes 2, 3, … 10 bytes."""


class EncodedRecords:
    """Consecutive records, each a range of the same bytes."""

    def __init__(self, records: pa.LargeBinaryArray) -> None:
        self._offsets, data = _content(records)
        self._data = memoryview(data)

    def body(self, start: int, stop: int) -> bytes:
        """Return the records of the rows from `start` to `stop`, as the body of a block."""
        return bytes(self._data[self._offsets[start] : self._offsets[stop]])


def encode_columns(columns: Mapping[str, pa.Array], schema: Schema) -> EncodedRecords:
    """Encode the rows of columns, named after the fields of a record schema.

    A field without a column has its default in every record. A column may be dictionary-encoded.
    Unions are of null and one other type, null first.

    Raises:
        ValueError: a column is missing and has no default, or a required field has a null.
    """
    size = len(next(iter(columns.values())))
    parts: list[EncodedPart] = []
    for field in schema["fields"]:
        name = field["name"]
        if name in columns:
            parts += _parts(field["type"], columns[name])
        elif "default" in field:
            parts.append(_default(field["type"], field["default"]))
        else:
            raise ValueError(f"there is no column {name}, and it has no default")
    return EncodedRecords(_joined(parts, size))


def _default(kind: Any, value: Any) -> bytes:
    match kind, value:
        case (["null", _], None) | ("boolean", False):
            return _NULL
        case _:
            raise ValueError(f"{value!r} is not supported as the default of {kind}")


def _parts(kind: Any, values: pa.Array) -> list[EncodedPart]:
    if pa.types.is_dictionary(values.type):
        encoded = _joined(_parts(kind, values.dictionary), len(values.dictionary))
        return [encoded.take(values.indices)]
    if isinstance(kind, list):
        return _optional(kind, values)
    if values.null_count:
        raise ValueError(f"{values.null_count} values of a required field are null")
    match kind:
        case "string":
            lengths = pc.binary_length(values).cast(pa.int64())
            return [_longs(light.to_numpy(lengths)), values.cast(pa.large_string()).cast(_BINARY)]
        case "int" | "long":
            return [_longs(light.to_numpy(values.cast(pa.int64())))]
        case "boolean":
            return [_longs_of_booleans(light.to_numpy(values))]
        case {"type": "map", "values": inner}:
            start, stop, counts = _ranges(values)
            keys, items = (side.slice(start, stop - start) for side in (values.keys, values.items))
            return _items(counts, [*_parts("string", keys), *_parts(inner, items)])
        case {"type": "array", "items": inner}:
            start, stop, counts = _ranges(values)
            return _items(counts, _parts(inner, values.values.slice(start, stop - start)))
        case {"type": "record", "fields": fields}:
            by_field = (_parts(f["type"], pc.struct_field(values, [f["name"]])) for f in fields)
            return [part for parts in by_field for part in parts]
        case _:
            raise ValueError(f"values of type {kind} are not supported")


def _optional(kind: list[Any], values: pa.Array) -> list[EncodedPart]:
    null, inner = kind
    if null != "null":
        raise ValueError(f"a union of {kind} is not supported")
    if values.null_count == len(values):
        return [_NULL]
    if not values.null_count:
        return [_VALUE, *_parts(inner, values)]
    present = values.drop_null()
    encoded = _joined([_VALUE, *_parts(inner, present)], len(present))
    is_present = light.to_numpy(values.is_valid())
    # The nulls share one further value, after those that are present.
    indices = np.where(is_present, np.cumsum(is_present) - 1, len(present))
    with_null = pa.concat_arrays([encoded, light.array([_NULL], _BINARY)])
    return [with_null.take(light.from_numpy(indices))]


def _ranges(values: pa.Array) -> tuple[int, int, npt.NDArray[np.int64]]:
    """Return the range of the items of all lists or maps, and the number of items of each."""
    offsets = light.to_numpy(values.offsets).astype(np.int64)
    return int(offsets[0]), int(offsets[-1]), np.diff(offsets)


def _items(counts: npt.NDArray[np.int64], parts: Sequence[EncodedPart]) -> list[EncodedPart]:
    """Return a block of items for each row that has some, and the end marker."""
    total = int(counts.sum())
    if not total:
        return [_END]
    offsets, data = _content(_joined(parts, total))
    row_offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=row_offsets[1:])
    rows = _binary(offsets[row_offsets], data)
    if counts.all():
        return [_longs(counts), rows, _END]
    # A row without items has only the end marker, which its count of zero already is.
    ends = light.array([b"", _END], _BINARY).take(light.from_numpy((counts > 0).astype(np.int8)))
    return [_longs(counts), rows, ends]


def _longs_of_booleans(values: npt.NDArray[np.bool_]) -> EncodedPart:
    if values.all() or not values.any():
        return b"\x01" if len(values) and values[0] else b"\x00"
    data = values.astype(np.uint8)
    return _binary(np.arange(len(values) + 1, dtype=np.int64), pa.py_buffer(data))


def _longs(values: npt.NDArray[np.int64]) -> EncodedPart:
    """Encode 64-bit integers with a variable length."""
    if len(values) and values[0] == values[-1] and (values == values[0]).all():
        return write_long(int(values[0]))
    bits = (values << 1 ^ values >> 63).view(np.uint64)
    lengths = 1 + np.searchsorted(_MIN_OF_LENGTH, bits, side="right")
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    data = np.empty(int(offsets[-1]), np.uint8)
    starts, rest = offsets[:-1], bits
    while len(rest):
        is_longer = rest > 0x7F  # noqa: PLR2004
        data[starts] = (rest & np.uint64(0x7F)).astype(np.uint8) | (is_longer.astype(np.uint8) << 7)
        starts, rest = starts[is_longer] + 1, rest[is_longer] >> np.uint64(7)
    return _binary(offsets, pa.py_buffer(data))


def _joined(parts: Sequence[EncodedPart], size: int) -> pa.LargeBinaryArray:
    """Join the parts of each row."""
    merged: list[EncodedPart] = []
    for part in parts:
        if isinstance(part, bytes) and merged and isinstance(merged[-1], bytes):
            merged[-1] += part
        else:
            merged.append(part)
    arguments = [light.scalar(p, _BINARY) if isinstance(p, bytes) else p for p in merged]
    if all(isinstance(part, bytes) for part in merged):
        return pa.repeat(arguments[0] if arguments else light.scalar(b"", _BINARY), size)
    if len(arguments) == 1:
        return arguments[0]
    return pc.binary_join_element_wise(*arguments, light.scalar(b"", _BINARY))


def _binary(offsets: npt.NDArray[np.int64], data: pa.Buffer) -> pa.LargeBinaryArray:
    buffer = pa.py_buffer(np.ascontiguousarray(offsets))
    return pa.Array.from_buffers(_BINARY, len(offsets) - 1, [None, buffer, data])


def _content(values: pa.LargeBinaryArray) -> tuple[npt.NDArray[np.int64], pa.Buffer]:
    _, offsets, data = values.buffers()
    first = values.offset
    every = np.frombuffer(offsets, np.int64)[first : first + len(values) + 1]
    return every, pa.py_buffer(b"") if data is None else data
