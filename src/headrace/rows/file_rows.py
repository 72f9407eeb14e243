"""The rows of a file that is open.

Row groups are left out by their statistics; then, where the predicate looks at a small part of
the columns, by those columns alone, so that the others are not decoded in vain. Texts that the file
has as dictionary codes stay codes until rows have been chosen.
"""

from collections.abc import Callable, Iterator
from itertools import accumulate

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.metrics.meter import Meter
from headrace.plan.cancellation import Cancellation
from headrace.rows.file_plan import Selection
from headrace.rows.row_group import RowGroupEvidence, matching_groups
from headrace.rows.stored_rows import StoredRows, without_columns

LARGE_GROUP_ROWS = 20_000
"""From here on it pays to open a file once more for codes, and to look at few columns first."""
_CODED_BYTES = 4
"""A plain text has more bytes than this for its length alone: with fewer a column has codes."""
_CODABLE = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})
"""The encodings that Arrow's reader of dictionary codes has; of levels, and of values."""


class OpenFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is open, and what is known of it."""

    parquet: pq.ParquetFile
    content: StoredRows
    reopen: Callable[[list[str]], pq.ParquetFile]
    """Open it again so that these columns are read as dictionary codes."""
    is_in_memory: bool
    """Whether its bytes have been read, and counted."""


class FileRows:
    """Reads what a request asks of one file."""

    def __init__(self, opened: OpenFile, *, meter: Meter, cancellation: Cancellation) -> None:
        self._opened = opened
        self.content = opened.content
        self._plan = opened.content.plan
        self._request = opened.content.request
        self._meter = meter
        self._cancellation = cancellation
        self._footer = opened.parquet.metadata
        self._reader = opened.parquet.reader

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The wanted rows, in order; no batch is empty."""
        for first_row, batch in self.stored():
            rows = self.content.rows(batch, first_row)
            if rows is not None:
                yield rows

    def stored(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches of the row groups that may have wanted rows, each after its first row's index."""
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
                yield row, batch
                row += batch.num_rows
        if skipped:
            self._meter.count(row_groups_skipped=skipped)

    def _groups(self) -> list[int]:
        groups = self._footer.num_row_groups
        is_small = groups == 1 and self._footer.num_rows < LARGE_GROUP_ROWS
        # The log's statistics have spoken already: what a small file has to add is soon read.
        if self._request.predicate is None or is_small:
            return list(range(groups))
        evidence = RowGroupEvidence(self._footer, self._plan.looked_at, self.content.partition)
        return matching_groups(self._request.predicate, evidence)

    def _is_deleted(self, start: int, rows: int) -> bool:
        deleted = self.content.deleted
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
            if self.content.matching(batch, plan.evidence).true_count:
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
        if not self._opened.is_in_memory:
            self._meter.count(bytes_read=self._size_bytes(group, selection), requests=1)
        yield from self._reader.iter_batches(
            rows_per_batch, row_groups=[group], column_indices=selection.leaves, use_threads=False
        )


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
        yield without_columns(min(rows_per_batch, rows - start))
