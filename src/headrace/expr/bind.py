"""Bind a predicate over names to the columns of a table.

Every name must be a column. Literals become values of their column's type. A comparison that we
cannot make as Spark does becomes opaque, so it never skips a file.
"""

from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import assert_never

import msgspec

from headrace.expr.comparison import compare, compare_any, mismatch
from headrace.expr.node import (
    And,
    Basis,
    BoundColumn,
    BoundPredicate,
    Column,
    Compare,
    CompareOp,
    Constant,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)
from headrace.expr.resolve import Resolver
from headrace.protocol.schema import PrimitiveType, StructType


def bind(
    predicate: Predicate,
    *,
    schema: StructType,
    partition_columns: Sequence[str],
    basis: Basis = Basis.STATISTICS,
    zone: tzinfo | None = UTC,
) -> BoundPredicate:
    """Resolve the names of a predicate and convert its literals.

    Args:
        predicate: The predicate to bind.
        schema: The columns of the table.
        partition_columns: The names of the partition columns.
        basis: What the predicate will be evaluated over.
        zone: The time zone of timestamps without one; None if unknown. A part that stays opaque
            in a zone other than UTC also stays opaque when it is bound again.

    Raises:
        UnknownColumnError: a name is not a column of the table.
        PredicateTypeError: a literal cannot be compared with its column.
    """
    columns = Resolver.of(schema, partition_columns=partition_columns, basis=basis)
    return _Binder(columns, zone).bind(predicate)


def unbind(predicate: BoundPredicate) -> Predicate:
    """Return a bound predicate over the names of its columns, to bind it on another basis."""
    match predicate:
        case Constant() | Opaque():
            return predicate
        case Compare(column, op, literal):
            return Compare(_named(column), op, literal)
        case In(column, literals):
            return In(_named(column), literals)
        case IsNull(column):
            return IsNull(_named(column))
        case StartsWith(column, prefix):
            return StartsWith(_named(column), prefix)
        case Like(column, pattern):
            return Like(_named(column), pattern)
        case And(parts):
            return And(tuple(map(unbind, parts)))
        case Or(parts):
            return Or(tuple(map(unbind, parts)))
        case Not(part):
            return Not(unbind(part))
        case _:
            assert_never(predicate)


def _named(column: BoundColumn) -> Column:
    return Column(column.path)


class _Binder(msgspec.Struct, frozen=True):
    columns: Resolver
    zone: tzinfo | None

    def bind(self, predicate: Predicate) -> BoundPredicate:  # noqa: C901, PLR0912  (a case a node)
        match predicate:
            case Constant():
                return predicate
            case Column():
                return self._bind_boolean(predicate)
            case Compare():
                return self._bind_compare(predicate)
            case In():
                return self._bind_in(predicate)
            case IsNull(column):
                return self._bind_is_null(column)
            case StartsWith():
                return self._bind_starts_with(predicate)
            case Like():
                return self._bind_like(predicate)
            case Opaque(columns=columns):
                for column in columns:
                    self.columns.find(column)
                return predicate
            case And(parts):
                return And(tuple(self.bind(part) for part in parts))
            case Or(parts):
                return Or(tuple(self.bind(part) for part in parts))
            case Not(part):
                return Not(self.bind(part))
            case _:
                assert_never(predicate)

    def _bind_boolean(self, column: Column) -> BoundPredicate:
        resolved = self.columns.find(column)
        if resolved is None:
            return Opaque(str(column), (column,))
        if resolved.column.type != PrimitiveType("boolean"):
            raise mismatch(resolved.column, Literal(True))
        return Compare(resolved.column, CompareOp.EQ, Literal(True))

    def _bind_compare(self, predicate: Compare[Column]) -> BoundPredicate:
        resolved = self.columns.find(predicate.column)
        if predicate.literal.value is None:
            is_safe = predicate.op is CompareOp.SAFE_EQ
            return self._bind_is_null(predicate.column) if is_safe else Constant(None)
        if resolved is None or not resolved.is_comparable:
            return _opaque(predicate)
        bound = compare(resolved.column, predicate.op, predicate.literal, zone=self.zone)
        return bound or self._opaque_in_zone(predicate)

    def _bind_in(self, predicate: In[Column]) -> BoundPredicate:
        resolved = self.columns.find(predicate.column)
        if resolved is None or not resolved.is_comparable:
            return _opaque(predicate)
        bound = compare_any(resolved.column, predicate.literals, zone=self.zone)
        return bound or self._opaque_in_zone(predicate)

    def _opaque_in_zone(self, predicate: Compare[Column] | In[Column]) -> Opaque:
        if self.zone is UTC:
            return _opaque(predicate)
        # A cast is never evaluated here, so the text is never bound again as if it were in UTC.
        return Opaque(f"CAST({predicate} AS BOOLEAN)", (predicate.column,))

    def _bind_is_null(self, column: Column) -> BoundPredicate:
        resolved = self.columns.find(column)
        if resolved is None:
            return _opaque(IsNull(column))
        # Statistics have no null count for a struct, only for its members.
        is_struct = isinstance(resolved.column.type, StructType)
        if is_struct and self.columns.basis is Basis.STATISTICS:
            return _opaque(IsNull(column))
        return IsNull(resolved.column)

    def _bind_starts_with(self, predicate: StartsWith[Column]) -> BoundPredicate:
        column = self._text_column(predicate.column)
        return _opaque(predicate) if column is None else StartsWith(column, predicate.prefix)

    def _bind_like(self, predicate: Like[Column]) -> BoundPredicate:
        column = self._text_column(predicate.column)
        if column is None:
            return _opaque(predicate)
        if self.columns.basis is Basis.VALUES or column.is_partition:
            return Like(column, predicate.pattern)
        # Bounds can only decide the prefix of a pattern.
        opaque = _opaque(predicate)
        return And((StartsWith(column, predicate.prefix), opaque)) if predicate.prefix else opaque

    def _text_column(self, column: Column) -> BoundColumn | None:
        """Return a string column that is compared byte by byte; None for any other column."""
        resolved = self.columns.find(column)
        if resolved is None or not resolved.is_comparable:
            return None
        return resolved.column if resolved.column.type == PrimitiveType("string") else None


def _opaque(
    predicate: Compare[Column] | In[Column] | IsNull[Column] | StartsWith[Column] | Like[Column],
) -> Opaque:
    return Opaque(str(predicate), (predicate.column,))
