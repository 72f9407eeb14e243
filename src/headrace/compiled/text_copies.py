"""Filter and look up strings with compiled loops, into Arrow columns in reusable memory.

A column and a mask or codes enter; a new column leaves, or None for an unusual layout.
"""

from ctypes import c_int64, c_void_p
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.compiled.library import function
from headrace.compiled.memory import Memory

Mask: TypeAlias = npt.NDArray[np.bool_]

OFFSET_BYTES = 4
_SLACK_BYTES = 32
"""As STEP in texts.c: words are copied in steps of this many bytes."""
_MAX_WORD_BYTES = 1 << 22
_KEPT = (c_void_p, c_void_p, c_void_p, c_int64, c_void_p, c_void_p)
_WORDS = (c_void_p, c_int64, c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_int64)


def selected_texts(texts: pa.StringArray, mask: Mask, memory: Memory) -> pa.StringArray:
    """Return the strings for which the mask is true."""
    copy = function("headrace_kept_texts", *_KEPT)
    validity, offsets, data = texts.buffers()
    if copy is None or validity is not None or texts.offset or data is None:
        # `pa.array` would import pandas, which takes longer than a short scan.
        bits = pa.py_buffer(np.packbits(mask, bitorder="little"))
        return texts.filter(pa.Array.from_buffers(pa.bool_(), len(mask), [None, bits]))
    count = int(np.count_nonzero(mask))
    ends, out = memory.block((count + 1) * OFFSET_BYTES), memory.block(data.size)
    contiguous = np.ascontiguousarray(mask)
    size = copy(
        *(offsets.address, data.address, contiguous.ctypes.data, len(texts)),
        ends.address,
        out.address,
    )
    return pa.StringArray.from_buffers(
        count, ends.buffer((count + 1) * OFFSET_BYTES), out.buffer(size)
    )


def words_of(
    codes: npt.NDArray[np.int32], words: pa.StringArray, memory: Memory
) -> pa.StringArray | None:
    """Return the dictionary word of each code; None if the caller must fall back."""
    write = function("headrace_words", *_WORDS)
    validity, offsets, data = words.buffers()
    longest = pc.max(pc.binary_length(words)).as_py() or 0
    capacity = len(codes) * longest + _SLACK_BYTES
    if write is None or words.offset or data is None or capacity > _MAX_WORD_BYTES:
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
