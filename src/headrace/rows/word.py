"""Decodes dictionary codes to strings: codes and a dictionary enter, a column of strings leaves."""

from ctypes import c_int64, c_void_p

import pyarrow as pa
import pyarrow.compute as pc

from headrace.compiled.library import function
from headrace.protocol import light

_ARGUMENTS = (c_void_p, c_int64, c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_int64)
_OFFSET_BYTES = 4
_STEP_BYTES = 32
"""As STEP in texts.c: words are copied in steps of this size, into spare bytes."""
_MAX_WORD = 64
"""Every row gets room for the longest word; beyond this length most of it would be unused."""
_MIN_ROWS = 16_384
"""For fewer rows the preparation costs more than it saves."""


def words_of_codes(codes: pa.DictionaryArray) -> pa.Array:
    """Return the same values without a dictionary."""
    words = _decoded(codes) if _is_usual(codes) else None
    return codes.dictionary.take(codes.indices) if words is None else words


def _is_usual(codes: pa.DictionaryArray) -> bool:
    """Whether the compiled loop supports the codes and words: no nulls, 32 bits each."""
    words, indices = codes.dictionary, codes.indices
    return bool(
        len(codes) >= _MIN_ROWS
        and 0 < len(words) <= len(codes)
        and pa.types.is_int32(indices.type)
        and words.type in (pa.string(), pa.binary())
        and not indices.null_count
        and not words.null_count
    )


def _decoded(codes: pa.DictionaryArray) -> pa.Array | None:
    """Return the strings decoded by the compiled loop, or None if Arrow must decode them."""
    write = function("headrace_words", *_ARGUMENTS)
    words, indices, rows = codes.dictionary, codes.indices, len(codes)
    longest = pc.max(pc.binary_length(words)).as_py()
    if write is None or not 0 < longest <= _MAX_WORD:
        return None
    if pc.max(indices).as_py() >= len(words):
        return None  # damaged codes, which Arrow reports
    padding = light.array([b"\0" * _STEP_BYTES], pa.binary()).view(words.type)
    padded = pa.concat_arrays([words, padding])
    _, word_offsets, word_bytes = padded.buffers()
    capacity = rows * longest + _STEP_BYTES
    offsets = pa.allocate_buffer((rows + 1) * _OFFSET_BYTES)
    out = pa.allocate_buffer(capacity, resizable=True)
    size = write(
        *(indices.buffers()[1].address + indices.offset * _OFFSET_BYTES, rows),
        *(word_offsets.address, word_bytes.address, len(padded)),
        *(offsets.address, out.address, capacity),
    )
    if size < 0:
        return None
    out.resize(size, shrink_to_fit=True)
    return pa.Array.from_buffers(words.type, rows, [None, offsets, out], 0)
