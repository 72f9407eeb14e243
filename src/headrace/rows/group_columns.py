"""Decodes the columns of a row group in step; each batch decodes only the requested columns.

`ColumnChunk` decodes flat columns and writes only the chosen rows. Arrow's reader decodes the other
columns, all rows of them.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from headrace.compiled.columns import set_bits_loop
from headrace.protocol import light
from headrace.rows.chunk_output import Rows, UnusualChunkError
from headrace.rows.column_chunk import ColumnChunk
from headrace.rows.file_plan import Selection
from headrace.rows.plain import plain_array


class ArrowColumns:
    """Columns that Arrow decodes, aligned with batches of any size."""

    def __init__(
        self, selection: Selection, open_batches: Callable[[], Iterator[pa.RecordBatch]]
    ) -> None:
        self._selection = selection
        self._open = open_batches
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._remainder: pa.RecordBatch | None = None
        self._skipped_rows = 0

    def skip(self, rows: int) -> None:
        """Skip the next rows; they are decoded only if later rows are requested."""
        self._skipped_rows += rows

    def take(self, rows: int) -> Mapping[int, pa.Array]:
        """Return the next rows of each column, by its position in the file."""
        skipped, self._skipped_rows = self._skipped_rows, 0
        for _ in self._slices(skipped):
            pass
        batch = pa.concat_batches(list(self._slices(rows)))
        places = self._selection.places
        return {at: plain_array(batch.column(place)) for at, place in places.items()}

    def _slices(self, rows: int) -> Iterator[pa.RecordBatch]:
        if self._batches is None:
            self._batches = self._open()
        while rows:
            if self._remainder is None or not self._remainder.num_rows:
                self._remainder = next(self._batches, None)
                if self._remainder is None:
                    raise UnusualChunkError("the row group has fewer rows than its footer says")
            piece = self._remainder.slice(0, rows)
            self._remainder = self._remainder.slice(piece.num_rows)
            rows -= piece.num_rows
            yield piece


class GroupColumns:
    """The columns of one row group."""

    def __init__(
        self, chunks: Mapping[int, ColumnChunk], arrow_columns: ArrowColumns | None
    ) -> None:
        """Take the chunks by their position in the file, and the columns that Arrow decodes."""
        self._chunks = chunks
        self._arrow_columns = arrow_columns

    @property
    def decoded(self) -> int:
        """The number of chunks that the compiled loop decodes."""
        return len(self._chunks)

    def next_batch(self, rows: int) -> "DecodedRows":
        """Return the next rows; call `finish` on the batch before requesting another."""
        return DecodedRows(self._chunks, self._arrow_columns, rows)


class DecodedRows:
    """Some rows of a row group, decoded column by column."""

    def __init__(
        self, chunks: Mapping[int, ColumnChunk], arrow_columns: ArrowColumns | None, rows: int
    ) -> None:
        self.rows = rows
        self._chunks = chunks
        self._arrow_columns = arrow_columns
        self._decoded: dict[int, pa.Array] = {}
        self._chosen: dict[int, pa.Array] = {}

    def values(self, position: int) -> pa.Array:
        """Return all rows of a column; strings may be dictionary codes.

        Raises:
            UnusualChunkError: Arrow must decode the row group.
        """
        if position not in self._decoded:
            chunk = self._chunks.get(position)
            if chunk is None:
                self._decode_arrow_columns()
            else:
                self._decoded[position] = chunk.take_codes(self.rows)
        return self._decoded[position]

    def chosen(self, position: int, rows: Rows | None) -> pa.Array:
        """Return the chosen rows of a column, or all if `rows` is None.

        Raises:
            UnusualChunkError: Arrow must decode the row group.
        """
        if position not in self._chosen:
            if position in self._decoded or position not in self._chunks:
                values = self.values(position)
                self._chosen[position] = (
                    values if rows is None else values.take(light.from_numpy(rows))
                )
            else:
                self._chosen[position] = self._chunks[position].take(self.rows, rows)
        return self._chosen[position]

    def finish(self) -> None:
        """Skip the rows in the columns that were not requested."""
        requested = self._decoded.keys() | self._chosen.keys()
        for position in self._chunks.keys() - requested:
            self._chunks[position].skip(self.rows)
        if self._arrow_columns is not None and requested <= self._chunks.keys():
            self._arrow_columns.skip(self.rows)

    def _decode_arrow_columns(self) -> None:
        assert self._arrow_columns is not None
        self._decoded.update(self._arrow_columns.take(self.rows))


def chosen_rows(keep: pa.BooleanArray, count: int) -> Rows:
    """Return the indices of the `count` rows that are kept; a null counts as false."""
    if keep.null_count:
        keep = keep.fill_null(light.FALSE)
    write = set_bits_loop()
    if write is None:
        return np.flatnonzero(light.to_numpy(keep)).astype(np.uint32)
    rows = np.empty(count, np.uint32)
    write(keep.buffers()[1].address, keep.offset, len(keep), rows.ctypes.data)
    return rows
