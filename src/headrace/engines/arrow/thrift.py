"""Just enough of Thrift's compact protocol to read the header of a Parquet page."""

from typing import Any

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _STRUCT = 0, 1, 2, 3, 7, 8, 12
_INTEGERS = (4, 5, 6)


def read_struct(data: bytes, at: int = 0) -> tuple[dict[int, Any], int]:
    """Read one struct: its fields by id, and where it ends.

    Integers, booleans, bytes and structs are all that a page header has; a list or a map means
    that the bytes are something else.

    Raises:
        ValueError: the bytes are not such a struct.
        IndexError: they end too early.
    """
    fields: dict[int, Any] = {}
    field_id = 0
    while (head := data[at]) != _STOP:
        at += 1
        kind, delta = head & 0x0F, head >> 4
        if delta:
            field_id += delta
        else:
            field_id, at = _read_integer(data, at)
        if kind in (_TRUE, _FALSE):
            fields[field_id] = kind == _TRUE
        elif kind == _BYTE:
            fields[field_id], at = data[at], at + 1
        elif kind in _INTEGERS:
            fields[field_id], at = _read_integer(data, at)
        elif kind == _DOUBLE:
            at += 8
        elif kind == _BINARY:
            size, at = _read_varint(data, at)
            fields[field_id], at = data[at : at + size], at + size
        elif kind == _STRUCT:
            fields[field_id], at = read_struct(data, at)
        else:
            raise ValueError(f"a page header has no field of kind {kind}")
    return fields, at + 1


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004  (the top bit says that more follows)
            return value, at
        shift += 7


def _read_integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _read_varint(data, at)
    return (value >> 1) ^ -(value & 1), at
