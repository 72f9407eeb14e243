"""The columns and rows requested of each data file.

A table's schema and the names of columns enter; a `RowRequest`, which can be pickled, leaves.
"""

from collections.abc import Sequence
from functools import cached_property

import msgspec
import pyarrow as pa

from headrace.errors import UnknownColumnError
from headrace.expr.node import BoundPredicate
from headrace.protocol.arrow_schema import arrow_schema
from headrace.protocol.schema import Field, StructType
from headrace.rows.resolve import MatchBy
from headrace.rows.row_filter import columns_of


class RowRequest(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The requested columns and rows, in terms of the table's schema."""

    schema: StructType
    """All columns of the table."""
    columns: StructType
    """The requested columns, in order."""
    partition_columns: frozenset[str]
    predicate: BoundPredicate | None
    match_by: MatchBy
    rows_per_batch: int

    @cached_property
    def output_schema(self) -> pa.Schema:
        """The Arrow schema of the requested columns."""
        return arrow_schema(self.columns)

    @cached_property
    def stored_columns(self) -> tuple[Field, ...]:
        """The requested columns that data files contain; the others are partition columns."""
        return tuple(f for f in self.columns.fields if f.name not in self.partition_columns)

    @cached_property
    def filter_columns(self) -> dict[tuple[str, ...], Field]:
        """The predicate's data columns, each reduced to the members on its path.

        Raises:
            UnsupportedPredicateError: a part of the predicate cannot be evaluated by rows.
        """
        columns = () if self.predicate is None else columns_of(self.predicate)
        return {c.path: _narrowed(self.schema, c.path) for c in columns if not c.is_partition}

    @cached_property
    def needs_partition(self) -> bool:
        """Whether partition values are requested, or part of the predicate."""
        stored = len(self.stored_columns) == len(self.columns.fields)
        columns = () if self.predicate is None else columns_of(self.predicate)
        return not stored or any(column.is_partition for column in columns)


def choose_columns(schema: StructType, names: Sequence[str] | None) -> StructType:
    """Return the columns with these names, in their order, or all columns if `names` is None.

    Raises:
        UnknownColumnError: the table has no such column.
    """
    if names is None:
        return schema
    fields: dict[str, Field] = {}
    for name in names:
        field = schema.find(name)
        if field is None:
            raise UnknownColumnError(column=name, known=schema.names)
        fields[field.name] = field
    return StructType(tuple(fields.values()))


def _narrowed(struct: StructType, path: tuple[str, ...]) -> Field:
    """Return the first field of a path, reduced to the members on the path."""
    field = next(field for field in struct.fields if field.name == path[0])
    if len(path) == 1:
        return field
    assert isinstance(field.type, StructType)
    inner = StructType((_narrowed(field.type, path[1:]),))
    return Field(field.name, inner, field.nullable, field.metadata)
