"""File skipping: find the files that provably have no row for which a predicate is true.

Partition values are exact. For data columns only bounds are known, from `stats_parsed` where a
checkpoint has it, otherwise from JSON. Statistics that are missing, damaged or of the wrong type
are unknown, and an unknown keeps the file.
"""

from typing import Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.expr.certainty import always_true
from headrace.expr.evaluate import Bounds, evaluate, exact_bounds
from headrace.expr.node import And, BoundColumn, BoundPredicate
from headrace.expr.reference import (
    evaluated_columns,
    needs_statistics,
    null_tested_columns,
    ordered_columns,
    statistics_paths,
)
from headrace.protocol import light
from headrace.protocol.arrow_value import typed_array
from headrace.protocol.bound import lower_bound, upper_bound
from headrace.protocol.schema import PrimitiveType
from headrace.protocol.statistics.decode import (
    ColumnStatistics,
    NeededStatistics,
    StatisticsBatch,
    StatisticsColumn,
)
from headrace.protocol.value import is_ordered
from headrace.replay.evidence import StatisticsSource, read_statistics

__all__ = ["FileColumns", "certain_mask", "keep_mask", "needs_statistics", "statistics_paths"]


class FileColumns(StatisticsSource, Protocol):
    """The columns of a batch of files."""

    def partition_text(self, physical_name: str) -> pa.StringArray:
        """Return one partition value of each file as text; null where it is absent."""


def keep_mask(predicate: BoundPredicate, files: FileColumns) -> pa.BooleanArray:
    """Return whether each file may have a row for which the predicate is true."""
    split = split_predicate(predicate)
    keep = pa.repeat(light.TRUE, len(files))
    if split.by_partition is not None and len(files):
        keep = evaluate(split.by_partition, _FileEvidence(files)).can_be_true
    if split.by_statistics is None:
        return keep
    # Decoding statistics is expensive: only those of files that partition values keep are decoded.
    count = pc.sum(keep, min_count=0).as_py()
    if not count:
        return keep
    selection = None if count == len(files) else keep
    evidence = _FileEvidence(files, split.by_statistics, selection)
    return pc.replace_with_mask(keep, keep, evaluate(split.by_statistics, evidence).can_be_true)


class SplitPredicate(msgspec.Struct, frozen=True, kw_only=True):
    """A predicate, and its conjuncts divided by their inputs."""

    whole: BoundPredicate
    by_partition: BoundPredicate | None
    """The conjuncts that need only partition values."""
    by_statistics: BoundPredicate | None
    """The conjuncts that need statistics."""


def split_predicate(predicate: BoundPredicate) -> SplitPredicate:
    """Split a predicate into conjuncts over partition values and those that need statistics."""
    conjuncts = predicate.parts if isinstance(predicate, And) else (predicate,)
    by_partition = tuple(part for part in conjuncts if not needs_statistics(part))
    by_statistics = tuple(part for part in conjuncts if needs_statistics(part))
    return SplitPredicate(
        whole=predicate,
        by_partition=And(by_partition) if by_partition else None,
        by_statistics=And(by_statistics) if by_statistics else None,
    )


def certain_mask(predicate: BoundPredicate, files: FileColumns) -> pa.BooleanArray:
    """Return whether the predicate is provably true for every row of each file."""
    return always_true(predicate, _FileEvidence(files, predicate, also=NeededStatistics.NULL_COUNT))


class _FileEvidence(msgspec.Struct):
    """The bounds that the log implies for the columns of some files."""

    files: FileColumns
    predicate: BoundPredicate | None = None
    selection: pa.BooleanArray | None = None
    also: NeededStatistics = NeededStatistics.NOTHING
    """Statistics to read of every column, besides those the predicate needs."""
    _statistics: StatisticsBatch | None = None
    _bounds: dict[BoundColumn, Bounds] = msgspec.field(default_factory=dict)

    def __len__(self) -> int:
        if self.selection is None:
            return len(self.files)
        return int(pc.sum(self.selection, min_count=0).as_py())

    def bounds(self, column: BoundColumn) -> Bounds:
        bounds = self._bounds.get(column)
        if bounds is None:
            bounds = self._partition(column) if column.is_partition else self._data(column)
            self._bounds[column] = bounds
        return bounds

    def _partition(self, column: BoundColumn) -> Bounds:
        texts = self.files.partition_text(column.physical_path[0])
        if self.selection is not None:
            texts = texts.filter(self.selection)
        if not is_ordered(column.type):
            return exact_bounds(
                pc.if_else(pc.equal(texts, light.scalar("")), light.null(texts.type), texts)
            )
        values, uncastable = typed_array(texts, column.type)
        exact = exact_bounds(values)
        if not pc.any(uncastable, min_count=0).as_py():
            return exact
        may_be_nan = exact.may_be_nan
        return Bounds(
            lower=exact.lower,
            upper=exact.upper,
            may_be_null=exact.may_be_null,  # text that cannot be cast is null here
            may_be_value=pc.or_(exact.may_be_value, uncastable),
            may_be_nan=None if may_be_nan is None else pc.or_(may_be_nan, uncastable),
        )

    def _data(self, column: BoundColumn) -> Bounds:
        if self._statistics is None:
            assert self.predicate is not None
            columns = _statistics_columns(self.predicate, also=self.also)
            self._statistics = read_statistics(self.files, columns, selection=self.selection)
        recorded = self._statistics.columns[column.physical_path]
        return _recorded_bounds(recorded, self._statistics.num_records, column)


def _statistics_columns(
    predicate: BoundPredicate, *, also: NeededStatistics
) -> list[StatisticsColumn]:
    ordered, null_tested = ordered_columns(predicate), null_tested_columns(predicate)
    return [
        StatisticsColumn(
            column.physical_path,
            column.type,
            (NeededStatistics.EXTREMES if column in ordered else NeededStatistics.NOTHING)
            | (NeededStatistics.NULL_COUNT if column in null_tested else NeededStatistics.NOTHING)
            | also,
        )
        for column in evaluated_columns(predicate)
        if not column.is_partition
    ]


def _recorded_bounds(
    recorded: ColumnStatistics, num_records: pa.Int64Array, column: BoundColumn
) -> Bounds:
    may_be_null = pc.fill_null(pc.not_equal(recorded.null_count, light.scalar(0)), light.TRUE)
    may_be_value = pc.fill_null(pc.not_equal(recorded.null_count, num_records), light.TRUE)
    lower, upper = recorded.minimum, recorded.maximum
    if not pa.types.is_null(lower.type):
        # A minimum and a maximum prove that there is a value, whatever the counts say.
        may_be_value = pc.or_(may_be_value, pc.and_(lower.is_valid(), upper.is_valid()))
        minimum, maximum = _consistent(lower, upper)
        lower, upper = lower_bound(minimum, column.type), upper_bound(maximum, column.type)
    # Writers differ on whether NaN takes part in a maximum, so a maximum never excludes it.
    has_nan = column.type in (PrimitiveType("float"), PrimitiveType("double"))
    return Bounds(
        lower=lower,
        upper=upper,
        may_be_null=may_be_null,
        may_be_value=may_be_value,
        may_be_nan=may_be_value if has_nan else None,
    )


def _consistent(minimum: pa.Array, maximum: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Discard minimums and maximums that contradict each other: at least one is wrong."""
    contradict = pc.fill_null(pc.greater(minimum, maximum), light.FALSE)
    if not pc.any(contradict, min_count=0).as_py():
        return minimum, maximum
    unknown = light.null(minimum.type)
    return pc.if_else(contradict, unknown, minimum), pc.if_else(contradict, unknown, maximum)
