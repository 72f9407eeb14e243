"""A column chunk of texts, read by a compiled loop that stops where it lacks something."""

from collections.abc import Callable
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint64, c_void_p
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.compiled.library import function
from headrace.compiled.memory import Memory

Mask: TypeAlias = npt.NDArray[np.bool_]

OFFSET_BYTES = 4
_SLACK_BYTES = 32
"""Words are copied by steps of so many bytes."""
_MOST_WORD_BYTES = 1 << 22

_STATE_WORDS = 32

_KEPT = (c_void_p, c_void_p, c_void_p, c_int64, c_void_p, c_void_p)
_WORDS = (c_void_p, c_int64, c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_int64)


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


def kept_texts(texts: pa.StringArray, kept: Mask, memory: Memory) -> pa.StringArray:
    """Those of some texts that are kept."""
    copy = function("headrace_kept_texts", *_KEPT)
    validity, offsets, data = texts.buffers()
    if copy is None or validity is not None or texts.offset or data is None:
        return texts.filter(pa.array(kept))
    count = int(np.count_nonzero(kept))
    ends, out = memory.block((count + 1) * OFFSET_BYTES), memory.block(data.size)
    mask = np.ascontiguousarray(kept)
    size = copy(
        *(offsets.address, data.address, mask.ctypes.data, len(texts)), ends.address, out.address
    )
    return pa.StringArray.from_buffers(
        count, ends.buffer((count + 1) * OFFSET_BYTES), out.buffer(size)
    )


def words_of(
    codes: npt.NDArray[np.int32], words: pa.StringArray, memory: Memory
) -> pa.StringArray | None:
    """The words that codes stand for; None where another must look them up."""
    write = function("headrace_words", *_WORDS)
    validity, offsets, data = words.buffers()
    longest = pc.max(pc.binary_length(words)).as_py() or 0
    capacity = len(codes) * longest + _SLACK_BYTES
    if write is None or words.offset or data is None or capacity > _MOST_WORD_BYTES:
        return None
    if validity is not None and words.null_count:
        return None
    ends, out = memory.block((len(codes) + 1) * OFFSET_BYTES), memory.block(capacity)
    size = write(
        *(codes.ctypes.data, len(codes), offsets.address, data.address, len(words)),
        *(ends.address, out.address, capacity),
    )
    if size < 0:
        return None
    return pa.StringArray.from_buffers(
        len(codes), ends.buffer((len(codes) + 1) * OFFSET_BYTES), out.buffer(size)
    )
