"""Decodes a column chunk of a flat column with a compiled loop that writes only the chosen rows.

The loop supports the usual encodings of numbers and byte arrays. Everything else, including damage,
raises `UnusualChunkError`, and Arrow's reader decodes or reports it. Pages without a chosen row are
not decompressed. Bytes are read on demand.
"""

from collections.abc import Callable
from ctypes import byref

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.compiled.columns import Column, Status, dictionary_loop, take_loop
from headrace.compiled.memory import Block, Memory
from headrace.compiled.texts import CODECS, OTHER_CODEC
from headrace.engines.arrow.parquet.codec import Codec
from headrace.rows.chunk_layout import ChunkLayout
from headrace.rows.chunk_output import COPY_STEP_BYTES, ChunkOutput, Flags, Rows, UnusualChunkError

_READ_BYTES = 1 << 19
_MAX_PAGE_BYTES = 1 << 29
_OFFSET_BYTES = 4


class ColumnChunk:
    """Decodes the rows of one column chunk in order, a batch at a time."""

    def __init__(
        self,
        metadata: pq.ColumnChunkMetaData,
        layout: ChunkLayout,
        *,
        read_into: Callable[[int, memoryview], None],
        memory: Memory,
    ) -> None:
        """Prepare to decode; nothing is read.

        Args:
            metadata: The chunk's metadata in the footer.
            layout: How its values are stored.
            read_into: Fills memory with the file's bytes, starting at an offset.
            memory: The source of page buffers.
        """
        self._layout = layout
        self._read_into = read_into
        self._memory = memory
        self._offset = metadata.data_page_offset
        if metadata.has_dictionary_page and metadata.dictionary_page_offset is not None:
            self._offset = min(self._offset, metadata.dictionary_page_offset)
        self._unread_bytes = metadata.total_compressed_size
        self._codec = Codec(metadata.compression)
        self._row_bytes = metadata.total_uncompressed_size / max(metadata.num_values, 1)
        self._input = self._page = self._dictionary = memory.block(0)
        self._starts = np.empty(0, np.int32)
        self._state = Column(
            width=layout.width,
            is_optional=layout.is_optional,
            codec=CODECS.get(metadata.compression, OTHER_CODEC),
        )
        self._state_ref = byref(self._state)
        self._skipped_rows = 0
        self._has_codes = layout.width == 0 and metadata.has_dictionary_page
        self._words: pa.Array | None = None
        self._valid = np.empty(0, np.uint8)

    def skip(self, rows: int) -> None:
        """Skip the next rows."""
        self._skipped_rows += rows

    def take(self, rows: int, chosen: Rows | None = None) -> pa.Array:
        """Decode the next rows.

        Args:
            rows: How many rows to advance.
            chosen: The indices of the rows to return, ascending; None for all.

        Raises:
            UnusualChunkError: Arrow must decode the chunk.
        """
        output = self._decode(
            ChunkOutput(
                rows,
                self._layout,
                valid=self._room_for(rows),
                row_bytes=self._row_bytes,
                chosen=chosen,
            )
        )
        self._row_bytes = max(self._row_bytes, output.row_bytes)
        return output.array()

    def take_codes(self, rows: int) -> pa.Array:
        """Decode the next rows as dictionary codes where the chunk has them, else as values.

        Raises:
            UnusualChunkError: Arrow must decode the chunk.
        """
        if not self._has_codes:
            return self.take(rows)
        output = self._decode(
            ChunkOutput(rows, self._layout, valid=self._room_for(rows), as_codes=True)
        )
        if self._words is None and output.state.written:
            self._words = self._read_words()
        if output.state.done == rows:
            return output.codes(self._words)
        # The writer's dictionary was full: the remaining pages contain plain values.
        self._has_codes = False
        if not output.state.written:
            return self.take(rows - output.state.done)
        # Decoded first, because `take` reuses the validity buffer of the codes.
        coded = output.codes(self._words).dictionary_decode()
        return pa.concat_arrays([coded, self.take(rows - output.state.done)])

    def _room_for(self, rows: int) -> Flags:
        """Return a validity buffer, which is reused for the next batch."""
        if len(self._valid) < rows:
            self._valid = np.empty(rows, np.uint8)
        return self._valid

    def _decode(self, output: ChunkOutput) -> ChunkOutput:
        loop, state = take_loop(), self._state
        if loop is None:
            raise UnusualChunkError("there is no compiled library")
        output.state.skip, self._skipped_rows = self._skipped_rows, 0
        output_ref = byref(output.state)
        while (status := loop(self._state_ref, output_ref)) != Status.DONE:
            match status:
                case Status.MORE_INPUT:
                    self._read(state.needed)
                case Status.MORE_PAGE:
                    self._page = self._room(state.needed)
                    state.page, state.page_room = self._page.address, len(self._page)
                case Status.MORE_WORDS:
                    self._make_dictionary_room()
                case Status.MORE_OUT:
                    output.grow(state.needed)
                case Status.DECOMPRESS_PAGE:
                    self._decompress(self._page)
                case Status.DECOMPRESS_WORDS:
                    self._decompress(self._dictionary)
                case Status.NOT_CODED:
                    break
                case _:
                    raise UnusualChunkError("damaged, or in an unusual encoding")
        return output

    def _read(self, least_bytes: int) -> None:
        """Fill the input buffer with at least `least_bytes` bytes, starting at the next page."""
        state = self._state
        skipped = max(state.input_at - state.input_size, 0)
        unread = max(state.input_size - state.input_at, 0)
        self._offset += skipped
        self._unread_bytes -= skipped
        end = unread + min(max(least_bytes - unread, _READ_BYTES), self._unread_bytes)
        if end <= unread:
            raise UnusualChunkError("the chunk ends too early")
        before = self._input  # the unread bytes are copied from it below
        if len(before) < end:
            self._input = self._memory.block(_checked_size(end))
        if unread:
            self._input.bytes[:unread] = before.bytes[state.input_at : state.input_size]
        self._read_into(self._offset, self._input.bytes[unread:end].data)
        self._offset += end - unread
        self._unread_bytes -= end - unread
        state.input, state.input_size, state.input_at = self._input.address, end, 0

    def _room(self, size: int) -> Block:
        return self._memory.block(_checked_size(size) * 3 // 2)  # the next page is a little larger

    def _make_dictionary_room(self) -> None:
        state = self._state
        self._dictionary = self._room(state.needed + COPY_STEP_BYTES)
        state.dictionary, state.dictionary_room = self._dictionary.address, len(self._dictionary)
        entries = _checked_size(state.needed_entries) + 1
        self._starts = np.empty(1 if self._layout.width else entries, np.int32)
        state.starts, state.starts_room = self._starts.ctypes.data, entries

    def _decompress(self, into: Block) -> None:
        state = self._state
        body = self._input.bytes[state.body_at : state.body_at + state.body_size]
        room = into.bytes[state.room_at : state.room_at + state.needed]
        try:
            self._codec.decompress_into(body.data, room.data)
        except ValueError as error:
            raise UnusualChunkError(str(error)) from error
        state.is_decompressed = 1

    def _read_words(self) -> pa.Array:
        write = dictionary_loop()
        assert write is not None
        offsets = pa.allocate_buffer((self._state.starts_room) * _OFFSET_BYTES)
        out = pa.allocate_buffer(max(len(self._dictionary), 1))
        entries = write(self._state_ref, offsets.address, out.address)
        return pa.Array.from_buffers(self._layout.type, entries, [None, offsets, out])


def _checked_size(size: int) -> int:
    if not 0 <= size <= _MAX_PAGE_BYTES:
        raise UnusualChunkError(f"a page of {size} bytes")
    return size
