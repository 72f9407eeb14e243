"""Reads leaves of a checkpoint in three steps: decide, select, materialize.

Pieces of leaves enter: `GroupJudge` has decided which row groups may hold matching adds. From each
piece that `AddReader` reads, `LeafScan` selects the adds that neither statistics nor newer commits
exclude; the reader then materializes the columns that the selection did not need. Batches of adds
leave.
"""

from collections.abc import Generator, Iterator
from itertools import groupby
from operator import attrgetter

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.engines.arrow.checkpoint.add_batches import UNUSUAL, AddReader, AddRows, AddSelection
from headrace.engines.arrow.checkpoint.group_judge import (
    PARTITION_VALUES,
    GroupJudge,
    GroupToRead,
    PossibleGroup,
)
from headrace.engines.arrow.checkpoint.parquet_source import ParquetSource
from headrace.engines.arrow.column_batch import ColumnBatch, child
from headrace.engines.arrow.plain import plain_batch
from headrace.engines.window import Windows
from headrace.errors import CorruptCheckpointError
from headrace.plan.context import ExecutionContext
from headrace.protocol.log_file import LogFile
from headrace.replay.match import SeenMatcher
from headrace.replay.skipping import SplitPredicate, keep_mask
from headrace.storage.byte_range import ByteRange

_OFTEN_NULL = frozenset({"add.deletionVector", "add.tags"})
_LATE = ("add.stats",)


class LeafPiece(msgspec.Struct, frozen=True, kw_only=True):
    """Row groups of one file: the unit of work of a thread."""

    file: LogFile
    groups: list[PossibleGroup]
    """Row groups of a local file, which the thread judges."""
    read_ahead: tuple[tuple[GroupToRead, Windows], ...] = ()
    """Row groups of a remote file, each with its bytes."""


