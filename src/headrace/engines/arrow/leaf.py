"""One leaf of a checkpoint: row groups that are ruled out, read, filtered, and given on.

What is cheap comes first. A row group is judged by its footer, then by the dictionary of its
partition values, then by the values themselves; only then are paths and statistics decoded.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.engines.arrow.dictionary_page import distinct_texts
from headrace.engines.arrow.parquet_source import ParquetSource
from headrace.engines.arrow.partition_map import rows_that_may_match
from headrace.engines.arrow.partition_verdicts import PartitionVerdicts
from headrace.engines.arrow.plain import plain_batch
from headrace.engines.arrow.row_group import groups_to_read, texts_may_match
from headrace.errors import CorruptCheckpointError
from headrace.metrics.meter import Meter
from headrace.protocol.log_file import LogFile
from headrace.replay.match import SeenMatcher
from headrace.replay.skipping import SplitPredicate, keep_mask

_PARTITION_BATCH_ROWS = 1 << 17
_PARTITION_VALUES = "add.partitionValues"
_ATTEMPTS_TO_PAY = 4
_OFTEN_NULL = frozenset({"add.deletionVector", "add.tags"})


class Attempts(msgspec.Struct):
    """Whether something that only sometimes pays has paid until now. A race costs no more."""

    made: int = 0
    paid: int = 0

    @property
    def are_worth_it(self) -> bool:
        """Whether to try again: at first, and as long as it pays."""
        return self.paid * _ATTEMPTS_TO_PAY >= self.made or self.made < _ATTEMPTS_TO_PAY


class LeafScan(msgspec.Struct, frozen=True, kw_only=True):
    """How the adds of a leaf are to be read: shared by all of its row groups."""

    source: ParquetSource
    columns: tuple[str, ...]
    """What is read, also for the predicate's sake."""
    wanted: tuple[str, ...] | None
    """What is given on; None: all of it."""
    predicate: SplitPredicate | None
    verdicts: tuple[PartitionVerdicts, ...]
    """Those of its conjuncts that partition values alone decide."""
    matcher: SeenMatcher | None
    batch_rows: int
    meter: Meter
    dictionaries: Attempts = msgspec.field(default_factory=Attempts)
    """How often a dictionary has ruled out its row group."""

    def groups(self, file: LogFile, some: tuple[int, ...] | None = None) -> list[int]:
        """The row groups, or those of some, that may hold a wanted add.

        The others are counted and forgotten.
        """
        with self.source.open(file) as parquet:
            footer = self.source.footer(file)
            every = range(parquet.num_row_groups) if some is None else some
            held = [group for group in every if footer.holds(group, "add")]
            if self.predicate is None or not held:
                kept = held
            else:
                kept = groups_to_read(self.predicate.whole, footer=footer, groups=held)
            self._count_rows(file, parquet, every, held, kept)
        return kept

    def read(self, file: LogFile, groups: list[int]) -> Iterator[ColumnBatch]:
        """The wanted adds of some row groups."""
        try:
            with self.source.open(file, codes=self._map_leaves(file)) as parquet:
                for group in groups:
                    yield from self._read_group(file, parquet, group)
        except UnicodeDecodeError as error:  # Arrow checks texts when they are looked at
            raise CorruptCheckpointError(path=file.path, reason=str(error)) from error

    def _read_group(
        self, file: LogFile, parquet: pq.ParquetFile, group: int
    ) -> Iterator[ColumnBatch]:
        if not self._texts_may_match(file, parquet, group):
            return
        mask = self._partition_mask(file, parquet, group)
        if mask is not None and not mask.any():
            return
        batches = self.source.batches(
            file, parquet, group, columns=self._columns_of(file, group), batch_rows=self.batch_rows
        )
        if mask is None:
            for batch in batches:
                yield self._kept(_adds(file, plain_batch(batch, coded="partitionValues")))
        else:
            for batch in _chosen(batches, mask, batch_rows=self.batch_rows):
                yield self._kept(_adds(file, batch))

    def _columns_of(self, file: LogFile, group: int) -> tuple[str, ...]:
        """The columns to read, less those of which the footer says that they are null."""
        footer = self.source.footer(file)
        columns = self.columns
        if self.wanted is not None and self.predicate is not None and self.predicate.rest is None:
            columns = self.wanted  # partition values alone decide, and have been looked at
        return tuple(
            column
            for column in columns
            if column not in _OFTEN_NULL or not footer.is_null(group, column)
        )

    def _kept(self, batch: ColumnBatch) -> ColumnBatch:
        """The adds that neither statistics nor newer commits rule out."""
        if self.predicate is not None and self.predicate.rest is not None and len(batch):
            kept = keep_mask(self.predicate.rest, batch)
            self.meter.count(rows_filtered_by_data_skipping=len(kept) - kept.true_count)
            batch = batch.filter(kept)
        if self.matcher is not None and len(batch):
            paths, vectors = batch.field("path"), batch.field("deletionVector")
            batch = batch.filter(self.matcher.unseen(paths, vectors))
        return batch

    def _partition_mask(
        self, file: LogFile, parquet: pq.ParquetFile, group: int
    ) -> npt.NDArray[np.bool_] | None:
        """Which rows of a group are adds that partition values do not rule out."""
        if not self.verdicts:
            return None
        if not self.source.footer(file).leaves((_PARTITION_VALUES,)):
            return self._mask_without_values(file, parquet, group)
        batches = self.source.batches(
            file, parquet, group, columns=(_PARTITION_VALUES,), batch_rows=_PARTITION_BATCH_ROWS
        )
        found = [_evaluated(batch, self.verdicts) for batch in batches]
        adds = sum(count for _, count in found)
        empty = np.zeros(0, dtype=np.bool_)  # a leaf may have no rows at all
        mask = np.concatenate([empty, *(part for part, _ in found)])
        self.meter.count(rows_filtered_by_partition_pruning=adds - int(mask.sum()))
        return mask

    def _mask_without_values(
        self, file: LogFile, parquet: pq.ParquetFile, group: int
    ) -> npt.NDArray[np.bool_] | None:
        """The same where the file does not have them: each is null then, in every add."""
        if _may_match_without_values(self.verdicts):
            return None
        adds = self._actions(file, parquet, group, "add")
        self.meter.count(rows_filtered_by_partition_pruning=adds)
        return np.zeros(0, dtype=np.bool_)

    def _map_leaves(self, file: LogFile) -> list[str]:
        if _PARTITION_VALUES not in self.columns:
            return []
        return self.source.footer(file).leaves((_PARTITION_VALUES,))

    def _texts_may_match(self, file: LogFile, parquet: pq.ParquetFile, group: int) -> bool:
        """Whether the dictionary of its partition values leaves a group possible."""
        if self.predicate is None or self.predicate.by_partition is None:
            return True
        if not self.dictionaries.are_worth_it:
            return True
        self.dictionaries.made += 1
        footer = self.source.footer(file)
        if texts_may_match(
            self.predicate.by_partition,
            footer=footer,
            group=group,
            read_texts=lambda: self._distinct_texts(file, group),
        ):
            return True
        self.dictionaries.paid += 1
        adds = self._actions(file, parquet, group, "add")
        self.meter.count(row_groups_skipped=1, rows_filtered_by_partition_pruning=adds)
        return False

    def _distinct_texts(self, file: LogFile, group: int) -> list[str] | None:
        footer = self.source.footer(file)
        leaves = footer.leaves((_PARTITION_VALUES,))
        values = [leaf for leaf in leaves if leaf.endswith(".value")]
        if len(values) != 1:
            return None
        with self.source.open_raw(file) as raw:
            return distinct_texts(raw, footer.chunk(group, values[0]))

    def _count_rows(
        self,
        file: LogFile,
        parquet: pq.ParquetFile,
        every: Sequence[int],
        held: list[int],
        kept: list[int],
    ) -> None:
        """Count the rows of all groups, also of those that will not be read."""
        footer = self.source.footer(file)
        rows = sum(footer.rows(group) for group in every)
        adds = {group: self._actions(file, parquet, group, "add") for group in every}
        removes = sum(self._actions(file, parquet, group, "remove") for group in every)
        file_actions = sum(adds.values()) + removes
        skipped = sum(adds[group] for group in set(held) - set(kept))
        by_partition = self.predicate is not None and self.predicate.by_partition is not None
        self.meter.count(
            total_metadata_rows=rows,
            rows_from_checkpoint=rows,
            non_file_action_rows=rows - file_actions,
            row_groups_skipped=len(every) - len(kept),
            rows_filtered_by_partition_pruning=skipped if by_partition else 0,
            rows_filtered_by_data_skipping=0 if by_partition else skipped,
        )

    def _actions(self, file: LogFile, parquet: pq.ParquetFile, group: int, action: str) -> int:
        """How many actions of a kind a group has: from the footer, or its smallest column."""
        footer = self.source.footer(file)
        told = footer.actions(group, action)
        if told is not None:
            return told
        leaf = min(
            footer.leaves((action,)), key=lambda leaf: footer.compressed_bytes(group, [leaf])
        )
        batches = self.source.batches(
            file, parquet, group, columns=(leaf,), batch_rows=_PARTITION_BATCH_ROWS
        )
        return sum(len(batch) - batch.column(action).null_count for batch in batches)


