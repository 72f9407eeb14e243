"""Which row groups of a leaf to read, and which of their rows.

What is cheap comes first: a row group is judged by its footer, then by the dictionary of its
partition values, then by the values themselves. All of it is quick beside decoding paths.
"""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.compiled.memory import Memory
from headrace.engines.arrow.coded_map import CodedMaps, MapChunks, MapPages
from headrace.engines.arrow.column_batch import child
from headrace.engines.arrow.parquet_source import ParquetSource
from headrace.engines.arrow.partition_map import coded_rows_that_may_match, rows_that_may_match
from headrace.engines.arrow.partition_verdicts import PartitionVerdicts
from headrace.engines.arrow.row_group import groups_to_read
from headrace.errors import CorruptCheckpointError
from headrace.metrics.meter import Meter
from headrace.protocol.log_file import LogFile
from headrace.replay.skipping import SplitPredicate

PARTITION_VALUES = "add.partitionValues"
_MASK_BATCH_ROWS = 1 << 15
_FIRST_READ, _MOST_READ_AT_ONCE = 4, 32


class PossibleGroup(msgspec.Struct, frozen=True):
    """A row group of which some rows may be wanted."""

    group: int
    is_judged: bool = True
    """Whether nothing more can be said; else its partition values are still to be looked at."""
    maps: CodedMaps | None = None
    """Those values by code, where they are to be had so."""


class WantedGroup(msgspec.Struct, frozen=True):
    """A row group to read, or those of its rows for which the mask is true."""

    group: int
    mask: npt.NDArray[np.bool_] | None = None


class GroupJudge(msgspec.Struct, frozen=True, kw_only=True):
    """What rules out row groups and rows, for all leaves of a checkpoint."""

    source: ParquetSource
    predicate: SplitPredicate | None
    verdicts: tuple[PartitionVerdicts, ...]
    """Those of its conjuncts that partition values alone decide."""
    meter: Meter

    def groups(self, file: LogFile, some: tuple[int, ...] | None = None) -> Iterator[PossibleGroup]:
        """The row groups, or those of some, that may hold a wanted add.

        The others are counted and forgotten.
        """
        footer = self.source.footer(file)
        every = range(footer.metadata.num_row_groups) if some is None else some
        held = [group for group in every if footer.holds(group, "add")]
        if self.predicate is None or not held:
            kept = held
        else:
            kept = groups_to_read(self.predicate.whole, footer=footer, groups=held)
        self._count_rows(file, every, held, kept)
        if not self.verdicts:
            yield from map(PossibleGroup, kept)
            return
        if not footer.leaves((PARTITION_VALUES,)):
            yield from self._judged_without_values(file, kept)
            return
        start, size = 0, _FIRST_READ
        while start < len(kept):
            yield from self._with_values(file, kept[start : start + size])
            start, size = start + size, min(size * 4, _MOST_READ_AT_ONCE)

    def _with_values(self, file: LogFile, groups: list[int]) -> Iterator[PossibleGroup]:
        """Some groups with their partition values; what is said of those is found out at once."""
        with self.source.open_raw(file) as raw:
            maps = [self._coded_maps(file, raw, group) for group in groups]
        texts = {text for coded in maps if coded is not None for text in coded.texts}
        for part in self.verdicts:
            part.learn({*texts, None})
        for group, coded in zip(groups, maps, strict=True):
            yield PossibleGroup(group, is_judged=False, maps=coded)

    def judged(
        self, file: LogFile, possible: PossibleGroup, *, raw: BinaryIO, memory: Memory
    ) -> WantedGroup | None:
        """What is left to read of a group when its partition values have been looked at.

        It holds no lock for most of the time, so that several threads can do it, each with the
        file open and memory of its own.
        """
        if possible.is_judged:
            return WantedGroup(possible.group)

        def read(maps: CodedMaps) -> MapPages:
            pages = maps.pages(raw, memory)
            self.source.count_bytes(file, maps.size)
            return pages

        maps = possible.maps
        mask = None if maps is None else coded_rows_that_may_match(maps, self.verdicts, read)
        if maps is None or mask is None:
            mask, adds = self._decoded_mask(file, possible.group)
        else:
            adds = maps.keys.count
        found = int(np.count_nonzero(mask))
        self.meter.count(
            rows_filtered_by_partition_pruning=adds - found, row_groups_skipped=not found
        )
        return WantedGroup(possible.group, mask) if found else None

    def _judged_without_values(self, file: LogFile, groups: list[int]) -> Iterator[PossibleGroup]:
        """The same where the file does not have the values: each is null then, in every add."""
        if _may_match_without_values(self.verdicts):
            yield from map(PossibleGroup, groups)
            return
        adds = sum(self._actions(file, group, "add") for group in groups)
        self.meter.count(rows_filtered_by_partition_pruning=adds, row_groups_skipped=len(groups))

    def _coded_maps(self, file: LogFile, raw: BinaryIO, group: int) -> CodedMaps | None:
        """The partition values of a group by code, if just its adds have some."""
        footer = self.source.footer(file)
        chunks = MapChunks.of(footer, group, PARTITION_VALUES)
        maps = None if chunks is None else chunks.read(raw)
        return maps if maps is None or maps.keys.count == footer.actions(group, "add") else None

    def _decoded_mask(self, file: LogFile, group: int) -> tuple[npt.NDArray[np.bool_], int]:
        """The same mask from maps that Arrow has built, and the number of adds."""
        footer = self.source.footer(file)
        with self.source.open(file, codes=footer.leaves((PARTITION_VALUES,))) as parquet:
            batches = self.source.batches(
                file, parquet, group, columns=(PARTITION_VALUES,), batch_rows=_MASK_BATCH_ROWS
            )
            try:
                found = [_evaluated(batch, self.verdicts) for batch in batches]
            except (UnicodeDecodeError, IndexError, pa.ArrowInvalid) as error:
                raise CorruptCheckpointError(path=file.path, reason=str(error)) from error
        empty = np.zeros(0, dtype=np.bool_)  # a leaf may have no rows at all
        mask = np.concatenate([empty, *(part for part, _ in found)])
        return mask, sum(count for _, count in found)

    def _count_rows(
        self, file: LogFile, every: Sequence[int], held: list[int], kept: list[int]
    ) -> None:
        """Count the rows of all groups, also of those that will not be read."""
        footer = self.source.footer(file)
        rows = sum(footer.rows(group) for group in every)
        adds = {group: self._actions(file, group, "add") for group in every}
        removes = sum(self._actions(file, group, "remove") for group in every)
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

    def _actions(self, file: LogFile, group: int, action: str) -> int:
        """How many actions of a kind a group has: from the footer, or its smallest column."""
        footer = self.source.footer(file)
        told = footer.actions(group, action)
        if told is not None:
            return told
        leaf = min(
            footer.leaves((action,)), key=lambda leaf: footer.compressed_bytes(group, [leaf])
        )
        with self.source.open(file) as parquet:
            batches = self.source.batches(
                file, parquet, group, columns=(leaf,), batch_rows=_MASK_BATCH_ROWS
            )
            return sum(len(batch) - batch.column(action).null_count for batch in batches)


def _evaluated(
    batch: pa.RecordBatch, conjuncts: Sequence[PartitionVerdicts]
) -> tuple[npt.NDArray[np.bool_], int]:
    """The rows of a batch that may match, and how many adds it has."""
    adds = batch.column("add")
    values = child(adds, "partitionValues")
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
