"""Skipping: which files are proven to hold no row for which a predicate is true.

Partition values are exact. Of data columns only bounds are known, from `stats_parsed` where a
checkpoint has it, else from the JSON. What is missing, damaged or of the wrong type is
unknown, and keeps the file.
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
    statistics_leaves,
)
from headrace.protocol.arrow_value import typed_array
from headrace.protocol.bound import lower_bound, upper_bound
from headrace.protocol.schema import PrimitiveType
from headrace.protocol.statistics import (
    ColumnStatistics,
    FileStatistics,
    StatisticsColumn,
    Wanted,
)
from headrace.protocol.value import is_ordered
from headrace.replay.evidence import StatisticsSource, read_statistics

__all__ = ["FileColumns", "certain_mask", "keep_mask", "needs_statistics", "statistics_leaves"]


class FileColumns(StatisticsSource, Protocol):
    """A batch of files, by column."""

    def partition_text(self, physical_name: str) -> pa.StringArray:
        """The text of one partition value of each file; null where it is absent."""


def keep_mask(predicate: BoundPredicate, files: FileColumns) -> pa.BooleanArray:
    """Whether each file may hold a row for which the predicate is true."""
    split = split_predicate(predicate)
    keep = pa.repeat(True, len(files))
    if split.by_partition is not None and len(files):
        keep = evaluate(split.by_partition, _FileEvidence(files)).can_be_true
    if split.rest is None:
        return keep
    # Statistics are dear: only those of the files that partition values leave are decoded.
    count = pc.sum(keep, min_count=0).as_py()
    if not count:
        return keep
    selection = None if count == len(files) else keep
    evidence = _FileEvidence(files, split.rest, selection)
    return pc.replace_with_mask(keep, keep, evaluate(split.rest, evidence).can_be_true)


class SplitPredicate(msgspec.Struct, frozen=True, kw_only=True):
    """A predicate, and its conjuncts by what they look at."""

    whole: BoundPredicate
    by_partition: BoundPredicate | None
    """What partition values alone decide."""
    rest: BoundPredicate | None


def split_predicate(predicate: BoundPredicate) -> SplitPredicate:
    """Split a predicate into what partition values decide and what needs statistics."""
    conjuncts = predicate.parts if isinstance(predicate, And) else (predicate,)
    by_partition = tuple(part for part in conjuncts if not needs_statistics(part))
    rest = tuple(part for part in conjuncts if needs_statistics(part))
    return SplitPredicate(
        whole=predicate,
        by_partition=And(by_partition) if by_partition else None,
        rest=And(rest) if rest else None,
    )


def certain_mask(predicate: BoundPredicate, files: FileColumns) -> pa.BooleanArray:
    """Whether each file is proven to hold only rows for which the predicate is true."""
    return always_true(predicate, _FileEvidence(files, predicate, also=Wanted.NULL_COUNT))


class _FileEvidence(msgspec.Struct):
    """What the log says about the columns of some files."""

    files: FileColumns
    predicate: BoundPredicate | None = None
    selection: pa.BooleanArray | None = None
    also: Wanted = Wanted.NOTHING
    """What to ask about every column, besides what the predicate looks at."""
    _statistics: FileStatistics | None = None
    _bounds: dict[BoundColumn, Bounds] = msgspec.field(default_factory=dict)

    def __len__(self) -> int:
        if self.selection is None:
            return len(self.files)
        return int(pc.sum(self.selection, min_count=0).as_py())

    def bounds(self, column: BoundColumn) -> Bounds:
        found = self._bounds.get(column)
        if found is None:
            found = self._partition(column) if column.is_partition else self._data(column)
            self._bounds[column] = found
        return found

    def _partition(self, column: BoundColumn) -> Bounds:
        texts = self.files.partition_text(column.physical_path[0])
        if self.selection is not None:
            texts = texts.filter(self.selection)
        if not is_ordered(column.type):
            return exact_bounds(pc.if_else(pc.equal(texts, ""), None, texts))
        values, uncastable = typed_array(texts, column.type)
        exact = exact_bounds(values)
        if not pc.any(uncastable, min_count=0).as_py():
            return exact
        may_be_nan = exact.may_be_nan
        return Bounds(
            lower=exact.lower,
            upper=exact.upper,
            may_be_null=exact.may_be_null,  # a text that stands for no value is null here
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


def _statistics_columns(predicate: BoundPredicate, *, also: Wanted) -> list[StatisticsColumn]:
    ordered, null_tested = ordered_columns(predicate), null_tested_columns(predicate)
    return [
        StatisticsColumn(
            column.physical_path,
            column.type,
            (Wanted.EXTREMES if column in ordered else Wanted.NOTHING)
            | (Wanted.NULL_COUNT if column in null_tested else Wanted.NOTHING)
            | also,
        )
        for column in evaluated_columns(predicate)
        if not column.is_partition
    ]


def _recorded_bounds(
    recorded: ColumnStatistics, num_records: pa.Int64Array, column: BoundColumn
) -> Bounds:
    may_be_null = pc.fill_null(pc.not_equal(recorded.null_count, 0), True)
    may_be_value = pc.fill_null(pc.not_equal(recorded.null_count, num_records), True)
    lower, upper = recorded.minimum, recorded.maximum
    if not pa.types.is_null(lower.type):
        # Extremes are values: counts are asked, if at all, where there are none.
        may_be_value = pc.or_(may_be_value, pc.and_(lower.is_valid(), upper.is_valid()))
        minimum, maximum = _consistent(lower, upper)
        lower, upper = lower_bound(minimum, column.type), upper_bound(maximum, column.type)
    # Writers differ on whether NaN counts, so that a maximum can never exclude it.
    has_nan = column.type in (PrimitiveType("float"), PrimitiveType("double"))
    return Bounds(
        lower=lower,
        upper=upper,
        may_be_null=may_be_null,
        may_be_value=may_be_value,
        may_be_nan=may_be_value if has_nan else None,
    )


def _consistent(minimum: pa.Array, maximum: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Forget extremes that contradict each other: one of them, at least, is wrong."""
    contradict = pc.fill_null(pc.greater(minimum, maximum), False)
    if not pc.any(contradict, min_count=0).as_py():
        return minimum, maximum
    unknown = pa.scalar(None, minimum.type)
    return pc.if_else(contradict, unknown, minimum), pc.if_else(contradict, unknown, maximum)
