"""Skips row groups that cannot contain a matching row, by the statistics in the footer.

A row group is skipped only if its statistics prove that no row matches; missing statistics count as
unknown. The rows of the other row groups are filtered by their values.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.expr.evaluate import Bounds, evaluate, exact_bounds
from headrace.expr.node import BoundColumn, BoundPredicate
from headrace.protocol import light
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.schema import StructType
from headrace.rows.reading import Reading, ReadLeafColumn, ReadStruct
from headrace.rows.resolve import ColumnReading

_NO_ORDER = "INT96"


class RowGroupEvidence(msgspec.Struct, frozen=True):
    """The statistics of a file's row groups, as evidence for predicates."""

    footer: pq.FileMetaData
    readings: Mapping[tuple[str, ...], ColumnReading | None]
    partition: Mapping[str, pa.Scalar]

    def __len__(self) -> int:
        return int(self.footer.num_row_groups)

    def bounds(self, column: BoundColumn) -> Bounds:
        """Return the bounds of a column in each row group."""
        if column.is_partition:
            return exact_bounds(pa.repeat(self.partition[column.path[0]], len(self)))
        column_reading = self.readings[column.path]
        if column_reading is None:
            return exact_bounds(pa.nulls(len(self), pa.null()))
        target = arrow_type(column.type)
        if isinstance(column.type, StructType):
            # A struct may be non-null although its only member is null, and has no statistics.
            return self._unknown_bounds(target)
        reading = _only_leaf_column(column_reading.reading)
        return self._unknown_bounds(target) if reading is None else self._bounds(reading, target)

    def _bounds(self, reading: ReadLeafColumn, target: pa.DataType) -> Bounds:
        groups = range(len(self))
        chunks = [self.footer.row_group(group).column(reading.leaf_column) for group in groups]
        if any(chunk.physical_type == _NO_ORDER for chunk in chunks):
            return self._unknown_bounds(target)
        statistics = [chunk.statistics for chunk in chunks]
        nulls = [s.null_count if s is not None and s.has_null_count else None for s in statistics]
        rows = [chunk.num_values for chunk in chunks]
        return Bounds(
            lower=_extremes(statistics, lambda s: s.min, reading, target),
            upper=_extremes(statistics, lambda s: s.max, reading, target),
            may_be_null=light.array([count != 0 for count in nulls], pa.bool_()),
            may_be_value=light.array(
                [count != total for count, total in zip(nulls, rows, strict=True)], pa.bool_()
            ),
            may_be_nan=self._all_true() if pa.types.is_floating(target) else None,
        )

    def _unknown_bounds(self, target: pa.DataType) -> Bounds:
        return Bounds(
            lower=pa.nulls(len(self), target),
            upper=pa.nulls(len(self), target),
            may_be_null=self._all_true(),
            may_be_value=self._all_true(),
            may_be_nan=self._all_true() if pa.types.is_floating(target) else None,
        )

    def _all_true(self) -> pa.BooleanArray:
        return pa.repeat(light.TRUE, len(self))


def matching_groups(predicate: BoundPredicate, evidence: RowGroupEvidence) -> list[int]:
    """Return the row groups that may contain a row for which the predicate is true."""
    can_match = evaluate(predicate, evidence).can_be_true.to_pylist()
    return [group for group, possible in enumerate(can_match) if possible]


def _only_leaf_column(reading: Reading) -> ReadLeafColumn | None:
    """Return the only leaf column of nested structs; None if there are several, or a list."""
    match reading:
        case ReadLeafColumn():
            return reading
        case ReadStruct(members=(only,)) if only.reading is not None:
            return _only_leaf_column(only.reading)
        case _:
            return None


def _extremes(
    statistics: list[Any],
    pick: Callable[[Any], Any],
    reading: ReadLeafColumn,
    target: pa.DataType,
) -> pa.Array:
    """Return minima or maxima in the table's type; conversions preserve the order."""
    try:
        values = [pick(s) if s is not None and s.has_min_max else None for s in statistics]
        extremes = reading.convert(light.array(values, reading.source))
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return pa.nulls(len(statistics), target)  # a value that Python or the type cannot represent
    if pa.types.is_floating(target):
        return pc.if_else(pc.is_nan(extremes), light.null(target), extremes)
    return extremes
