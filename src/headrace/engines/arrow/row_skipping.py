"""Skipping among decoded adds: the files of commits, a few hundred at a time.

Commits are small, and calling Arrow for each costs more than it saves.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, islice

import msgspec
import pyarrow as pa

from headrace.engines.arrow.checkpoint.partition_verdicts import JudgedPredicate, PartitionVerdicts
from headrace.errors import HeadraceError
from headrace.metrics.meter import Meter
from headrace.plan.batch import ActionBatch, AddBatch
from headrace.protocol.action import Add
from headrace.replay.skipping import keep_mask

_MOST_ROWS = 1 << 12
_MOST_BATCHES = 64
_GROWTH = 4


def growing_groups(batches: Iterator[ActionBatch]) -> Iterator[list[ActionBatch]]:
    """The batches in order: the first by itself, then a few times as many at once, up to a bound.

    So the first files are not kept waiting, many small commits cost few calls of Arrow, and a file
    is given before much more than its commit has been read. What has been read before a failure is
    given before it.
    """
    group: list[ActionBatch] = []
    rows, wanted = 0, 1
    try:
        for batch in batches:
            group.append(batch)
            rows += len(batch)
            if len(group) >= wanted or rows >= _MOST_ROWS:
                yield group
                group, rows, wanted = [], 0, min(wanted * _GROWTH, _MOST_BATCHES)
    except HeadraceError:
        if group:
            yield group
        raise
    if group:
        yield group


class RowSkipping:
    """One predicate over the adds of many commits."""

    def __init__(self, predicate: JudgedPredicate, meter: Meter) -> None:
        self._by_partition = predicate.verdicts
        self._rest = predicate.split.rest
        self._meter = meter

    def kept(self, batches: Sequence[AddBatch]) -> Sequence[AddBatch]:
        """The adds of some batches that may hold a matching row, in batches of the same files."""
        rows = _rows(batches)
        for part in self._by_partition:
            batches = _selected(batches, _verdicts(part, batches))
        left = _rows(batches)
        self._meter.count(rows_filtered_by_partition_pruning=rows - left)
        if self._rest is None or not left:
            return batches
        mask = keep_mask(self._rest, RowColumns([add for batch in batches for add in batch.adds]))
        self._meter.count(rows_filtered_by_data_skipping=left - mask.true_count)
        return _selected(batches, mask.to_pylist())


def _rows(batches: Sequence[AddBatch]) -> int:
    return sum(map(len, batches))


def _selected(batches: Sequence[AddBatch], mask: Iterable[bool]) -> list[AddBatch]:
    """The adds for which the mask is true; the mask has a value for each add of all batches."""
    rest = iter(mask)
    return [
        AddBatch(batch.source, list(compress(batch.adds, islice(rest, len(batch)))))
        for batch in batches
    ]


def _verdicts(part: PartitionVerdicts, batches: Sequence[AddBatch]) -> Iterable[bool]:
    """Whether each add may match, by its partition values."""
    columns = [
        [add.partition_values.get(name) for batch in batches for add in batch.adds]
        for name in part.names
    ]
    if len(columns) != 1:
        return part.on(list(zip(*columns, strict=True)) if columns else [()] * _rows(batches))
    # Nearly always there is one column. A text remembers its hash, a combination does not.
    texts = columns[0]
    distinct = list(set(texts))
    verdicts = dict(zip(distinct, part.on([(text,) for text in distinct]), strict=True))
    return map(verdicts.__getitem__, texts)


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
