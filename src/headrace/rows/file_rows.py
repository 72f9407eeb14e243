"""Reads the rows of an open file.

Row groups are skipped by their statistics. In large ones the columns of the predicate are decoded
first, and of the other columns only the matching rows (`group_selection`). Otherwise Arrow decodes
all rows; string columns stay dictionary codes until rows have been selected.
"""

from collections.abc import Generator, Iterator
from itertools import accumulate
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.compiled.memory import Memory
from headrace.metrics.meter import Meter
from headrace.plan.cancellation import Cancellation
from headrace.rows.chunk_output import UnusualChunkError
from headrace.rows.file_bytes import RowGroupBytes
from headrace.rows.file_plan import Selection
from headrace.rows.group_selection import GroupSelection, select_rows
from headrace.rows.parquet_file import OpenDataFile
from headrace.rows.row_group import RowGroupEvidence, matching_groups
from headrace.rows.stored_rows import StoredRows, without_columns

LARGE_GROUP_ROWS = 20_000
"""The smallest row group for which dictionary codes and a first pass over the predicate pay."""
_AT_ONCE = 4
"""The number of batches to decode at once under a predicate, which may keep few rows."""
_CODED_BYTES = 4
"""The length prefix of a plain string: columns with fewer bytes per value have codes."""
_CODABLE = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})
"""The encodings of levels and values that Arrow can read as dictionary codes."""


class OpenFile(msgspec.Struct, frozen=True, kw_only=True):
    """An open file and its plan."""

    source: OpenDataFile
    content: StoredRows
    memory: Memory
    """The source of page buffers."""
    row_groups: RowGroupBytes | None = None
    """Prefetches the row groups of a large remote file."""


class _Group(NamedTuple):
    """A row group: its number, the index of its first row in the file, and its row count."""

    number: int
    first_row: int
    rows: int