def _adds(file: LogFile, batch: pa.RecordBatch) -> ColumnBatch:
    """The rows of a batch that are adds."""
    adds = batch.column("add")
    if pc.struct_field(adds, "path").null_count != adds.null_count:
        raise CorruptCheckpointError(path=file.path, reason="an add has no path")
    return ColumnBatch(file, batch).filter(pc.is_valid(adds))


def _chosen(
    batches: Iterator[pa.RecordBatch], mask: npt.NDArray[np.bool_], *, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """The rows for which the mask is true; a few of each batch together make one batch."""
    position = rows = 0
    end = len(mask) - int(mask[::-1].argmax())  # what comes after the last one is not decoded
    waiting: list[pa.RecordBatch] = []
    while position < end and (batch := next(batches, None)) is not None:
        chosen = mask[position : position + len(batch)]
        position += len(batch)
        if not chosen.any():
            continue
        part = plain_batch(batch if chosen.all() else batch.filter(pa.array(chosen)))
        waiting.append(part)
        rows += len(part)
        if rows >= batch_rows:
            yield pa.concat_batches(waiting)
            rows, waiting = 0, []
    if waiting:
        yield pa.concat_batches(waiting)


def _evaluated(
    batch: pa.RecordBatch, conjuncts: Sequence[PartitionVerdicts]
) -> tuple[npt.NDArray[np.bool_], int]:
    """The rows of a batch that may match, and how many adds it has."""
    adds = batch.column("add")
    values = pc.struct_field(adds, "partitionValues")
    if values.null_count == 0:
        return rows_that_may_match(values, conjuncts), len(adds)
    mask = np.zeros(len(adds), dtype=np.bool_)
    if adds.null_count != values.null_count and _may_match_without_values(conjuncts):
        mask = adds.is_valid().to_numpy(zero_copy_only=False).copy()
    present = values.is_valid().to_numpy(zero_copy_only=False)
    mask[present] = rows_that_may_match(values.drop_null(), conjuncts)
    return mask, len(adds) - adds.null_count


def _may_match_without_values(conjuncts: Sequence[PartitionVerdicts]) -> bool:
    """Whether a file may match of which the log has no partition values: they are all null."""
    return all(part.on([(None,) * len(part.names)])[0] for part in conjuncts)
