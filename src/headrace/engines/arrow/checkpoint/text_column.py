"""Decodes a string column of a row group, paths or statistics, with a compiled loop.

These columns are most of a checkpoint. Arrow's own reader supports every encoding and takes half
as long again for the two usual ones. All memory is reused: fresh memory costs as much as
decompressing into it.
"""

from ctypes import byref
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.compiled.memory import Block, Memory
from headrace.compiled.text_copies import OFFSET_BYTES, Mask
from headrace.compiled.texts import CODECS, OTHER_CODEC, Chunk, Rows, Status, texts_loop
from headrace.engines.arrow.parquet.codec import Codec
from headrace.protocol import light
from headrace.storage.ranged import read_into

_READ_BYTES = 1 << 19
_SPARE = 1.1
"""Room for rows that are longer than the average one."""
_MAX_EXPECTED_BYTES = 1 << 26
"""A footer may claim anything; the buffer grows when more data arrives."""
_MAX_PAGE_BYTES = 1 << 29
_MAX_BYTES = 2**31 - 1
"""The largest offset of a column."""
_MIN_BYTES = 1 << 10
_MAX_WORDS = 1 << 16


class Texts(msgspec.Struct, frozen=True):
    """The strings of some rows, and the definition level of each row."""

    values: pa.StringArray
    levels: npt.NDArray[np.uint8]


class TextColumn:
    """Reads the rows of one column chunk in order."""

    def __init__(self, file: BinaryIO, chunk: Any, *, depth: int, memory: Memory) -> None:
        """Take the metadata of the chunk, and the definition level of a non-null string."""
        self._file = file
        self._position = chunk.data_page_offset
        if chunk.has_dictionary_page:
            self._position = min(self._position, chunk.dictionary_page_offset)
        self._unread = chunk.total_compressed_size
        self._codec = Codec(chunk.compression)
        self._memory = memory
        self._input = self._page = self._words = memory.block(0)
        self._starts = np.empty(0, dtype=np.int32)
        self._state = Chunk(depth=depth, codec=CODECS.get(chunk.compression, OTHER_CODEC))
        self._row_bytes = chunk.total_uncompressed_size / max(chunk.num_values, 1) * _SPARE

    def take(self, rows: int, mask: Mask | None = None) -> Texts:
        """Return the next rows, or those of them that a mask selects.

        Args:
            rows: The number of rows.
            mask: Whether each row is selected. It may cover later rows too: a page without a
                selected row is not even decompressed.

        Raises:
            ValueError: there are fewer, or their encoding is not supported.
            IndexError: the file ends too early.
        """
        builder = _TextsBuilder(rows, mask, memory=self._memory, row_bytes=self._row_bytes)
        loop, state = texts_loop(), self._state
        while (status := Status(loop(byref(state), byref(builder.state)))) is not Status.DONE:
            match status:
                case Status.MORE_INPUT:
                    self._read(state.needed)
                case Status.MORE_PAGE:
                    self._page = self._room(state.needed)
                    state.page, state.page_room = self._page.address, len(self._page)
                case Status.MORE_WORDS:
                    self._words = self._room(state.needed)
                    state.words, state.words_room = self._words.address, len(self._words)
                    self._starts = np.empty(_MAX_WORDS, dtype=np.int32)
                    state.word_starts, state.most_words = self._starts.ctypes.data, _MAX_WORDS
                case Status.MORE_OUT:
                    builder.grow()
                case Status.DECOMPRESS_PAGE:
                    self._decompress(self._page)
                case Status.DECOMPRESS_WORDS:
                    self._decompress(self._words)
                case _:
                    raise ValueError("the chunk is damaged, or written in an unusual way")
        return builder.finished(state.depth)

    def _read(self, least_bytes: int) -> None:
        """Read until at least `least_bytes` bytes are available."""
        state = self._state
        unread = state.input_size - state.input_at
        end = unread + min(max(least_bytes - unread, _READ_BYTES), self._unread)
        if end <= unread:
            raise ValueError("the chunk ends too early")
        before = self._input  # keeps it alive until its remaining bytes are copied
        if len(before) < end:
            self._input = self._memory.block(_checked(end))
        self._input.bytes[:unread] = before.bytes[state.input_at : state.input_size]
        self._file.seek(self._position)
        read_into(self._file, self._input.bytes[unread:end].data)
        self._position += end - unread
        self._unread -= end - unread
        state.input, state.input_size, state.input_at = self._input.address, end, 0

    def _room(self, size: int) -> Block:
        return self._memory.block(_checked(size) * 3 // 2)  # the next page is a little larger

    def _decompress(self, into: Block) -> None:
        state = self._state
        body = self._input.bytes[state.body_at : state.body_at + state.body_size]
        self._codec.decompress_into(body.data, into.bytes[: state.needed].data)
        state.is_decompressed = 1


def _checked(size: int) -> int:
    if not 0 <= size <= _MAX_PAGE_BYTES:
        raise ValueError(f"a page of {size} bytes is not supported")
    return size


class _TextsBuilder:
    """Builds an Arrow column of strings from what the compiled loop writes."""

    def __init__(self, rows: int, mask: Mask | None, *, memory: Memory, row_bytes: float) -> None:
        self._memory = memory
        mask = None if mask is None else np.ascontiguousarray(mask)
        self._mask = mask  # keeps the array alive
        self._row_mask = None if mask is None else mask[:rows]
        self._levels = np.empty(rows, dtype=np.uint8)
        count = rows if self._row_mask is None else int(np.count_nonzero(self._row_mask))
        self._offsets = memory.block((count + 1) * OFFSET_BYTES)
        self._ends = self._offsets.bytes[: (count + 1) * OFFSET_BYTES].view(np.int32)
        self._ends[0] = 0
        expected = min(int(count * row_bytes), _MAX_EXPECTED_BYTES)
        self._bytes = memory.block(max(expected, _MIN_BYTES))
        self.state = Rows(
            rows=rows,
            mask=None if mask is None else mask.ctypes.data,
            known=0 if mask is None else len(mask),
            levels=self._levels.ctypes.data,
            offsets=self._offsets.address,
        )
        self._set_capacity()

    def grow(self) -> None:
        """Grow the buffer of the strings.

        Raises:
            ValueError: they exceed the limit of an Arrow column.
        """
        if len(self._bytes) >= _MAX_BYTES:
            raise ValueError("the strings exceed the limit of an Arrow column")
        larger, used = self._memory.block(2 * len(self._bytes)), self._used
        larger.bytes[:used] = self._bytes.bytes[:used]
        self._bytes = larger
        self._set_capacity()

    def finished(self, depth: int) -> Texts:
        """Return the column, null where the definition level is below `depth`."""
        levels = self._levels if self._row_mask is None else self._levels[self._row_mask]
        present = levels == depth
        valid = None if present.all() else light.from_numpy(present).buffers()[1]
        offsets = self._offsets.buffer(len(self._ends) * OFFSET_BYTES)
        values = self._bytes.buffer(self._used)
        strings = pa.StringArray.from_buffers(len(levels), offsets, values, valid)
        return Texts(strings, levels)

    @property
    def _used(self) -> int:
        return int(self._ends[self.state.taken])

    def _set_capacity(self) -> None:
        self.state.out, self.state.capacity = (
            self._bytes.address,
            min(len(self._bytes), _MAX_BYTES),
        )