class LeafScan(msgspec.Struct, frozen=True, kw_only=True):
    """How to read the adds of a leaf; shared by all of its row groups."""

    source: ParquetSource
    judge: GroupJudge
    columns: tuple[str, ...]
    """The columns to read, including those of the predicate."""
    output_columns: tuple[str, ...] | None
    """The columns to return; None: all that are read."""
    predicate: SplitPredicate | None
    matcher: SeenMatcher | None
    context: ExecutionContext

    def read(self, pieces: Iterator[LeafPiece]) -> Generator[ColumnBatch, None, None]:
        """Yield the matching adds of pieces; a file stays open for its consecutive pieces."""
        for file, of_file in groupby(pieces, key=attrgetter("file")):
            codes = self._map_columns(file)
            opened = AddReader.open(self.source, file, codes=codes, batch_rows=self._batch_rows)
            with opened as reader:
                for piece in of_file:
                    for possible in piece.groups:
                        self.context.cancellation.check()
                        group_to_read = self.judge.judged(
                            reader.opened, possible, memory=reader.memory
                        )
                        if group_to_read is not None:
                            yield from self._read_group(reader, group_to_read)
                    for group_to_read, windows in piece.read_ahead:
                        self.context.cancellation.check()
                        with reader.opened.following(windows):
                            yield from self._read_group(reader, group_to_read)

    def ranges(self, file: LogFile, group: int) -> list[ByteRange]:
        """Return the byte ranges to read of a row group."""
        footer = self.source.footer(file)
        return footer.ranges(group, footer.leaf_columns(self._columns_of(file, group)))

    def _read_group(self, reader: AddReader, group_to_read: GroupToRead) -> Iterator[ColumnBatch]:
        """Select rows of a group, and complete the selection."""
        group, mask = group_to_read.group, group_to_read.mask
        columns = self._columns_of(reader.file, group)
        try:
            if mask is not None:
                rows = _plain_rows(reader.rows_of(group, AddSelection(columns=columns, mask=mask)))
                for batch in _joined_batches(rows, batch_rows=self._batch_rows):
                    yield self._select(_adds(reader, batch))
                return
            for add_rows, may_decline in reader.rows_of(
                group, AddSelection(columns=columns, late=self._late)
            ):
                try:
                    # One expression, so that nothing else references the rows while it completes.
                    batch = add_rows.complete(
                        self._select(
                            _adds(reader, plain_batch(add_rows.take(), coded="partitionValues"))
                        )
                    )
                except UNUSUAL:
                    if not may_decline:
                        raise
                    add_rows.decline()
                else:
                    yield batch
        except (UnicodeDecodeError, pa.ArrowException) as error:
            # Arrow validates strings and codes only when they are accessed.
            raise CorruptCheckpointError(path=reader.file.path, reason=str(error)) from error

    @property
    def _late(self) -> tuple[str, ...]:
        """Columns that the selection does not need, if newer commits may hide some files."""
        needs_statistics = self.predicate is not None and self.predicate.by_statistics is not None
        return () if needs_statistics or self.matcher is None else _LATE

    def _columns_of(self, file: LogFile, group: int) -> tuple[str, ...]:
        """Return the columns to read, without those that the footer reports as null."""
        footer = self.source.footer(file)
        columns = self.columns
        if (
            self.output_columns is not None
            and self.predicate is not None
            and self.predicate.by_statistics is None
        ):
            columns = self.output_columns  # partition values alone decide, and have been checked
        return tuple(
            column
            for column in columns
            if column not in _OFTEN_NULL or not footer.is_null(group, column)
        )

    def _select(self, batch: ColumnBatch) -> ColumnBatch:
        """Return the adds that neither statistics nor newer commits exclude."""
        if self.predicate is not None and self.predicate.by_statistics is not None and len(batch):
            keep = keep_mask(self.predicate.by_statistics, batch)
            self.context.meter.count(rows_filtered_by_data_skipping=len(keep) - keep.true_count)
            batch = batch.filter(keep)
        if self.matcher is not None and len(batch):
            paths, vectors = batch.field("path"), batch.field("deletionVector")
            batch = batch.without(self.matcher.seen_rows(paths, vectors))
        if batch.lacks("size"):  # once a file is returned, no older base can be used
            raise CorruptCheckpointError(path=batch.source.path, reason="an add has no size")
        return batch

    @property
    def _batch_rows(self) -> int:
        return self.context.settings.batch_rows

    def _map_columns(self, file: LogFile) -> list[str]:
        if PARTITION_VALUES not in self.columns:
            return []
        return self.source.footer(file).leaf_columns((PARTITION_VALUES,))


def _plain_rows(parts: Iterator[tuple[AddRows, bool]]) -> Iterator[pa.RecordBatch]:
    """Yield all rows of the parts, with plain strings."""
    for add_rows, may_decline in parts:
        try:
            rows = plain_batch(add_rows.take())
        except UNUSUAL:
            if not may_decline:
                raise
            add_rows.decline()
        else:
            yield rows


def _adds(reader: AddReader, batch: pa.RecordBatch) -> ColumnBatch:
    """Return the rows of a batch that are adds."""
    file = reader.file
    adds = batch.column("add")
    if child(adds, "path").null_count != adds.null_count:
        raise CorruptCheckpointError(path=file.path, reason="an add has no path")
    if adds.type.get_field_index("deletionVector") >= 0:
        vectors = child(adds, "deletionVector")
        kind, path = (child(vectors, name).is_null() for name in ("storageType", "pathOrInlineDv"))
        if not kind.equals(path):
            reason = "a deletion vector lacks its storage type or its path"
            raise CorruptCheckpointError(path=file.path, reason=reason)
    rows = ColumnBatch(file, batch, memory=reader.memory)
    return rows.filter(pc.is_valid(adds)) if adds.null_count else rows


def _joined_batches(
    batches: Iterator[pa.RecordBatch], *, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """Join small batches until they have at least `batch_rows` rows."""
    rows, waiting = 0, list[pa.RecordBatch]()
    for batch in batches:
        waiting.append(batch)
        rows += len(batch)
        if rows >= batch_rows:
            yield pa.concat_batches(waiting)
            rows, waiting = 0, []
    if rows:
        yield pa.concat_batches(waiting)
