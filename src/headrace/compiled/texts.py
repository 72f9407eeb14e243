"""Read a column chunk of strings with a compiled loop.

The loop stops when it lacks input or room, and reports what it needs.
"""

from collections.abc import Callable
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint64, c_void_p
from enum import IntEnum
from typing import Any

from headrace.compiled.library import function

_STATE_WORDS = 32


class Status(IntEnum):
    """Why the loop stopped, as in kernels.h."""

    UNUSUAL = -1
    DONE = 0
    MORE_INPUT = 1
    MORE_PAGE = 2
    MORE_WORDS = 3
    MORE_OUT = 4
    DECOMPRESS_PAGE = 5
    DECOMPRESS_WORDS = 6
    NOT_CODED = 7


CODECS = {"UNCOMPRESSED": 0, "SNAPPY": 1}
"""The codecs that the loop supports; for any other it asks the caller to decompress."""
OTHER_CODEC = 2


class Chunk(Structure):
    """The chunk to read, as `headrace_chunk` in kernels.h."""

    _fields_ = (
        ("input", c_void_p),
        ("input_size", c_int64),
        ("input_at", c_int64),
        ("page", c_void_p),
        ("page_room", c_int64),
        ("words", c_void_p),
        ("words_room", c_int64),
        ("word_starts", c_void_p),
        ("most_words", c_int64),
        ("depth", c_int32),
        ("codec", c_int32),
        ("is_decompressed", c_int64),
        ("needed", c_int64),
        ("body_at", c_int64),
        ("body_size", c_int64),
        ("state", c_uint64 * _STATE_WORDS),
    )


class Rows(Structure):
    """The rows to take, as `headrace_rows` in kernels.h."""

    _fields_ = (
        ("rows", c_int64),
        ("done", c_int64),
        ("leveled", c_int64),
        ("taken", c_int64),
        ("mask", c_void_p),
        ("known", c_int64),
        ("levels", c_void_p),
        ("offsets", c_void_p),
        ("out", c_void_p),
        ("capacity", c_int64),
    )


def texts_loop() -> Callable[[Any, Any], int]:
    """Return the loop, which takes a `Chunk` and `Rows` by reference and returns a `Status`.

    Raises:
        ValueError: there is no compiled library.
    """
    loop = function("headrace_texts", POINTER(Chunk), POINTER(Rows))
    if loop is None:
        raise ValueError("there is no compiled library")
    return loop
