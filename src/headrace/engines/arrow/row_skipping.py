"""Skipping among decoded adds: the files of commits, a few hundred at a time.

Commits are small, and calling Arrow for each costs more than it saves. But their files fall
into few partitions, so that what a predicate says of a combination of partition values is
found out once and remembered for the run.
"""

from collections.abc import Iterator, Sequence
from itertools import compress

import msgspec
import pyarrow as pa

from headrace.engines.arrow.partition_map import PartitionTexts
from headrace.errors import HeadraceError
from headrace.expr.reference import evaluated_columns
from headrace.metrics.meter import Meter
from headrace.plan.batch import ActionBatch, AddBatch
from headrace.protocol.action import Add
from headrace.replay.skipping import SplitPredicate, keep_mask

_MOST_REMEMBERED = 1 << 16
_MOST_ROWS = 1 << 12


def growing_groups(batches: Iterator[ActionBatch]) -> Iterator[list[ActionBatch]]:
    """The batches in order: the first by itself, then twice as many at once, and so on.

    So the first files are not kept waiting, and many small commits cost few calls of Arrow. What
    has been read before a failure is given before it.
    """
    group: list[ActionBatch] = []
    wanted = 1
    try:
        for batch in batches:
            group.append(batch)
            if len(group) >= wanted or sum(map(len, group)) >= _MOST_ROWS:
                yield group
                group, wanted = [], wanted * 2
    except HeadraceError:
        if group:
            yield group
        raise
    if group:
        yield group


class RowSkipping:
    """One predicate over the adds of many commits."""

    def __init__(self, predicate: SplitPredicate, meter: Meter) -> None:
        self.predicate = predicate
        self._meter = meter
        self._verdicts: dict[tuple[str | None, ...], bool] = {}
        by_partition = predicate.by_partition
        columns = () if by_partition is None else evaluated_columns(by_partition)
        self._names = tuple(column.physical_path[0] for column in columns)

    def kept(self, batches: Sequence[AddBatch]) -> Iterator[AddBatch]:
        """The adds of some batches that may hold a matching row, in batches of the same files."""
        adds: list[Add] = [add for batch in batches for add in batch.adds]
        keep = self._may_match(adds)
        start = 0
        for batch in batches:
            chosen = keep[start : start + len(batch)]
            start += len(batch)
            yield AddBatch(batch.source, list(compress(batch.adds, chosen)))

    def _may_match(self, adds: Sequence[Add]) -> list[bool]:
        keep = [True] * len(adds)
        if self.predicate.by_partition is not None and adds:
            keep = self._partition_may_match(adds)
            self._meter.count(rows_filtered_by_partition_pruning=keep.count(False))
        left = list(compress(adds, keep))
        if self.predicate.rest is None or not left:
            return keep
        found = keep_mask(self.predicate.rest, RowColumns(left))
        self._meter.count(rows_filtered_by_data_skipping=len(left) - found.true_count)
        verdicts = iter(found.to_pylist())
        return [possible and next(verdicts) for possible in keep]

    def _partition_may_match(self, adds: Sequence[Add]) -> list[bool]:
        values = [add.partition_values for add in adds]
        columns = [[value.get(name) for value in values] for name in self._names]
        combinations = list(zip(*columns, strict=True)) if columns else [()] * len(adds)
        if len(self._verdicts) > _MOST_REMEMBERED:
            self._verdicts.clear()
        new = list({c for c in combinations if c not in self._verdicts})
        if new:
            assert self.predicate.by_partition is not None
            by_name = {
                name: pa.array([combination[place] for combination in new], pa.string())
                for place, name in enumerate(self._names)
            }
            texts = PartitionTexts(by_name, len(new))
            keep = keep_mask(self.predicate.by_partition, texts).to_pylist()
            self._verdicts.update(zip(new, keep, strict=True))
        return [self._verdicts[combination] for combination in combinations]


class RowColumns(msgspec.Struct, frozen=True):
    """Decoded adds, seen as the columns that skipping looks at. JSON has no parsed statistics."""

    adds: Sequence[Add]

    def __len__(self) -> int:
        return len(self.adds)

    def partition_text(self, physical_name: str) -> pa.StringArray:
        """The text of one partition value of each file."""
        return pa.array([a.partition_values.get(physical_name) for a in self.adds], pa.string())

    def stats_json(self) -> pa.StringArray:
        """The statistics as the log has them."""
        return pa.array([a.stats for a in self.adds], pa.string())

    def stats_parsed(self, leaf: tuple[str, ...]) -> None:
        """Never there."""
