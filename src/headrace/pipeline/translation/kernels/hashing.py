"""Kernels for Spark's row hashes: 32-bit Murmur3 and XXH64, folded over the columns."""

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import by_distinct

SEED = 42
_M32, _M64 = (1 << 32) - 1, (1 << 64) - 1
_LONG_DIGITS = 18
Hash = Callable[[bytes, int], int]
"""Takes bytes and the hash so far."""


@kernel
def murmur3(call: KernelCall, *arrays: pa.Array) -> pa.Array:
    """Hash a row in 32 bits."""
    return _folded(_murmur, 32, call, arrays)


@kernel
def xxhash64(call: KernelCall, *arrays: pa.Array) -> pa.Array:
    """Hash a row in 64 bits."""
    return _folded(_xxh64, 64, call, arrays)


def _folded(hashed: Hash, bits: int, call: KernelCall, arrays: tuple[pa.Array, ...]) -> pa.Array:
    kinds = [array.type for array in arrays]

    def fold(*values: Any) -> int:
        seed = SEED
        for value, kind in zip(values, kinds, strict=True):
            seed = _step(hashed, value, kind, seed)
        return seed - (1 << bits) if seed >> (bits - 1) else seed

    return by_distinct(fold, call.gives, *map(_plain, arrays), nulls=True)


def _plain(array: pa.Array) -> pa.Array:
    """Return dates and times as numbers: Python's own end at 9999."""
    if pa.types.is_date(array.type):
        return array.cast(pa.int32())
    return array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array


def _step(hashed: Hash, value: Any, kind: pa.DataType, seed: int) -> int:
    if value is None:
        return seed
    if pa.types.is_list(kind):
        for part in value:
            seed = _step(hashed, part, kind.value_type, seed)
        return seed
    if isinstance(value, str | bytes):
        return hashed(value.encode() if isinstance(value, str) else value, seed)
    if isinstance(value, Decimal) and kind.precision > _LONG_DIGITS:
        number = _unscaled(value, kind.scale)
        size = (number + (number < 0)).bit_length() // 8 + 1
        return hashed(number.to_bytes(size, "big", signed=True), seed)
    return hashed(_packed(value, kind), seed)


def _unscaled(value: Decimal, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    number: int = int("".join(map(str, digits))) * 10 ** (scale + int(exponent))
    return -number if sign else number


def _packed(value: Any, kind: pa.DataType) -> bytes:
    if isinstance(value, Decimal):
        return struct.pack("<q", _unscaled(value, kind.scale))
    if isinstance(value, float):
        value = value + 0.0 if value == value else float("nan")  # noqa: PLR0124
        return struct.pack("<f" if kind == pa.float32() else "<d", value)
    is_long: bool = kind == pa.int64() or pa.types.is_timestamp(kind)
    return struct.pack("<q" if is_long else "<i", int(value))


def _rotated(value: int, count: int, bits: int) -> int:
    return ((value << count) | (value >> (bits - count))) & ((1 << bits) - 1)


def _murmur(data: bytes, seed: int) -> int:
    def mix(state: int, word: int) -> int:
        word = _rotated(word * 0xCC9E2D51 & _M32, 15, 32) * 0x1B873593 & _M32
        return (_rotated(state ^ word, 13, 32) * 5 + 0xE6546B64) & _M32

    whole = len(data) // 4 * 4
    state = seed
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        state = mix(state, word)
    for byte in data[whole:]:  # Spark mixes each remaining byte as a signed word
        state = mix(state, (byte - 256 if byte > 127 else byte) & _M32)  # noqa: PLR2004
    state ^= len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & _M32
    state = (state ^ state >> 13) * 0xC2B2AE35 & _M32
    return state ^ state >> 16


_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _xxh64(data: bytes, seed: int) -> int:
    def round_of(state: int, word: int) -> int:
        return _rotated((state + word * _P2) & _M64, 31, 64) * _P1 & _M64

    place = 0
    if len(data) >= 32:  # noqa: PLR2004
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while place + 32 <= len(data):
            words = struct.unpack_from("<4Q", data, place)
            lanes = [round_of(lane & _M64, word) for lane, word in zip(lanes, words, strict=True)]
            place += 32
        turns = zip(lanes, (1, 7, 12, 18), strict=True)
        state = sum(_rotated(lane, turn, 64) for lane, turn in turns) & _M64
        for lane in lanes:
            state = ((state ^ round_of(0, lane)) * _P1 + _P4) & _M64
    else:
        state = (seed + _P5) & _M64
    state = (state + len(data)) & _M64
    while place + 8 <= len(data):
        word = struct.unpack_from("<Q", data, place)[0]
        state = (_rotated(state ^ round_of(0, word), 27, 64) * _P1 + _P4) & _M64
        place += 8
    if place + 4 <= len(data):
        word = struct.unpack_from("<I", data, place)[0]
        state = (_rotated(state ^ word * _P1 & _M64, 23, 64) * _P2 + _P3) & _M64
        place += 4
    for byte in data[place:]:
        state = _rotated(state ^ byte * _P5 & _M64, 11, 64) * _P1 & _M64
    state = (state ^ state >> 33) * _P2 & _M64
    state = (state ^ state >> 29) * _P3 & _M64
    return state ^ state >> 32
