"""Late materialisation of large row groups: the predicate's columns are decoded first.

Of the other columns only the matching rows are decoded. If no row of a row group matches, they are
not read at all.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa

from headrace.compiled.columns import take_loop
from headrace.compiled.memory import Memory
from headrace.metrics.meter import Meter
from headrace.rows.chunk_layout import ChunkLayout, chunk_layout
from headrace.rows.chunk_output import Rows
from headrace.rows.column_chunk import ColumnChunk
from headrace.rows.file_plan import FilePlan, Selection
from headrace.rows.group_columns import ArrowColumns, DecodedRows, GroupColumns, chosen_rows
from headrace.rows.parquet_file import OpenDataFile
from headrace.rows.reading import ReadLeafColumn
from headrace.rows.resolve import ColumnReading
from headrace.rows.stored_rows import StoredRows

MIN_ROWS = 20_000
"""In smaller row groups the preparation costs more than it saves."""


class GroupSelection:
    """Opens the columns of a file's row groups for decoding."""

    def __init__(self, source: OpenDataFile, plan: FilePlan, memory: Memory, meter: Meter) -> None:
        self._source = source
        self._plan = plan
        self._memory = memory
        self._meter = meter
        self._layouts: Mapping[int, tuple[int, ChunkLayout]] | None = None

    def columns(self, group: int) -> GroupColumns | None:
        """Return the columns of a row group, or None if Arrow must decode all of them."""
        if not self._source.is_local_file or take_loop() is None:
            return None
        parquet = self._source.parquet
        metadata = parquet.metadata.row_group(group)
        if metadata.num_rows < MIN_ROWS:
            return None
        if self._layouts is None:
            self._layouts = dict(self._find_layouts())
        chunks = {}
        for position, (leaf_column, layout) in self._layouts.items():
            chunk = metadata.column(leaf_column)
            if chunk.num_values == metadata.num_rows and not chunk.file_path:
                chunks[position] = ColumnChunk(
                    chunk, layout, read_into=self._read_into, memory=self._memory
                )
        return GroupColumns(chunks, self._arrow_columns(group, chunks)) if chunks else None

    def _find_layouts(self) -> Iterator[tuple[int, tuple[int, ChunkLayout]]]:
        schema = self._source.parquet.schema
        for column in self._columns():
            if isinstance(column.reading, ReadLeafColumn):
                leaf_column = column.reading.leaf_column
                layout = chunk_layout(column.reading.source, schema.column(leaf_column))
                if layout is not None:
                    yield column.position, (leaf_column, layout)

    def _columns(self) -> Iterator[ColumnReading]:
        for column in (*self._plan.columns.values(), *self._plan.predicate_columns.values()):
            if column is not None:
                yield column

    def _arrow_columns(self, group: int, chunks: Mapping[int, ColumnChunk]) -> ArrowColumns | None:
        """Return the columns that Arrow must decode."""
        columns = [column for column in self._columns() if column.position not in chunks]
        if not columns:
            return None
        selection = Selection.of(columns)
        return ArrowColumns(selection, partial(self._arrow_batches, group, selection.leaf_columns))

    def _arrow_batches(self, group: int, leaf_columns: list[int]) -> Iterator[pa.RecordBatch]:
        parquet = self._source.parquet
        metadata = parquet.metadata.row_group(group)
        size = sum(
            metadata.column(leaf_column).total_compressed_size for leaf_column in leaf_columns
        )
        self._meter.count(bytes_read=size, requests=1, chunks_left_to_arrow=len(leaf_columns))
        batches: Iterator[pa.RecordBatch] = parquet.reader.iter_batches(
            MIN_ROWS, row_groups=[group], column_indices=leaf_columns, use_threads=False
        )
        return batches

    def _read_into(self, offset: int, memory: memoryview) -> None:
        self._source.read_into(offset, memory)
        self._meter.count(bytes_read=len(memory), requests=1)


def select_rows(content: StoredRows, batch: DecodedRows, first_row: int) -> pa.RecordBatch | None:
    """Return the rows of a batch that are not deleted and match, or None if there are none.

    Args:
        content: Converts stored rows to rows of the table.
        batch: The columns of the rows, not yet decoded.
        first_row: The index of the first row in its file.

    Raises:
        UnusualChunkError: Arrow must decode the rows.
    """
    keep = content.keep(first_row, batch.rows, lambda column: batch.values(column.position))
    count = batch.rows if keep is None else keep.true_count
    selected = None
    if count:
        rows: Rows | None = (
            None if keep is None or count == batch.rows else chosen_rows(keep, count)
        )
        selected = content.output(count, lambda column: batch.chosen(column.position, rows))
    batch.finish()
    return selected
