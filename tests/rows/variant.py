"""Write and read variants in the simplest way, following the text of the specification."""

import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def metadata(*names: str) -> bytes:
    """Return metadata with these keys, in this order."""
    raw = [name.encode() for name in names]
    offsets = [sum(map(len, raw[:end])) for end in range(len(raw) + 1)]
    return bytes([1, len(raw), *offsets]) + b"".join(raw)


def decode(value: bytes, meta: bytes) -> Any:
    """Decode a value; times and some other types are tagged with their type."""
    kind, header = value[0] & 3, value[0] >> 2
    if kind == 1:
        return value[1 : 1 + header].decode()
    if kind == 0:
        return _primitive(header, value[1:])
    size, large = (header & 3) + 1, header >> (4 if kind == 2 else 2) & 1
    id_size = (header >> 2 & 3) + 1 if kind == 2 else 0
    start = 5 if large else 2
    count = _int(value[1:start])
    ids = [_int(value[start + i * id_size :][:id_size]) for i in range(count)]
    at = start + count * id_size
    offsets = [_int(value[at + i * size :][:size]) for i in range(count + 1)]
    body = value[at + (count + 1) * size :]
    items = [decode(body[offset:], meta) for offset in offsets[:-1]]
    if kind == 3:
        return items
    names = _names(meta)
    keys = [names[number] for number in ids]
    assert keys == sorted(keys, key=str.encode), "the keys of an object stand in order"
    return dict(zip(keys, items, strict=True))


def _names(meta: bytes) -> list[str]:
    size = (meta[0] >> 6) + 1
    count = _int(meta[1:][:size])
    offsets = [_int(meta[1 + (i + 1) * size :][:size]) for i in range(count + 1)]
    body = meta[1 + (count + 2) * size :]
    return [body[offsets[i] : offsets[i + 1]].decode() for i in range(count)]


def _primitive(kind: int, data: bytes) -> Any:
    match kind:
        case 0:
            return None
        case 1 | 2:
            return kind == 1
        case 3 | 4 | 5 | 6:
            return int.from_bytes(data[: 1 << (kind - 3)], "little", signed=True)
        case 7 | 14:
            return struct.unpack_from("<d" if kind == 7 else "<f", data)[0]
        case 8 | 9 | 10:
            width = {8: 4, 9: 8, 10: 16}[kind]
            unscaled = int.from_bytes(data[1 : 1 + width], "little", signed=True)
            return Decimal(unscaled).scaleb(-data[0])
        case 11:
            return date(1970, 1, 1) + timedelta(days=struct.unpack_from("<i", data)[0])
        case 12 | 13:
            moment = EPOCH + timedelta(microseconds=struct.unpack_from("<q", data)[0])
            return moment if kind == 12 else moment.replace(tzinfo=None)
        case 15 | 16:
            content = data[4 : 4 + _int(data[:4])]
            return content if kind == 15 else content.decode()
        case 20:
            return UUID(bytes=data[:16])
        case _:
            return (kind, data[:8])


def _int(data: bytes) -> int:
    return int.from_bytes(data, "little")
