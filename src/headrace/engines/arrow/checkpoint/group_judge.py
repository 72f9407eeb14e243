"""Decides which row groups of a leaf to read, and which of their rows.

Cheap checks run first: a row group is judged by its footer, then by the dictionary of its
partition values, then by the values themselves. All of them are fast compared with decoding paths.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.compiled.memory import Memory
from headrace.engines.arrow.checkpoint.coded_map import CodedMaps, MapChunks, MapPages
from headrace.engines.arrow.checkpoint.footer import Footer
from headrace.engines.arrow.checkpoint.parquet_source import OpenParquet, ParquetSource
from headrace.engines.arrow.checkpoint.partition_map import (
    coded_rows_that_may_match,
    rows_that_may_match,
)
from headrace.engines.arrow.checkpoint.partition_verdicts import PartitionVerdicts
from headrace.engines.arrow.checkpoint.row_group import groups_to_read
from headrace.engines.arrow.column_batch import child
from headrace.errors import CorruptCheckpointError
from headrace.metrics.meter import Meter
from headrace.protocol import light
from headrace.protocol.log_file import LogFile
from headrace.replay.skipping import SplitPredicate

PARTITION_VALUES = "add.partitionValues"
_MASK_BATCH_ROWS = 1 << 15
_FIRST_READ, _MAX_READ_AT_ONCE = 4, 32
_MAX_BYTES_AT_ONCE = 16 << 20
"""The largest read of partition values of a remote file."""


class PossibleGroup(msgspec.Struct, frozen=True):
    """A row group that may hold matching rows."""

    group: int
    is_judged: bool = True
    """Whether the decision is final; if not, its partition values are still to be checked."""
    maps: CodedMaps | None = None
    """The partition values by code, if they can be read as codes."""


class GroupToRead(msgspec.Struct, frozen=True):
    """A row group to read; with a mask, only the rows for which it is true."""

    group: int
    mask: npt.NDArray[np.bool_] | None = None


class GroupJudge(msgspec.Struct, frozen=True, kw_only=True):
    """Prunes row groups and rows, for all leaves of a checkpoint."""

    source: ParquetSource
    predicate: SplitPredicate | None
    verdicts: tuple[PartitionVerdicts, ...]
    """The conjuncts of the predicate that partition values alone decide."""
    meter: Meter

    def matching_groups(
        self, file: LogFile, some: tuple[int, ...] | None = None
    ) -> Iterator[GroupToRead]:
        """Yield the row groups of a remote file that hold a matching add; of `some`, if given.

        Their partition values are requested together and checked here, so nothing else of a row
        group is requested before it is known to match.
        """
        leaf_columns = (
            self.source.footer(file).leaf_columns((PARTITION_VALUES,)) if self.verdicts else []
        )
        memory = Memory()
        try:
            with self.source.open(file, codes=leaf_columns) as opened:
                for possible in self.groups(opened, some):
                    group_to_read = self.judged(opened, possible, memory=memory)
                    if group_to_read is not None:
                        yield group_to_read
        finally:
            memory.retire()

    def groups(
        self, opened: OpenParquet, candidates: tuple[int, ...] | None = None
    ) -> Iterator[PossibleGroup]:
        """Yield the row groups, of `some` if given, that may hold a matching add.

        The others are only counted, in order.
        """
        file = opened.file
        footer = self.source.footer(file)
        every = range(footer.metadata.num_row_groups) if candidates is None else candidates
        with_adds = [group for group in every if footer.holds(group, "add")]
        by_partition = self._not_pruned_by_partition(footer, with_adds)
        by_statistics = self._not_pruned_by_statistics(footer, by_partition)
        possible = self._possible(opened, by_statistics)
        after_partition, after_statistics = set(by_partition), set(by_statistics)
        for group in every:
            if group in after_statistics:
                yield next(possible)
            else:
                self._count_skipped(file, group, after_partition=after_partition)

    def _not_pruned_by_partition(self, footer: Footer, groups: list[int]) -> list[int]:
        """Return the groups that partition values in the footer do not prune."""
        predicate = None if self.predicate is None else self.predicate.by_partition
        if predicate is None or not groups:
            return groups
        lacks_values = not footer.leaf_columns((PARTITION_VALUES,))
        if lacks_values and not _may_match_without_values(self.verdicts):
            return []
        return groups_to_read(predicate, footer=footer, groups=groups)

    def _not_pruned_by_statistics(self, footer: Footer, groups: list[int]) -> list[int]:
        """Return the groups that statistics in the footer do not prune."""
        predicate = None if self.predicate is None else self.predicate.by_statistics
        if predicate is None or not groups:
            return groups
        return groups_to_read(predicate, footer=footer, groups=groups)

    def _possible(self, opened: OpenParquet, groups: list[int]) -> Iterator[PossibleGroup]:
        """Yield each group, with its partition values if they are still to be checked."""
        footer = self.source.footer(opened.file)
        leaf_columns = footer.leaf_columns((PARTITION_VALUES,))
        if not self.verdicts or not leaf_columns:
            yield from map(PossibleGroup, groups)
        elif opened.is_local:
            start, size = 0, _FIRST_READ
            while start < len(groups):
                yield from self._with_values(opened, footer, groups[start : start + size])
                start, size = start + size, min(size * 4, _MAX_READ_AT_ONCE)
        else:
            for some in _cut(groups, [footer.compressed_bytes(g, leaf_columns) for g in groups]):
                opened.drop()
                opened.fetch(
                    [span for group in some for span in footer.ranges(group, leaf_columns)]
                )
                yield from self._with_values(opened, footer, some)

    def _with_values(
        self, opened: OpenParquet, footer: Footer, groups: list[int]
    ) -> Iterator[PossibleGroup]:
        """Yield groups with their partition values, all of which are evaluated at once."""
        chunks = [MapChunks.of(footer, group, PARTITION_VALUES) for group in groups]
        maps = [
            self._coded_maps(opened, map_chunks, adds=footer.actions(group, "add"))
            for map_chunks, group in zip(chunks, groups, strict=True)
        ]
        texts = {text for coded in maps if coded is not None for text in coded.texts}
        for part in self.verdicts:
            part.learn({*texts, None})
        for group, coded in zip(groups, maps, strict=True):
            yield PossibleGroup(group, is_judged=False, maps=coded)

    def judged(
        self, opened: OpenParquet, possible: PossibleGroup, *, memory: Memory
    ) -> GroupToRead | None:
        """Check the partition values of a group, and return what to read of it.

        Counts the rows of the group. It mostly runs without a lock, so several threads can call
        it, each with its own open file and memory.
        """
        file = opened.file
        self._count_rows(file, possible.group)
        if possible.is_judged:
            return GroupToRead(possible.group)

        def read(maps: CodedMaps) -> MapPages:
            pages = maps.pages(opened.raw, memory)
            self.source.count_bytes(opened, maps.size)
            return pages

        maps = possible.maps
        mask = None if maps is None else coded_rows_that_may_match(maps, self.verdicts, read)
        if maps is None or mask is None:
            mask, adds = self._decoded_mask(opened, possible.group)
        else:
            adds = maps.keys.count
        matching = int(np.count_nonzero(mask))
        self.meter.count(
            rows_filtered_by_partition_pruning=adds - matching, row_groups_skipped=not matching
        )
        return GroupToRead(possible.group, mask) if matching else None

    def _coded_maps(
        self, opened: OpenParquet, chunks: MapChunks | None, *, adds: int | None
    ) -> CodedMaps | None:
        """Return the partition values of a group by code, if exactly its adds have some."""
        if chunks is None:
            return None
        self.source.count_bytes(opened, sum(head.length for head in chunks.head_ranges()))
        maps = chunks.read(opened.raw)
        return maps if maps is None or maps.keys.count == adds else None

    def _decoded_mask(self, opened: OpenParquet, group: int) -> tuple[npt.NDArray[np.bool_], int]:
        """Return the same mask from maps that Arrow builds, and the number of adds."""
        file = opened.file
        leaf_columns = self.source.footer(file).leaf_columns((PARTITION_VALUES,))
        with (
            self.source.open(file, codes=leaf_columns)
            if opened.is_local
            else nullcontext(opened) as reopened
        ):
            batches = self.source.batches(
                reopened, group, columns=(PARTITION_VALUES,), batch_rows=_MASK_BATCH_ROWS
            )
            try:
                evaluated = [_evaluated(batch, self.verdicts) for batch in batches]
            except (UnicodeDecodeError, IndexError, pa.ArrowInvalid) as error:
                raise CorruptCheckpointError(path=file.path, reason=str(error)) from error
        empty = np.zeros(0, dtype=np.bool_)  # a leaf may have no rows at all
        mask = np.concatenate([empty, *(part for part, _ in evaluated)])
        return mask, sum(count for _, count in evaluated)

    def _count_rows(self, file: LogFile, group: int) -> int:
        """Count the rows of a group, and return the number of adds."""
        rows = self.source.footer(file).rows(group)
        adds, removes = (self._actions(file, group, action) for action in ("add", "remove"))
        self.meter.count(
            total_metadata_rows=rows,
            rows_from_checkpoint=rows,
            non_file_action_rows=rows - adds - removes,
        )
        return adds

    def _count_skipped(self, file: LogFile, group: int, *, after_partition: set[int]) -> None:
        """Count a skipped group, and its adds by the check that pruned them."""
        adds = self._count_rows(file, group)
        if group in after_partition:
            self.meter.count(row_groups_skipped=1, rows_filtered_by_data_skipping=adds)
        else:
            self.meter.count(row_groups_skipped=1, rows_filtered_by_partition_pruning=adds)

    def _actions(self, file: LogFile, group: int, action: str) -> int:
        """Return the number of actions of a kind, from the footer or the smallest column."""
        footer = self.source.footer(file)
        count = footer.actions(group, action)
        if count is not None:
            return count
        leaf_column = min(
            footer.leaf_columns((action,)),
            key=lambda leaf_column: footer.compressed_bytes(group, [leaf_column]),
        )
        with self.source.open(file) as opened:
            opened.fetch(footer.ranges(group, [leaf_column]))
            batches = self.source.batches(
                opened, group, columns=(leaf_column,), batch_rows=_MASK_BATCH_ROWS
            )
            return sum(len(batch) - batch.column(action).null_count for batch in batches)


def _cut(groups: Sequence[int], sizes_bytes: Sequence[int]) -> Iterator[list[int]]:
    """Divide the groups, in order, into parts of a limited total size."""
    some, total_bytes = list[int](), 0
    for group, size_bytes in zip(groups, sizes_bytes, strict=True):
        if some and total_bytes + size_bytes > _MAX_BYTES_AT_ONCE:
            yield some
            some, total_bytes = [], 0
        some.append(group)
        total_bytes += size_bytes
    if some:
        yield some


def _evaluated(
    batch: pa.RecordBatch, conjuncts: Sequence[PartitionVerdicts]
) -> tuple[npt.NDArray[np.bool_], int]:
    """Return a mask of the rows that may match, and the number of adds."""
    adds = batch.column("add")
    values = child(adds, "partitionValues")
    if values.null_count == 0:
        return rows_that_may_match(values, conjuncts), len(adds)
    mask = np.zeros(len(adds), dtype=np.bool_)
    if adds.null_count != values.null_count and _may_match_without_values(conjuncts):
        mask = light.to_numpy(adds.is_valid()).copy()
    present = light.to_numpy(values.is_valid())
    mask[present] = rows_that_may_match(values.drop_null(), conjuncts)
    return mask, len(adds) - adds.null_count


def _may_match_without_values(conjuncts: Sequence[PartitionVerdicts]) -> bool:
    """Return whether a file without partition values may match: all values are null."""
    return all(part.on([(None,) * len(part.names)])[0] for part in conjuncts)
