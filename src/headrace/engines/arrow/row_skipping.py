"""Skipping among decoded adds: the files of commits, a few hundred at a time.

Commits are small, and calling Arrow for each costs more than it saves.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import compress

import msgspec
import pyarrow as pa

from headrace.engines.arrow.partition_verdicts import PartitionVerdicts
from headrace.errors import HeadraceError
from headrace.metrics.meter import Meter
from headrace.plan.batch import ActionBatch, AddBatch
from headrace.protocol.action import Add
from headrace.replay.skipping import SplitPredicate, keep_mask

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
        by_partition = predicate.by_partition
        self._by_partition = PartitionVerdicts.of_conjuncts(by_partition) if by_partition else ()
        self._rest = predicate.rest
        self._meter = meter

    def kept(self, batches: Sequence[AddBatch]) -> Iterator[AddBatch]:
        """The adds of some batches that may hold a matching row, in batches of the same files."""
        adds: list[Add] = [add for batch in batches for add in batch.adds]
        kept = self._may_match(adds)
        start = 0
        for batch in batches:
            end = start + len(batch)
            own = kept[bisect_left(kept, start) : bisect_left(kept, end)]
            yield AddBatch(batch.source, [adds[place] for place in own])
            start = end

    def _may_match(self, adds: Sequence[Add]) -> Sequence[int]:
        """The places of the adds that may hold a matching row, in order."""
        left: Sequence[int] = range(len(adds))
        for part in self._by_partition:
            values = [adds[place].partition_values for place in left]
            columns = [[value.get(name) for value in values] for name in part.names]
            combinations = list(zip(*columns, strict=True)) if columns else [()] * len(left)
            left = list(compress(left, part.on(combinations)))
        self._meter.count(rows_filtered_by_partition_pruning=len(adds) - len(left))
        if self._rest is None or not left:
            return left
        found = keep_mask(self._rest, RowColumns([adds[place] for place in left]))
        self._meter.count(rows_filtered_by_data_skipping=len(left) - found.true_count)
        return list(compress(left, found.to_pylist()))


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
