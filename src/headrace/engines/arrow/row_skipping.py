"""Skipping among decoded adds: the files of commits, a few hundred at a time.

Commits are small, and calling Arrow for each costs more than it saves. But their files fall
into few partitions, so that what a predicate says of a combination of partition values is
found out once and remembered for the run.
"""

from collections.abc import Sequence
from itertools import compress

import msgspec
import pyarrow as pa

from headrace.engines.arrow.partition_map import PartitionTexts
from headrace.expr.reference import evaluated_columns
from headrace.metrics.meter import Meter
from headrace.protocol.action import Add
from headrace.replay.skipping import SplitPredicate, keep_mask

_MOST_REMEMBERED = 1 << 16


class RowSkipping:
    """One predicate over the adds of many commits."""

    def __init__(self, predicate: SplitPredicate, meter: Meter) -> None:
        self.predicate = predicate
        self._meter = meter
        self._verdicts: dict[tuple[str | None, ...], bool] = {}
        by_partition = predicate.by_partition
        columns = () if by_partition is None else evaluated_columns(by_partition)
        self._names = tuple(column.physical_path[0] for column in columns)

    def kept(self, adds: Sequence[Add]) -> Sequence[Add]:
        """The adds that may hold a matching row."""
        left = adds
        if self.predicate.by_partition is not None and adds:
            left = self._kept_by_partition(adds)
            self._meter.count(rows_filtered_by_partition_pruning=len(adds) - len(left))
        if self.predicate.rest is None or not left:
            return left
        keep = keep_mask(self.predicate.rest, RowColumns(left))
        self._meter.count(rows_filtered_by_data_skipping=len(left) - keep.true_count)
        return list(compress(left, keep.to_pylist()))

    def _kept_by_partition(self, adds: Sequence[Add]) -> Sequence[Add]:
        combinations = [tuple(map(add.partition_values.get, self._names)) for add in adds]
        if len(self._verdicts) > _MOST_REMEMBERED:
            self._verdicts.clear()
        new = list({c for c in combinations if c not in self._verdicts})
        if new:
            assert self.predicate.by_partition is not None
            columns = {
                name: pa.array([combination[place] for combination in new], pa.string())
                for place, name in enumerate(self._names)
            }
            texts = PartitionTexts(columns, len(new))
            keep = keep_mask(self.predicate.by_partition, texts).to_pylist()
            self._verdicts.update(zip(new, keep, strict=True))
        return list(compress(adds, map(self._verdicts.__getitem__, combinations)))


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
