"""Decode a column chunk of numbers or byte arrays with a compiled loop.

The loop stops when it lacks input or room, reports what it needs, and resumes when called again.
"""

from collections.abc import Callable
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint64, c_void_p
from typing import Any

from headrace.compiled.library import function
from headrace.compiled.texts import Status

__all__ = ["Batch", "Column", "Status", "dictionary_loop", "set_bits_loop", "take_loop"]

_STATE_WORDS = 32


class Column(Structure):
    """The chunk, as `headrace_column` in kernels.h."""

    _fields_ = (
        ("input", c_void_p),
        ("input_size", c_int64),
        ("input_at", c_int64),
        ("page", c_void_p),
        ("page_room", c_int64),
        ("dictionary", c_void_p),
        ("dictionary_room", c_int64),
        ("starts", c_void_p),
        ("starts_room", c_int64),
        ("width", c_int32),
        ("is_optional", c_int32),
        ("codec", c_int32),
        ("is_decompressed", c_int32),
        ("needed", c_int64),
        ("needed_entries", c_int64),
        ("body_at", c_int64),
        ("body_size", c_int64),
        ("room_at", c_int64),
        ("state", c_uint64 * _STATE_WORDS),
    )


class Batch(Structure):
    """The rows to decode, as `headrace_batch` in kernels.h."""

    _fields_ = (
        ("skip", c_int64),
        ("rows", c_int64),
        ("done", c_int64),
        ("chosen", c_void_p),
        ("chosen_count", c_int64),
        ("chosen_done", c_int64),
        ("as_codes", c_int64),
        ("room", c_int64),
        ("written", c_int64),
        ("nulls", c_int64),
        ("valid", c_void_p),
        ("offsets", c_void_p),
        ("out", c_void_p),
        ("capacity", c_int64),
    )


def take_loop() -> Callable[[Any, Any], int] | None:
    """Return the loop, which takes a `Column` and a `Batch` by reference and returns a `Status`.

    Returns:
        The loop; None if there is no compiled library.
    """
    return function("headrace_take_column", POINTER(Column), POINTER(Batch))


def dictionary_loop() -> Callable[[Any, int, int], int] | None:
    """Return the loop that writes the dictionary of a `Column` as offsets and bytes."""
    return function("headrace_dictionary", POINTER(Column), c_void_p, c_void_p)


def set_bits_loop() -> Callable[[int, int, int, int], int] | None:
    """Return the loop that writes the indices of set bits.

    It takes the address of a bitmap, the first bit, the number of bits, and the output address.
    """
    return function("headrace_set_bits", c_void_p, c_int64, c_int64, c_void_p)
