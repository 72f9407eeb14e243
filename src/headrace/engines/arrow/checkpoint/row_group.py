"""Skips whole row groups of a checkpoint by the statistics in its footer.

It uses the evaluator that skips files, with bounds over all adds of a row group.
"""

from typing import Any

import msgspec
import pyarrow as pa

from headrace.engines.arrow.checkpoint.footer import Footer
from headrace.expr.evaluate import Bounds, evaluate
from headrace.expr.node import BoundColumn, BoundPredicate
from headrace.expr.reference import evaluated_columns
from headrace.protocol import light
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.bound import Recorded, lower_bound, upper_bound
from headrace.protocol.schema import PrimitiveType
from headrace.protocol.value import is_ordered

_STATISTICS = ("minValues", "maxValues", "nullCount")
_PARSED_STATISTICS = "add.stats_parsed."
_ABOVE = ("add", "stats_parsed", "minValues")
"""The path of a statistic above the column's own names."""
_FLOATING = (PrimitiveType("float"), PrimitiveType("double"))


def groups_to_read(predicate: BoundPredicate, *, footer: Footer, groups: list[int]) -> list[int]:
    """Return the row groups that, by their footer, may hold a file with a matching row."""
    columns = evaluated_columns(predicate)
    if columns and not any(_has_statistics(column, footer) for column in columns):
        return groups  # evaluating would take a millisecond and prune nothing
    possible = evaluate(predicate, _FooterEvidence(footer, tuple(groups))).can_be_true
    return [group for group, keep in zip(groups, possible.to_pylist(), strict=True) if keep]


def _parsed_column(column: BoundColumn) -> str:
    return f"add.partitionValues_parsed.{column.physical_path[0]}"


def _has_statistics(column: BoundColumn, footer: Footer) -> bool:
    """Return whether the footer may have statistics of a column."""
    if column.is_partition:
        return _parsed_column(column) in footer.positions
    return any(leaf_column.startswith(_PARSED_STATISTICS) for leaf_column in footer.positions)


def _are_typed_values_reliable(column: BoundColumn, footer: Footer, group: int) -> bool:
    """Return whether the typed values of a partition column represent its strings.

    A null may represent a string that the writer could not parse, whose file must be kept. And
    the writer parsed a timestamp without a zone in its own zone, while here it is in UTC.
    """
    leaf_column = _parsed_column(column)
    if leaf_column not in footer.positions or column.type == PrimitiveType("timestamp"):
        return False
    return column.type == PrimitiveType("string") or not _some_null(footer, group, leaf_column)


def _some_null(footer: Footer, group: int, leaf_column: str) -> bool:
    """Return whether an add of a group may have no value in a leaf column."""
    nulls = footer.nulls(group, leaf_column)
    return nulls is None or nulls != footer.nulls(group, "add.path")


class _FooterEvidence(msgspec.Struct, frozen=True):
    """The footer's bounds of the adds in each row group, as evidence for predicates."""

    footer: Footer
    groups: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.groups)

    def bounds(self, column: BoundColumn) -> Bounds:
        return self._of_partition(column) if column.is_partition else self._of_data(column)

    def _of_partition(self, column: BoundColumn) -> Bounds:
        leaf_column = _parsed_column(column)
        reliable = {
            group for group in self.groups if _are_typed_values_reliable(column, self.footer, group)
        }
        lows, highs = (
            [
                self._extreme(group, leaf_column, side) if group in reliable else None
                for group in self.groups
            ]
            for side in ("min", "max")
        )
        # An empty string is null, even if a writer stored it as a value.
        nulls = [
            low in ("", None) or _some_null(self.footer, group, leaf_column)
            for group, low in zip(self.groups, lows, strict=True)
        ]
        return self._bounds(column, lows, highs, nulls=nulls)

    def _of_data(self, column: BoundColumn) -> Bounds:
        name = ".".join(column.physical_path)
        counts = self._extremes(f"add.stats_parsed.nullCount.{name}", "max")
        lows = self._extremes(f"add.stats_parsed.minValues.{name}", "min")
        highs = self._extremes(f"add.stats_parsed.maxValues.{name}", "max")
        unknown: list[Any] = [None] * len(self)
        if not self._is_unambiguous(column):
            counts = lows = highs = unknown
        elif column.type in _FLOATING:
            # An extreme of a file may be NaN, which bounds nothing, and footers ignore NaN.
            lows = highs = unknown
        return self._bounds(column, lows, highs, nulls=[count != 0 for count in counts])

    def _is_unambiguous(self, column: BoundColumn) -> bool:
        """Return whether dots in names make no path of the column ambiguous."""
        path = column.physical_path
        if any("." in name for name in path):
            return False
        leaf_columns = [f"add.stats_parsed.{kind}.{'.'.join(path)}" for kind in _STATISTICS]
        depths = [
            self.footer.depth(leaf_column)
            for leaf_column in leaf_columns
            if leaf_column in self.footer.positions
        ]
        return len(path) == 1 or all(depth == len(_ABOVE) + len(path) for depth in depths)

    def _bounds(
        self, column: BoundColumn, lows: list[Any], highs: list[Any], *, nulls: list[bool]
    ) -> Bounds:
        values = pa.repeat(light.TRUE, len(self))
        may_be_null = light.array(nulls, pa.bool_())
        if not is_ordered(column.type):
            unknown = pa.nulls(len(self))
            return Bounds(
                lower=unknown, upper=unknown, may_be_null=may_be_null, may_be_value=values
            )
        return Bounds(
            lower=lower_bound(_array(lows, column), column.type, recorded=Recorded.FOR_MANY_FILES),
            upper=upper_bound(_array(highs, column), column.type, recorded=Recorded.FOR_MANY_FILES),
            may_be_null=may_be_null,
            may_be_value=values,
            may_be_nan=values if column.type in _FLOATING else None,
        )

    def _extremes(self, leaf_column: str, side: str) -> list[Any]:
        """Return an extreme of a statistic per group; None if a file may lack the statistic."""
        return [
            None
            if _some_null(self.footer, group, leaf_column)
            else self._extreme(group, leaf_column, side)
            for group in self.groups
        ]

    def _extreme(self, group: int, leaf_column: str, side: str) -> Any:
        """Return the smallest or largest value of a leaf column; None if the footer has none."""
        chunk = self.footer.chunk(group, leaf_column)
        statistics = None if chunk is None else chunk.statistics
        if statistics is None or not statistics.has_min_max:
            return None
        try:
            return getattr(statistics, side)
        except (OverflowError, ValueError):  # a date outside Python's calendar
            return None


def _array(values: list[Any], column: BoundColumn) -> pa.Array:
    """Convert values to the column's type; values of another type become null."""
    target = arrow_type(column.type)
    typed = []
    for value in values:
        try:
            typed.append(light.scalar(value, target).as_py())
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            typed.append(None)
    return light.array(typed, target)