class FileRows:
    """Reads the requested rows of one file."""

    def __init__(self, opened: OpenFile, *, meter: Meter, cancellation: Cancellation) -> None:
        self._opened = opened
        self.content = opened.content
        self._plan = opened.content.plan
        self._request = opened.content.request
        self._meter = meter
        self._cancellation = cancellation
        self._footer = opened.source.parquet.metadata
        self._reader = opened.source.parquet.reader
        self._selection = GroupSelection(opened.source, self._plan, opened.memory, meter)
        self._has_read_codes = False
        self._skipped = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the matching rows in order; no batch is empty."""
        groups = self._groups()
        for group in groups:
            done_rows = yield from self._selected(group)
            if done_rows == group.rows:
                continue
            for first_row, batch in self._stored_rows(group, groups):
                done = min(max(group.first_row + done_rows - first_row, 0), batch.num_rows)
                if done < batch.num_rows:
                    rows = self.content.rows(batch.slice(done), first_row + done)
                    if rows is not None:
                        yield rows
        self._count_skipped(groups)

    def stored(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the stored batches of row groups that may match, each after its first row."""
        groups = self._groups()
        for group in groups:
            yield from self._stored_rows(group, groups)
        self._count_skipped(groups)

    def _selected(self, group: "_Group") -> Generator[pa.RecordBatch, None, int]:
        """Yield the matching rows of a row group, decoding little else.

        Returns:
            The number of rows processed; Arrow must decode the remaining ones.
        """
        done_rows = chosen_rows = 0
        columns = None
        try:
            columns = self._selection.columns(group.number)
            most_rows = self._request.rows_per_batch
            at_once = most_rows if self._request.predicate is None else _AT_ONCE * most_rows
            while columns is not None and done_rows < group.rows:
                self._cancellation.check()
                rows = min(at_once, group.rows - done_rows)
                batch = columns.next_batch(rows)
                selected = select_rows(self.content, batch, group.first_row + done_rows)
                done_rows += rows
                if selected is not None:
                    chosen_rows += selected.num_rows
                    for start in range(0, selected.num_rows, most_rows):
                        yield selected.slice(start, most_rows)
        except UnusualChunkError:
            pass
        if columns is not None and done_rows == group.rows:
            self._meter.count(chunks_decoded=columns.decoded)
            self._skipped += not chosen_rows
        return done_rows

    def _stored_rows(
        self, group: "_Group", groups: list["_Group"]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        if not self._has_read_codes:
            self._has_read_codes = True
            if any(group.rows >= LARGE_GROUP_ROWS for group in groups):
                self._read_codes([group.number for group in groups])
        if self._opened.row_groups is not None:
            later = groups[groups.index(group) :]
            self._opened.row_groups.start([group.number for group in later])
        if not self._may_match(group.number, group.rows):
            self._skipped += 1
            return
        row = group.first_row
        self._meter.count(chunks_left_to_arrow=len(self._plan.everything.leaf_columns))
        for batch in self._stored(group.number, self._plan.everything):
            self._cancellation.check()
            yield row, batch
            row += batch.num_rows

    def _count_skipped(self, groups: list["_Group"]) -> None:
        skipped = self._footer.num_row_groups - len(groups) + self._skipped
        if skipped:
            self._meter.count(row_groups_skipped=skipped)

    def _groups(self) -> list["_Group"]:
        """Return the row groups that may contain matching rows."""
        sizes = [self._footer.row_group(g).num_rows for g in range(self._footer.num_row_groups)]
        starts = accumulate(sizes, initial=0)
        groups = [_Group(*facts) for facts in zip(range(len(sizes)), starts, sizes, strict=False)]
        matching = self._matching_groups()
        return [
            group
            for group in (groups if matching is None else map(groups.__getitem__, matching))
            if not self._is_deleted(group.first_row, group.rows)
        ]

    def _matching_groups(self) -> list[int] | None:
        """Return the row groups that may match by their statistics; None for all."""
        groups = self._footer.num_row_groups
        is_small = groups == 1 and self._footer.num_rows < LARGE_GROUP_ROWS
        # The log's statistics have pruned the file already; reading a small one is cheap.
        if self._request.predicate is None or is_small:
            return None
        evidence = RowGroupEvidence(
            self._footer, self._plan.predicate_columns, self.content.partition
        )
        return matching_groups(self._request.predicate, evidence)

    def _is_deleted(self, start: int, rows: int) -> bool:
        deleted = self.content.deleted
        return deleted is not None and rows > 0 and deleted.count(start, rows) == rows

    def _may_match(self, group: int, rows: int) -> bool:
        """Whether any row matches; False only if the values prove it.

        The first match ends the search.
        """
        plan, predicate = self._plan, self._request.predicate
        if predicate is None or rows < LARGE_GROUP_ROWS or not plan.evidence.leaf_columns:
            return True
        if 2 * self._size_bytes(group, plan.evidence) > self._size_bytes(group, plan.everything):
            return True
        for batch in self._stored(group, plan.evidence):
            self._cancellation.check()
            if self.content.matches_any(batch):
                return True
        return False

    def _read_codes(self, groups: list[int]) -> None:
        """From now on, read string columns as codes if nearly all their values are coded."""
        coded = [
            leaf_column
            for leaf_column in self._plan.texts
            if all(_is_coded(self._footer.row_group(group).column(leaf_column)) for group in groups)
        ]
        if coded:
            schema = self._opened.source.parquet.schema
            paths = [schema.column(leaf_column).path for leaf_column in coded]
            self._reader = self._opened.source.with_codes(paths).reader

    def _size_bytes(self, group: int, selection: Selection) -> int:
        chunks = self._footer.row_group(group)
        return sum(
            chunks.column(leaf_column).total_compressed_size
            for leaf_column in selection.leaf_columns
        )

    def _stored(self, group: int, selection: Selection) -> Iterator[pa.RecordBatch]:
        """Yield the stored rows of a row group.

        Raises:
            pa.ArrowInvalid: a column ends before the row group does.
        """
        rows_per_batch = self._request.rows_per_batch
        rows_left = self._footer.row_group(group).num_rows
        if not selection.leaf_columns:
            yield from _batches_without_columns(rows_left, rows_per_batch)
            return
        if self._opened.source.is_local_file:  # else the store counts
            self._meter.count(bytes_read=self._size_bytes(group, selection), requests=1)
        batches = self._reader.iter_batches(
            rows_per_batch,
            row_groups=[group],
            column_indices=selection.leaf_columns,
            use_threads=False,
        )
        for batch in batches:
            rows_left -= batch.num_rows
            yield batch
        if rows_left:  # Arrow ends with the shortest column, without an error
            raise pa.ArrowInvalid(f"row group {group} does not have the rows its footer says")


def _is_coded(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether nearly all strings of a chunk are dictionary codes."""
    if not chunk.has_dictionary_page or not _CODABLE.issuperset(chunk.encodings):
        return False
    statistics = chunk.statistics
    nulls = statistics.null_count if statistics is not None and statistics.has_null_count else 0
    return bool(chunk.total_uncompressed_size <= _CODED_BYTES * (chunk.num_values - nulls))


def _batches_without_columns(rows: int, rows_per_batch: int) -> Iterator[pa.RecordBatch]:
    """Yield batches without columns: the footer has the number of rows."""
    for start in range(0, rows, rows_per_batch):
        yield without_columns(min(rows_per_batch, rows - start))
