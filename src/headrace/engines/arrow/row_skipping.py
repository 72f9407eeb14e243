"""Data skipping for decoded adds: the files of commits, a few hundred at a time.

Commits are small, and calling Arrow for each one costs more than it saves.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, islice

import msgspec
import pyarrow as pa

from headrace.engines.arrow.checkpoint.partition_verdicts import JudgedPredicate, PartitionVerdicts
from headrace.errors import HeadraceError
from headrace.metrics.meter import Meter
from headrace.plan.batch import ActionBatch, AddBatch
from headrace.protocol import light
from headrace.protocol.action import Add
from headrace.replay.skipping import keep_mask

_MAX_ROWS = 1 << 12
_MAX_BATCHES = 64
_GROWTH = 4


def growing_groups(batches: Iterator[ActionBatch]) -> Iterator[list[ActionBatch]]:
    """Yield the batches in order: the first alone, then in groups that grow up to a limit.

    So the first files are returned early, many small commits cost few Arrow calls, and a file is
    returned before much more than its commit has been read. Batches read before a failure are
    yielded before it is raised.
    """
    group: list[ActionBatch] = []
    rows, most_batches = 0, 1
    try:
        for batch in batches:
            group.append(batch)
            rows += len(batch)
            if len(group) >= most_batches or rows >= _MAX_ROWS:
                yield group
                group, rows, most_batches = [], 0, min(most_batches * _GROWTH, _MAX_BATCHES)
    except HeadraceError:
        if group:
            yield group
        raise
    if group:
        yield group


class RowSkipping:
    """Evaluates one predicate on the adds of many commits."""

    def __init__(self, predicate: JudgedPredicate, meter: Meter) -> None:
        self._by_partition = predicate.verdicts
        self._by_statistics = predicate.split.by_statistics
        self._meter = meter

    def matching(self, batches: Sequence[AddBatch]) -> Sequence[AddBatch]:
        """Return the adds that may hold a matching row, one batch for each input batch."""
        rows = _rows(batches)
        for part in self._by_partition:
            batches = _selected(batches, _verdicts(part, batches))
        remaining = _rows(batches)
        self._meter.count(rows_filtered_by_partition_pruning=rows - remaining)
        if self._by_statistics is None or not remaining:
            return batches
        mask = keep_mask(
            self._by_statistics, RowColumns([add for batch in batches for add in batch.adds])
        )
        self._meter.count(rows_filtered_by_data_skipping=remaining - mask.true_count)
        return _selected(batches, mask.to_pylist())


def _rows(batches: Sequence[AddBatch]) -> int:
    return sum(map(len, batches))


def _selected(batches: Sequence[AddBatch], mask: Iterable[bool]) -> list[AddBatch]:
    """Return the adds for which the mask is true; it has a value for each add of all batches."""
    remaining = iter(mask)
    return [
        AddBatch(batch.source, list(compress(batch.adds, islice(remaining, len(batch)))))
        for batch in batches
    ]


def _verdicts(part: PartitionVerdicts, batches: Sequence[AddBatch]) -> Iterable[bool]:
    """Return whether each add may match, by its partition values."""
    columns = [
        [add.partition_values.get(name) for batch in batches for add in batch.adds]
        for name in part.names
    ]
    if len(columns) != 1:
        return part.on(list(zip(*columns, strict=True)) if columns else [()] * _rows(batches))
    # Usually there is one column. A string caches its hash, a tuple does not.
    texts = columns[0]
    distinct = list(set(texts))
    verdicts = dict(zip(distinct, part.on([(text,) for text in distinct]), strict=True))
    return map(verdicts.__getitem__, texts)


class RowColumns(msgspec.Struct, frozen=True):
    """Decoded adds as the columns that data skipping reads. JSON has no parsed statistics."""

    adds: Sequence[Add]

    def __len__(self) -> int:
        return len(self.adds)

    def partition_text(self, physical_name: str) -> pa.StringArray:
        """Return one partition value of each file, as a string."""
        return light.array([a.partition_values.get(physical_name) for a in self.adds], pa.string())

    def stats_json(self) -> pa.StringArray:
        """Return the statistics as stored in the log."""
        return light.array([a.stats for a in self.adds], pa.string())

    def stats_parsed(self, path: tuple[str, ...]) -> None:
        """Return None: JSON has no parsed statistics."""
