"""The exact filter: which rows a predicate is true for, by the values themselves."""

from collections.abc import Iterator, Mapping
from typing import assert_never

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import UnsupportedPredicateError
from headrace.expr.evaluate import Bounds, evaluate, exact_bounds
from headrace.expr.node import (
    And,
    BoundColumn,
    BoundPredicate,
    Compare,
    Constant,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    StartsWith,
)
from headrace.rows.resolve import ColumnReading


def columns_of(predicate: BoundPredicate) -> Iterator[BoundColumn]:
    """Every column that the predicate looks at.

    Raises:
        UnsupportedPredicateError: a part of it cannot be evaluated by rows.
    """
    match predicate:
        case Opaque(sql):
            raise UnsupportedPredicateError(part=sql)
        case Compare(column) | In(column) | IsNull(column):
            yield column
        case StartsWith(column) | Like(column):
            yield column
        case And(parts) | Or(parts):
            for part in parts:
                yield from columns_of(part)
        case Not(part):
            yield from columns_of(part)
        case Constant():
            return
        case _:
            assert_never(predicate)


class RowEvidence(msgspec.Struct, frozen=True):
    """The values of a batch, as evidence that leaves no doubt."""

    batch: pa.RecordBatch
    readings: Mapping[tuple[str, ...], ColumnReading | None]
    partition: Mapping[str, pa.Scalar]
    _known: dict[tuple[str, ...], Bounds] = msgspec.field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def bounds(self, column: BoundColumn) -> Bounds:
        """The values of a column."""
        if column.path not in self._known:
            self._known[column.path] = exact_bounds(self._values(column))
        return self._known[column.path]

    def _values(self, column: BoundColumn) -> pa.Array:
        if column.is_partition:
            return pa.repeat(self.partition[column.path[0]], len(self))
        reading = self.readings[column.path]
        if reading is None:
            return pa.nulls(len(self), pa.null())
        return member(reading.read(self.batch), depth=len(column.path) - 1)


def member(array: pa.Array, *, depth: int) -> pa.Array:
    """What is at the end of a chain of structs that have one member each; null if any is."""
    for _ in range(depth):
        array = pc.struct_field(array, [0])
    return array


def true_rows(predicate: BoundPredicate, evidence: RowEvidence) -> pa.BooleanArray:
    """The rows for which the predicate is true: neither false nor null."""
    return evaluate(predicate, evidence).can_be_true
