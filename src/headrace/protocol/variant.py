"""Encode values, objects and arrays in Parquet's variant encoding.

A variant is a pair: its metadata lists the keys of all its objects, and its value refers to them by
number. This module has only what is needed to reassemble shredded variants.
"""

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

Encode: TypeAlias = Callable[[Any], bytes]

NULL = b"\x00"
"""The variant null, which differs from a missing value."""

_SHORT_STRING, _OBJECT, _ARRAY = 1, 2, 3
_MAX_SHORT = 63
_MAX_SMALL = 255
_INTEGERS = ((3, 1), (4, 2), (5, 4), (6, 8))
_DECIMALS = ((8, 4, 9), (9, 8, 18), (10, 16, 38))


class InvalidVariantError(ValueError):
    """The bytes are not a valid variant."""


def encode_null(value: object) -> bytes:  # noqa: ARG001  (nulls have no content)
    """Encode a null."""
    return NULL


def encode_boolean(value: bool) -> bytes:  # noqa: FBT001  (a value)
    """Encode true or false."""
    return bytes([(1 if value else 2) << 2])


def encode_integer(value: int) -> bytes:
    """Encode an integer in as few bytes as possible."""
    for kind, width in _INTEGERS:
        if -(1 << 8 * width - 1) <= value < 1 << 8 * width - 1:
            return bytes([kind << 2]) + value.to_bytes(width, "little", signed=True)
    raise InvalidVariantError(f"{value} has more than 64 bits")


def encode_decimal(value: Decimal) -> bytes:
    """Encode a decimal in as few bytes as possible."""
    sign, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    for kind, width, most in _DECIMALS:
        if max(len(digits), scale) <= most:
            return bytes([kind << 2, scale]) + unscaled.to_bytes(width, "little", signed=True)
    raise InvalidVariantError(f"{value} has more than 38 digits")


def encode_text(value: str) -> bytes:
    """Encode a string."""
    raw = value.encode()
    if len(raw) <= _MAX_SHORT:
        return bytes([len(raw) << 2 | _SHORT_STRING]) + raw
    return bytes([16 << 2]) + len(raw).to_bytes(4, "little") + raw


def encode_binary(value: bytes) -> bytes:
    """Encode binary data."""
    return bytes([15 << 2]) + len(value).to_bytes(4, "little") + value


def fixed(kind: int, layout: str) -> Encode:
    """Return an encoder for primitive type `kind`, whose bytes have a `struct` layout."""
    pack = struct.Struct(f"<B{layout}").pack
    return lambda value: pack(kind << 2, value)


def encode_array(elements: Sequence[bytes]) -> bytes:
    """Encode an array of encoded values."""
    size = _width(sum(map(len, elements)))
    is_large = len(elements) > _MAX_SMALL
    header = (size - 1 | is_large << 2) << 2 | _ARRAY
    count = len(elements).to_bytes(4 if is_large else 1, "little")
    return bytes([header]) + count + _offsets(elements, size) + b"".join(elements)


def encode_object(fields: dict[str, bytes], metadata: bytes) -> bytes:
    """Encode an object of encoded values by key.

    Raises:
        InvalidVariantError: the metadata lacks a key.
    """
    ids = _ids(metadata)
    names = sorted(fields, key=str.encode)
    missing = [name for name in names if name not in ids]
    if missing:
        raise InvalidVariantError(f"the metadata of a variant lacks the key {missing[0]!r}")
    values = [fields[name] for name in names]
    numbers = [ids[name] for name in names]
    id_size = _width(max(numbers, default=0))
    size = _width(sum(map(len, values)))
    is_large = len(names) > _MAX_SMALL
    header = (size - 1 | id_size - 1 << 2 | is_large << 4) << 2 | _OBJECT
    count = len(names).to_bytes(4 if is_large else 1, "little")
    listed = b"".join(number.to_bytes(id_size, "little") for number in numbers)
    return bytes([header]) + count + listed + _offsets(values, size) + b"".join(values)


def object_fields(value: bytes, metadata: bytes) -> dict[str, bytes]:
    """Return the encoded values of an object, by key.

    Raises:
        InvalidVariantError: the value is not an object, or is truncated.
    """
    if not value or value[0] & 3 != _OBJECT:
        raise InvalidVariantError("the residual value of a shredded object is not an object")
    header = value[0] >> 2
    size, id_size = (header & 3) + 1, (header >> 2 & 3) + 1
    start = 5 if header >> 4 & 1 else 2
    count = int.from_bytes(value[1:start], "little")
    ids = _numbers(value, start, count, id_size)
    places = start + count * id_size
    offsets = _numbers(value, places, count + 1, size)
    body = value[places + (count + 1) * size :]
    if offsets[-1] > len(body):
        raise InvalidVariantError("an object ends before its last value")
    # Values may be stored in any order; each ends where the next one in the bytes begins.
    ends = dict(pairwise(sorted(offsets)))
    names = _names(metadata)
    try:
        return {
            names[number]: body[offset : ends[offset]]
            for number, offset in zip(ids, offsets[:-1], strict=True)
        }
    except IndexError as error:
        raise InvalidVariantError("an object refers to a key that does not exist") from error


def _offsets(values: Sequence[bytes], size: int) -> bytes:
    offset, listed = 0, [bytes(size)]
    for value in values:
        offset += len(value)
        listed.append(offset.to_bytes(size, "little"))
    return b"".join(listed)


def _width(most: int) -> int:
    """Return the number of bytes that hold a number, from 1 to 4."""
    return max(1, (most.bit_length() + 7) // 8)


def _numbers(data: bytes, start: int, count: int, size: int) -> list[int]:
    end = start + count * size
    if end > len(data):
        raise InvalidVariantError("a variant ends before its last number")
    return [int.from_bytes(data[at : at + size], "little") for at in range(start, end, size)]


@lru_cache(maxsize=256)
def _ids(metadata: bytes) -> dict[str, int]:
    return {name: number for number, name in enumerate(_names(metadata))}


@lru_cache(maxsize=256)
def _names(metadata: bytes) -> tuple[str, ...]:
    if not metadata or metadata[0] & 15 != 1:
        raise InvalidVariantError("the metadata of a variant has an unknown version")
    size = (metadata[0] >> 6) + 1
    [count] = _numbers(metadata, 1, 1, size)
    offsets = _numbers(metadata, 1 + size, count + 1, size)
    body = metadata[1 + size * (count + 2) :]
    if offsets[-1] > len(body):
        raise InvalidVariantError("the metadata of a variant ends before its last key")
    return tuple(body[start:end].decode() for start, end in pairwise(offsets))
