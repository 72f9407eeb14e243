"""The rows of a file that is open.

Row groups are left out by their statistics; then, where the predicate looks at a small part of
the columns, by those columns alone, so that the others are not decoded in vain. Texts that the file
has as dictionary codes stay codes until rows have been chosen.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.expr.exact import evaluate_rows
from headrace.expr.node import BoundColumn
from headrace.metrics.meter import Meter
from headrace.plan.cancellation import Cancellation
from headrace.protocol.arrow_schema import arrow_type
from headrace.rows.deletion_vector import DeletedRows
from headrace.rows.file_plan import FilePlan, Selection
from headrace.rows.plain import plain_array
from headrace.rows.request import RowRequest
from headrace.rows.resolve import ColumnReading
from headrace.rows.row_filter import member
from headrace.rows.row_group import RowGroupEvidence, matching_groups

LARGE_GROUP_ROWS = 20_000
"""From here on it pays to open a file once more for codes, and to look at few columns first."""
_CODED_BYTES = 4
"""A plain text has more bytes than this for its length alone: with fewer a column has codes."""
_CODABLE = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})
"""The encodings that Arrow's reader of dictionary codes has; of levels, and of values."""


class OpenFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is open, and what is known of it."""

    parquet: pq.ParquetFile
    plan: FilePlan
    partition: Mapping[str, pa.Scalar]
    deleted: DeletedRows | None
    only: DeletedRows | None
    reopen: Callable[[list[str]], pq.ParquetFile]
    """Open it again so that these columns are read as dictionary codes."""


class FileRows:
    """Reads what a request asks of one file."""

    def __init__(
        self, opened: OpenFile, request: RowRequest, *, meter: Meter, cancellation: Cancellation
    ) -> None:
        self._opened = opened
        self._plan = opened.plan
        self._request = request
        self._meter = meter
        self._cancellation = cancellation
        self._footer = opened.parquet.metadata
        self._reader = opened.parquet.reader

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The wanted rows, in order; no batch is empty."""
        groups = self._groups()
        sizes = [self._footer.row_group(g).num_rows for g in range(self._footer.num_row_groups)]
        if any(sizes[group] >= LARGE_GROUP_ROWS for group in groups):
            self._read_codes(groups)
        starts = [0, *accumulate(sizes)]
        skipped = len(sizes) - len(groups)
        for group in groups:
            row, rows = starts[group], sizes[group]
            if self._is_deleted(row, rows) or not self._may_match(group, rows):
                skipped += 1
                continue
            for batch in self._stored(group, self._plan.everything):
                self._cancellation.check()
                chosen = self._rows(batch, row)
                row += batch.num_rows
                if chosen is not None:
                    yield chosen
        if skipped:
            self._meter.count(row_groups_skipped=skipped)

    def _groups(self) -> list[int]:
        groups = self._footer.num_row_groups
        is_small = groups == 1 and self._footer.num_rows < LARGE_GROUP_ROWS
        # The log's statistics have spoken already: what a small file has to add is soon read.
        if self._request.predicate is None or is_small:
            return list(range(groups))
        evidence = RowGroupEvidence(self._footer, self._plan.looked_at, self._opened.partition)
        return matching_groups(self._request.predicate, evidence)

    def _is_deleted(self, start: int, rows: int) -> bool:
        deleted = self._opened.deleted
        return deleted is not None and rows > 0 and deleted.count(start, rows) == rows

    def _may_match(self, group: int, rows: int) -> bool:
        """Whether some row is chosen; False only where the values say so.

        The first match ends the search, so that it costs little where there are many.
        """
        plan, predicate = self._plan, self._request.predicate
        if predicate is None or rows < LARGE_GROUP_ROWS or not plan.evidence.leaves:
            return True
        if 2 * self._size_bytes(group, plan.evidence) > self._size_bytes(group, plan.everything):
            return True
        for batch in self._stored(group, plan.evidence):
            self._cancellation.check()
            if self._matching(batch, plan.evidence).true_count:
                return True
        return False

    def _read_codes(self, groups: list[int]) -> None:
        """Read texts as codes from now on, where the file has codes for nearly all of them."""
        coded = [
            leaf
            for leaf in self._plan.texts
            if all(_is_coded(self._footer.row_group(group).column(leaf)) for group in groups)
        ]
        if coded:
            schema = self._opened.parquet.schema
            self._reader = self._opened.reopen([schema.column(leaf).path for leaf in coded]).reader

    def _size_bytes(self, group: int, selection: Selection) -> int:
        chunks = self._footer.row_group(group)
        return sum(chunks.column(leaf).total_compressed_size for leaf in selection.leaves)

    def _stored(self, group: int, selection: Selection) -> Iterator[pa.RecordBatch]:
        """What the file holds of a row group, in plain types of its own."""
        rows_per_batch = self._request.rows_per_batch
        if not selection.leaves:
            yield from _bare(self._footer.row_group(group).num_rows, rows_per_batch)
            return
        self._meter.count(bytes_read=self._size_bytes(group, selection), requests=1)
        yield from self._reader.iter_batches(
            rows_per_batch, row_groups=[group], column_indices=selection.leaves, use_threads=False
        )

    def _rows(self, batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch | None:
        """The rows that are neither deleted nor ruled out, as the table has them; None: none."""
        opened, plan = self._opened, self._plan
        keep = None
        if opened.deleted is not None:
            keep = opened.deleted.kept(first_row, batch.num_rows)
        if opened.only is not None:
            keep = _both(keep, opened.only.named(first_row, batch.num_rows))
        if self._request.predicate is not None and (keep is None or keep.true_count):
            keep = _both(keep, self._matching(batch, plan.everything))
        rows = batch.num_rows if keep is None else keep.true_count
        if not rows:
            return None
        schema = self._request.output_schema
        if not schema.names:
            return _without_columns(rows)
        is_whole = rows == batch.num_rows
        arrays = [self._column(f, batch, None if is_whole else keep, rows) for f in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _matching(self, batch: pa.RecordBatch, selection: Selection) -> pa.BooleanArray:
        assert self._request.predicate is not None
        known: dict[tuple[str, ...], pa.Array] = {}

        def values(column: BoundColumn) -> pa.Array:
            if column.path not in known:
                known[column.path] = self._values(column, batch, selection)
            return known[column.path]

        return evaluate_rows(self._request.predicate, values, rows=batch.num_rows)

    def _values(self, column: BoundColumn, batch: pa.RecordBatch, selection: Selection) -> pa.Array:
        if column.is_partition:
            return pa.repeat(self._opened.partition[column.path[0]], batch.num_rows)
        found = self._plan.looked_at[column.path]
        if found is None:
            return pa.nulls(batch.num_rows, arrow_type(column.type))
        stored = self._stored_column(found, batch, selection)
        if _is_codes_of(stored, arrow_type(column.type)):
            return stored
        return member(_read(found, stored), depth=len(column.path) - 1)

    def _stored_column(
        self, column: ColumnReading, batch: pa.RecordBatch, selection: Selection
    ) -> pa.Array:
        stored = batch.column(selection.places[column.position])
        return plain_array(stored) if column.position in self._plan.views else stored

    def _column(
        self, field: pa.Field, batch: pa.RecordBatch, keep: pa.BooleanArray | None, rows: int
    ) -> pa.Array:
        if field.name not in self._plan.wanted:
            return pa.repeat(self._opened.partition[field.name], rows)
        column = self._plan.wanted[field.name]
        if column is None:
            return pa.nulls(rows, field.type)
        stored = self._stored_column(column, batch, self._plan.everything)
        return _read(column, stored if keep is None else stored.filter(keep))


def _read(column: ColumnReading, stored: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(stored.type) and not column.is_stored_as_codes:
        stored = stored.dictionary.take(stored.indices)  # quicker than a cast
    return column.reading.read(stored)


def _is_codes_of(array: pa.Array, words: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(array.type)) and array.type.value_type == words


def _both(first: pa.BooleanArray | None, second: pa.BooleanArray) -> pa.BooleanArray:
    return second if first is None else pc.and_kleene(first, second)


def _is_coded(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether nearly all texts of a chunk are codes, so that few are looked up in vain."""
    if not chunk.has_dictionary_page or not _CODABLE.issuperset(chunk.encodings):
        return False
    statistics = chunk.statistics
    nulls = statistics.null_count if statistics is not None and statistics.has_null_count else 0
    return bool(chunk.total_uncompressed_size <= _CODED_BYTES * (chunk.num_values - nulls))


def _bare(rows: int, rows_per_batch: int) -> Iterator[pa.RecordBatch]:
    """Batches that have rows and no columns: all that is to be known is in the footer."""
    for start in range(0, rows, rows_per_batch):
        yield _without_columns(min(rows_per_batch, rows - start))


def _without_columns(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(rows)], ["row"]).select([])
