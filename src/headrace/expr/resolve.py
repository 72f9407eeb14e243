"""Resolve the column names of a predicate against the schema of a table.

A `Column` enters; a `BoundColumn` leaves. Every name must exist. A column may still be unusable in
a comparison: it is inside a list or a map, has a special sort order, or has unreliable statistics.
"""

from collections.abc import Sequence

import msgspec

from headrace.errors import UnknownColumnError
from headrace.expr.node import Basis, BoundColumn, Column
from headrace.protocol.schema import (
    ArrayType,
    DataType,
    Field,
    MapType,
    StructType,
    fold_name,
)
from headrace.protocol.value import is_ordered

_COLLATIONS = "__COLLATIONS"
_CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_TYPE_CHANGES = "delta.typeChanges"


class Resolved(msgspec.Struct, frozen=True):
    """A resolved column, and whether its values can be compared with a literal."""

    column: BoundColumn
    is_comparable: bool


class Resolver(msgspec.Struct, frozen=True):
    """Finds the columns of a table by name."""

    schema: StructType
    partition_columns: frozenset[str]
    """Folded names."""
    basis: Basis

    @classmethod
    def of(
        cls, schema: StructType, *, partition_columns: Sequence[str], basis: Basis
    ) -> "Resolver":
        """Return a resolver for a schema; names are case-insensitive."""
        return cls(schema, frozenset(map(fold_name, partition_columns)), basis)

    def find(self, column: Column) -> Resolved | None:
        """Find a column; None if its path leads through a list or map, which has many values.

        Raises:
            UnknownColumnError: a name does not exist.
        """
        level, fields = self.schema, list[Field]()
        is_single = True
        for index, name in enumerate(column.parts):
            field = level.find(name)
            if field is None:
                known = tuple(str(Column((*column.parts[:index], n))) for n in level.names)
                raise UnknownColumnError(column=str(column), known=known, in_condition=True)
            fields.append(field)
            inner: DataType = field.type
            while isinstance(inner, ArrayType) and index + 1 < len(column.parts):
                inner, is_single = inner.element, False
            if isinstance(inner, MapType) and index + 1 < len(column.parts):
                return None  # the next part is a key
            level = inner if isinstance(inner, StructType) else StructType()
        return self._resolved(fields) if is_single else None

    def _resolved(self, fields: list[Field]) -> Resolved:
        last = fields[-1]
        column = BoundColumn(
            path=tuple(field.name for field in fields),
            physical_path=tuple(field.physical_name for field in fields),
            type=last.type,
            is_partition=len(fields) == 1 and fold_name(last.name) in self.partition_columns,
        )
        is_comparable = is_ordered(last.type) and not _has_own_order(last)
        is_guessed = self.basis is Basis.STATISTICS and not column.is_partition
        if is_guessed and _was_float(last):
            is_comparable = False
        return Resolved(column, is_comparable)


def _has_own_order(field: Field) -> bool:
    """Whether strings are compared by a collation or, for `char`, as if padded."""
    return _COLLATIONS in field.metadata or str(field.metadata.get(_CHAR_TYPE, "")).startswith(
        "char"
    )


def _was_float(field: Field) -> bool:
    """Whether the column was a float: its old statistics hold the shortest text of each float.

    Read as a double, that text is close to the float but not equal to it.
    """
    changes = field.metadata.get(_TYPE_CHANGES) or ()
    return any(change.get("fromType") == "float" for change in changes)
