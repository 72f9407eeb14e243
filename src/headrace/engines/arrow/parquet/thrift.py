"""Decodes the parts of Thrift's compact protocol that a Parquet file uses."""

from typing import Any

from headrace.engines.arrow.parquet.codec import Bytes
from headrace.engines.arrow.parquet.varint import read_varint

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
_LONG_LIST = 15
_SHORT_TEXT = 127


def read_struct(
    data: Bytes, at: int = 0, *, after: int = 0, until: int | None = None
) -> tuple[dict[int, Any], int]:
    """Return the fields of a struct by id, and the offset of its end.

    Reading may begin within the struct, `after` a field, and stop before the value of field
    `until`; the offset is then that of this value.

    Raises:
        ValueError: the bytes are not such a struct.
        IndexError: they end too early.
    """
    fields: dict[int, Any] = {}
    field_id = after
    while (head := data[at]) != _STOP:
        at += 1
        kind, delta = head & 0x0F, head >> 4
        if delta:
            field_id += delta
        else:
            field_id, at = _read_integer(data, at)
        if field_id == until:
            return fields, at
        if kind in (_TRUE, _FALSE):
            fields[field_id] = kind == _TRUE
        else:
            fields[field_id], at = _read_value(data, at, kind)
    return fields, at + 1


def _read_value(data: Bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in _INTEGERS:
        return _read_integer(data, at)
    if kind == _BINARY:
        size, at = read_varint(data, at)
        return data[at : at + size], at + size
    if kind == _STRUCT:
        return read_struct(data, at)
    if kind in (_LIST, _SET):
        return _read_list(data, at)
    if kind in (_BYTE, _TRUE, _FALSE):
        return data[at], at + 1
    if kind == _DOUBLE:
        return bytes(data[at : at + 8]), at + 8
    raise ValueError(f"values of kind {kind} are not supported")


def read_list_head(data: Bytes, at: int) -> tuple[int, int, int]:
    """Return the number of values in a list, their kind, and the offset of the first one."""
    size, kind = data[at] >> 4, data[at] & 0x0F
    at += 1
    if size == _LONG_LIST:
        size, at = read_varint(data, at)
    return size, kind, at


def list_of_texts(texts: tuple[str, ...]) -> bytes:
    """Encode a short list of short strings."""
    encoded = [text.encode() for text in texts]
    if len(texts) >= _LONG_LIST or any(len(text) > _SHORT_TEXT for text in encoded):
        raise ValueError("the list is too long for this writer")
    head = bytes([len(texts) << 4 | _BINARY])
    return head + b"".join(bytes([len(text)]) + text for text in encoded)


def _read_list(data: Bytes, at: int) -> tuple[list[Any], int]:
    size, kind, at = read_list_head(data, at)
    if size > len(data) - at:
        raise IndexError("a list has more values than remaining bytes")
    values = []
    for _ in range(size):
        value, at = _read_value(data, at, kind)
        values.append(value)
    return values, at


def _read_integer(data: Bytes, at: int) -> tuple[int, int]:
    value, at = read_varint(data, at)
    return (value >> 1) ^ -(value & 1), at
