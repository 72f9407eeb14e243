"""Hashes rows, a column at a time, with the same result on every runner and machine.

A row's hash has two lanes of 64 bits. Equal values have equal hashes in any type: INT and BIGINT,
decimals with trailing zeros, FLOAT and DOUBLE, positive and negative zero. Arrow has no kernel for
this, so the arithmetic is numpy's, modulo 2**64.
"""

from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Lanes: TypeAlias = npt.NDArray[np.uint64]
"""Two rows of hashes: shape (2, length)."""

_SEEDS = np.array([[0x9E3779B97F4A7C15], [0xC2B2AE3D27D4EB4F]], np.uint64)
_BASES = (0x100000001B3 | 1, 0x9FB21C651E98DF25)
_WORD = 8
_NULL = np.uint64(0x6A09E667F3BCC909)


def row_hashes(columns: Sequence[pa.Array], length: int, *, seed: int = 0) -> Lanes:
    """Return the hash of each row; it depends on the order of columns and on the seed."""
    hashes = np.full((2, length), seed, np.uint64) + _SEEDS
    for column in columns:
        hashes = _mixed(hashes * np.uint64(31) + _value_hashes(column))
    return hashes


def _value_hashes(array: pa.Array) -> Lanes:
    hashes = _mixed(_codes(array) + _SEEDS)
    if array.null_count:
        valid = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        hashes = np.where(valid, hashes, _mixed(_NULL + _SEEDS))
    return hashes


def _codes(array: pa.Array) -> Lanes:
    """Return a number for each value, equal for equal values; nulls get any number."""
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros((2, len(array)), np.uint64)
    if pa.types.is_dictionary(kind):
        return _codes(array.dictionary_decode())
    if pa.types.is_struct(kind):
        return row_hashes(array.flatten(), len(array))
    if pa.types.is_map(kind):
        entries = row_hashes([array.keys, array.items], len(array.keys))
        return _sums(entries, _offsets(array))  # the order of entries does not matter
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _sequences(_value_hashes(array.values), _offsets(array))
    if pa.types.is_decimal(kind):
        return _codes(_decimal_text(array))
    if _is_text(kind):
        return _texts(array.cast(pa.large_binary()))
    return np.broadcast_to(_words(array), (2, len(array)))


def _words(array: pa.Array) -> npt.NDArray[np.uint64]:
    """Return fixed-width values as 64-bit words."""
    kind = array.type
    if pa.types.is_floating(kind):
        values = pc.fill_null(array.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
        values = np.where(np.isnan(values), np.nan, values + 0.0)  # one NaN, one zero
        return np.ascontiguousarray(values, np.float64).view(np.uint64)
    if pa.types.is_timestamp(kind):
        array = array.cast(pa.timestamp("us", kind.tz))
    elif pa.types.is_date64(kind):
        array = array.cast(pa.date32())
    width = pa.int32() if pa.types.is_date32(array.type) else pa.int64()
    unsigned = pa.types.is_uint64(kind)
    integers = array if unsigned else array.cast(width).cast(pa.int64())
    values = pc.fill_null(integers, 0).to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values).view(np.uint64)


def _texts(array: pa.Array) -> Lanes:
    """Hash strings and bytes, eight bytes at a time."""
    bounds = np.frombuffer(array.buffers()[1] or bytes(_WORD), np.int64)
    bounds = bounds[array.offset : array.offset + len(array) + 1]
    first, lengths = int(bounds[0]), np.diff(bounds)
    data = memoryview(array.buffers()[2] or b"")[first : int(bounds[-1])]
    padded = np.frombuffer(bytes(data) + bytes(_WORD), np.uint8)
    at_each_byte = np.ndarray((len(padded) - _WORD + 1,), "<u8", padded.data, strides=(1,))
    counts = -(-lengths // _WORD)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    positions = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    words = at_each_byte[np.repeat(bounds[:-1] - first, counts) + positions * _WORD]
    # Clear the bytes of the last word that belong to the next string.
    beyond = np.maximum(_WORD * (positions + 1) - np.repeat(lengths, counts), 0)
    words &= np.uint64(0xFFFFFFFFFFFFFFFF) >> (beyond.astype(np.uint64) * np.uint64(8))
    mixed = _mixed(np.stack([words, words]))
    return _sequences(mixed, offsets) + lengths.astype(np.uint64) * np.uint64(_BASES[1])


def _decimal_text(array: pa.Array) -> pa.Array:
    """Return decimals without trailing zeros: 1.50 and 1.5 are the same number."""
    if array.type.scale <= 0:
        return array.cast(pa.string())
    is_zero = pc.equal(array, pa.scalar(Decimal(0), array.type))
    trimmed = pc.utf8_rtrim(pc.utf8_rtrim(array.cast(pa.string()), "0"), ".")
    return pc.if_else(is_zero, "0", trimmed)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _offsets(array: pa.Array) -> npt.NDArray[np.int64]:
    """Return the offsets of a list or map array."""
    return np.asarray(array.offsets.to_numpy(), np.int64)


def _sequences(parts: Lanes, offsets: npt.NDArray[np.int64]) -> Lanes:
    """Hash sequences as polynomials over their parts, so that order and length count."""
    first, last = int(offsets[0]), int(offsets[-1])
    lengths = np.diff(offsets)
    starts = np.repeat(offsets[:-1] - first, lengths)
    positions = np.arange(last - first, dtype=np.int64) - starts
    powers = _powers(int(lengths.max(initial=0)).bit_length())
    terms = (parts[:, first:last] + np.uint64(1)) * powers[:, positions]
    return _sums(terms, offsets - first) + lengths.astype(np.uint64)


def _sums(parts: Lanes, offsets: npt.NDArray[np.int64]) -> Lanes:
    """Sum the parts between offsets."""
    running = np.zeros((2, parts.shape[1] + 1), np.uint64)
    np.cumsum(parts, axis=1, out=running[:, 1:])
    sums: Lanes = running[:, offsets[1:]] - running[:, offsets[:-1]]
    return sums


@cache
def _powers(bits: int) -> Lanes:
    """Return the first `2**bits` powers of each lane's base."""
    powers = np.empty((2, 1 << bits), np.uint64)
    for lane, base in enumerate(_BASES):
        powers[lane] = np.uint64(base)
    return np.cumprod(powers, axis=1, dtype=np.uint64)


def _mixed(numbers: Lanes) -> Lanes:
    """Mix the bits of numbers (the finaliser of splitmix64)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
