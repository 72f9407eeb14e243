"""A column chunk of texts, read by a compiled loop that stops where it lacks something."""

from collections.abc import Callable
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint64, c_void_p
from enum import IntEnum
from typing import Any

from headrace.compiled.library import function

_STATE_WORDS = 32


class Status(IntEnum):
    """Why the loop has stopped, as in kernels.h."""

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
"""Those that the loop knows; it asks for what is compressed by another one."""
OTHER_CODEC = 2


class Chunk(Structure):
    """The chunk that is read, as in kernels.h."""

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
        ("wanted", c_int64),
        ("body_at", c_int64),
        ("body_size", c_int64),
        ("state", c_uint64 * _STATE_WORDS),
    )


class Rows(Structure):
    """The rows that are taken, as in kernels.h."""

    _fields_ = (
        ("rows", c_int64),
        ("done", c_int64),
        ("leveled", c_int64),
        ("taken", c_int64),
        ("kept", c_void_p),
        ("known", c_int64),
        ("levels", c_void_p),
        ("offsets", c_void_p),
        ("out", c_void_p),
        ("capacity", c_int64),
    )


def texts_loop() -> Callable[[Any, Any], int]:
    """The loop, which takes a `Chunk` and `Rows` by reference and tells its `Status`.

    Raises:
        ValueError: there is no compiled library.
    """
    found = function("headrace_texts", POINTER(Chunk), POINTER(Rows))
    if found is None:
        raise ValueError("there is no compiled library")
    return found
