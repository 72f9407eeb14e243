"""Filters entries exactly by a SQL condition on partition columns.

The text of a condition and entries enter; a mask leaves, for `DROP PARTITIONS`.
"""

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import InvalidArgumentError, PartitionValueError
from headrace.expr.bind import bind
from headrace.expr.evaluate import Bounds, evaluate, exact_bounds
from headrace.expr.node import Basis, BoundColumn, BoundPredicate
from headrace.expr.parse import parse_predicate
from headrace.protocol.arrow_value import typed_array
from headrace.protocol.schema import DataType, Field, StructType
from headrace.protocol.state import Entry
from headrace.rows.row_filter import columns_of


class PartitionFilter:
    """A SQL condition over the partition columns of a table."""

    def __init__(self, where: str, *, types: Mapping[str, DataType]) -> None:
        """Parse and bind the condition.

        Raises:
            PredicateSyntaxError, PredicateTypeError, UnsupportedPredicateError: it is not valid.
            UnknownColumnError: it names something other than a partition column.
        """
        self._types = types
        fields = tuple(Field(name, kind) for name, kind in types.items())
        self._predicate: BoundPredicate = bind(
            parse_predicate(where),
            schema=StructType(fields),
            partition_columns=list(types),
            basis=Basis.VALUES,
        )
        if not list(columns_of(self._predicate)):
            reason = "it names no partition column; to remove everything, name all partitions"
            raise InvalidArgumentError(argument="WHERE", reason=reason)
        self._truths: dict[tuple[str | None, ...], bool] = {}

    def matches(self, entries: Iterable[Entry]) -> list[bool]:
        """Return for each entry whether the condition is true; unknown counts as not true.

        Raises:
            PartitionValueError: a value is not of its column's type.
        """
        partitions = [
            tuple(entry["partitionValues"].get(name) for name in self._types) for entry in entries
        ]
        new = sorted(set(partitions) - self._truths.keys(), key=repr)
        if new:
            self._truths.update(zip(new, self._evaluated(new), strict=True))
        return [self._truths[partition] for partition in partitions]

    def _evaluated(self, partitions: list[tuple[str | None, ...]]) -> list[bool]:
        columns = {}
        for at, (name, kind) in enumerate(self._types.items()):
            texts = pa.array([partition[at] for partition in partitions], pa.string())
            values, uncastable = typed_array(texts, kind)
            if pc.any(uncastable).as_py():
                text = texts.filter(uncastable)[0].as_py()
                raise PartitionValueError(column=name, value=text, type_name=str(kind))
            columns[name] = values
        truth = evaluate(self._predicate, _Exact(columns, len(partitions)))
        mask: list[bool] = pc.and_not(truth.can_be_true, truth.can_be_false).to_pylist()
        return mask


class _Exact:
    """Partition values, as exact bounds for the evaluation."""

    def __init__(self, columns: Mapping[str, pa.Array], count: int) -> None:
        self._columns = columns
        self._count = count

    def __len__(self) -> int:
        return self._count

    def bounds(self, column: BoundColumn) -> Bounds:
        return exact_bounds(self._columns[column.path[0]])
