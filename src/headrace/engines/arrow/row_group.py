"""Ruling out whole row groups of a checkpoint by what its footer and dictionaries tell.

The same evaluator that skips files answers here, with bounds over all the adds of a group.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.engines.arrow.footer import Footer
from headrace.expr.evaluate import Bounds, evaluate, exact_bounds
from headrace.expr.node import And, BoundColumn, BoundPredicate
from headrace.expr.reference import evaluated_columns
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.arrow_value import typed_array
from headrace.protocol.bound import lower_bound, upper_bound
from headrace.protocol.schema import PrimitiveType
from headrace.protocol.value import is_ordered

_FLOATING = (PrimitiveType("float"), PrimitiveType("double"))


def groups_to_read(
    predicate: BoundPredicate,
    *,
    footer: Footer,
    groups: list[int],
    texts_of: Callable[[int], list[str] | None],
) -> list[int]:
    """The row groups that may hold a file with a matching row.

    `texts_of` gives the distinct partition texts of a group, of all columns together; it is
    asked only for groups that the footer has not ruled out.
    """
    possible = evaluate(predicate, _FooterEvidence(footer, tuple(groups))).can_be_true
    left = [group for group, keep in zip(groups, possible.to_pylist(), strict=True) if keep]
    parts = [part for part in _conjuncts(predicate) if _partition_column(part) is not None]
    if not parts or _has_parsed_values(footer, parts):
        return left
    return [group for group in left if _texts_may_match(parts, texts_of(group))]


def _conjuncts(predicate: BoundPredicate) -> tuple[BoundPredicate, ...]:
    return predicate.parts if isinstance(predicate, And) else (predicate,)


def _partition_column(part: BoundPredicate) -> BoundColumn | None:
    """The partition column that a part is about, if it is about one column only."""
    columns = evaluated_columns(part)
    return columns[0] if len(columns) == 1 and columns[0].is_partition else None


def _parsed_leaf(column: BoundColumn) -> str:
    return f"add.partitionValues_parsed.{column.physical_path[0]}"


def _has_parsed_values(footer: Footer, parts: list[BoundPredicate]) -> bool:
    columns = (_partition_column(part) for part in parts)
    return all(c is not None and _parsed_leaf(c) in footer.positions for c in columns)


def _texts_may_match(parts: list[BoundPredicate], texts: list[str] | None) -> bool:
    if texts is None:
        return True
    for part in parts:
        column = _partition_column(part)
        assert column is not None
        # A null leaves no trace in a dictionary, so it is always among the candidates.
        values, uncastable = typed_array(pa.array([None, *texts], pa.string()), column.type)
        if pc.any(uncastable).as_py():
            # A text of another type may be another column's, or a bad value of this one, whose
            # file must be kept: the dictionary does not say which.
            continue
        candidates = _Candidates(column, exact_bounds(values), len(values))
        if not pc.any(evaluate(part, candidates).can_be_true).as_py():
            return False
    return True


class _Candidates(msgspec.Struct, frozen=True):
    """The values that one column may have: each is an entry of its own."""

    column: BoundColumn
    values: Bounds
    size: int

    def __len__(self) -> int:
        return self.size

    def bounds(self, column: BoundColumn) -> Bounds:
        assert column == self.column
        return self.values


class _FooterEvidence(msgspec.Struct, frozen=True):
    """What the footer says about the adds of each row group."""

    footer: Footer
    groups: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.groups)

    def bounds(self, column: BoundColumn) -> Bounds:
        if column.is_partition:
            leaf = _parsed_leaf(column)
            # An empty text is null, also where a writer has kept it as a value.
            empty = [self._extreme(group, leaf, "min") in ("", None) for group in self.groups]
            nulls = [a or b for a, b in zip(self._some_null(leaf, self.groups), empty, strict=True)]
            return self._bounds(column, leaf, leaf, nulls=nulls)
        name = ".".join(column.physical_path)
        leaf = f"add.stats_parsed.nullCount.{name}"
        counts = [self._extreme(group, leaf, "max") for group in self.groups]
        return self._bounds(
            column,
            f"add.stats_parsed.minValues.{name}",
            f"add.stats_parsed.maxValues.{name}",
            nulls=[count != 0 for count in counts],
        )

    def _bounds(self, column: BoundColumn, low: str, high: str, *, nulls: list[bool]) -> Bounds:
        if not is_ordered(column.type):
            unknown = pa.nulls(len(self))
            return Bounds(
                lower=unknown,
                upper=unknown,
                may_be_null=pa.array(nulls, pa.bool_()),
                may_be_value=pa.repeat(True, len(self)),
            )
        lows = [self._extreme(group, low, "min") for group in self.groups]
        highs = [self._extreme(group, high, "max") for group in self.groups]
        minimum, maximum = _array(lows, column), _array(highs, column)
        values = pa.repeat(True, len(self))
        return Bounds(
            lower=lower_bound(minimum, column.type),
            upper=upper_bound(maximum, column.type),
            may_be_null=pa.array(nulls, pa.bool_()),
            may_be_value=values,
            may_be_nan=values if column.type in _FLOATING else None,
        )

    def _extreme(self, group: int, leaf: str, side: str) -> Any:
        """The smallest or largest value of a leaf; None where some add of the group has none."""
        chunk = self.footer.chunk(group, leaf)
        statistics = None if chunk is None else chunk.statistics
        if statistics is None or not statistics.has_min_max:
            return None
        if leaf.startswith("add.stats_parsed.") and self._some_null(leaf, [group])[0]:
            return None  # a file without this statistic may hold anything
        return getattr(statistics, side)

    def _some_null(self, leaf: str, groups: Sequence[int]) -> list[bool]:
        """Whether an add of each group may have no value there."""
        return [
            (nulls := self.footer.nulls(group, leaf)) is None
            or nulls != self.footer.nulls(group, "add.path")
            for group in groups
        ]


def _array(values: list[Any], column: BoundColumn) -> pa.Array:
    """The values in the column's type; what is not of that type is unknown."""
    target = arrow_type(column.type)
    found = []
    for value in values:
        try:
            found.append(pa.scalar(value, target).as_py())
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            found.append(None)
    return pa.array(found, target)
