"""Binding: a predicate over names becomes one over the columns of a table.

Every name must be a column. Literals become values of their column's type; comparisons that
Spark makes in another way than we can are left opaque, so that they never skip a file.
"""

from collections.abc import Sequence
from enum import Enum
from typing import assert_never

import msgspec

from headrace.errors import PredicateTypeError, UnknownColumnError
from headrace.expr.coerce import Fit, as_double, fit
from headrace.expr.node import (
    And,
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
    Value,
)
from headrace.protocol.cast import UnrepresentableError
from headrace.protocol.schema import (
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
)
from headrace.protocol.value import INTEGER_BITS, is_ordered

_COLLATIONS = "__COLLATIONS"
_CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_TYPE_CHANGES = "delta.typeChanges"
_TIMES = ("date", "timestamp", "timestamp_ntz")


class Basis(Enum):
    """What a predicate will be evaluated over."""

    STATISTICS = "statistics"
    """What a file tells of its columns: where that is not to be relied on, a part is opaque."""
    VALUES = "values"
    """The rows themselves, which leave no doubt."""


def bind(
    predicate: Predicate,
    *,
    schema: StructType,
    partition_columns: Sequence[str],
    basis: Basis = Basis.STATISTICS,
) -> BoundPredicate:
    """Resolve the names of a predicate, and convert its literals.

    Raises:
        UnknownColumnError: a name is no column of the table.
        PredicateTypeError: a literal cannot be compared with its column.
    """
    folded = frozenset(map(str.casefold, partition_columns))
    return _Binder(schema, folded, basis).bind(predicate)


class _Resolved(msgspec.Struct, frozen=True):
    column: BoundColumn
    is_comparable: bool


class _Binder(msgspec.Struct, frozen=True):
    schema: StructType
    partition_columns: frozenset[str]
    basis: Basis

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
                    self._resolve(column)
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
        resolved = self._resolve(column)
        if resolved is None:
            return Opaque(str(column), (column,))
        if resolved.column.type != PrimitiveType("boolean"):
            raise _mismatch(resolved.column, Literal(True))
        return Compare(resolved.column, CompareOp.EQ, Literal(True))

    def _bind_compare(self, predicate: Compare[Column]) -> BoundPredicate:
        column, op, literal = predicate.column, predicate.op, predicate.literal
        resolved = self._resolve(column)
        if literal.value is None:
            return self._bind_is_null(column) if op is CompareOp.SAFE_EQ else Constant(None)
        if resolved is None or not resolved.is_comparable:
            return _opaque(predicate)
        found = _fit(literal, literal.value, resolved.column)
        return _opaque(predicate) if found is None else _compare(resolved.column, op, found)

    def _bind_in(self, predicate: In[Column]) -> BoundPredicate:
        resolved = self._resolve(predicate.column)
        literals = [literal for literal in predicate.literals if literal.value is not None]
        has_null = len(literals) < len(predicate.literals)
        if resolved is None or not resolved.is_comparable:
            return _opaque(predicate)
        column = resolved.column
        values = _common_values(literals, column)
        fits = [_fit(*pair, column) for pair in zip(literals, values, strict=True)]
        if None in fits or _mixes_text(literals, column.type):
            return _opaque(predicate)
        if any(found and not found.is_exact and not found.is_empty for found in fits):
            return _opaque(predicate)  # several values are one as doubles: too rare to list them
        kept = dict.fromkeys(found.least for found in fits if found and found.is_exact)
        if not kept:
            return Constant(None) if has_null else _never(column)
        nulls = (Literal(None),) if has_null else ()
        return In(column, (*map(Literal, kept), *nulls))

    def _bind_is_null(self, column: Column) -> BoundPredicate:
        resolved = self._resolve(column)
        if resolved is None:
            return _opaque(IsNull(column))
        # Nobody counts the nulls of a struct: its statistics are those of its members.
        is_struct = isinstance(resolved.column.type, StructType)
        if is_struct and self.basis is Basis.STATISTICS:
            return _opaque(IsNull(column))
        return IsNull(resolved.column)

    def _bind_starts_with(self, predicate: StartsWith[Column]) -> BoundPredicate:
        column = self._text_column(predicate.column)
        return _opaque(predicate) if column is None else StartsWith(column, predicate.prefix)

    def _bind_like(self, predicate: Like[Column]) -> BoundPredicate:
        column = self._text_column(predicate.column)
        if column is None:
            return _opaque(predicate)
        if self.basis is Basis.VALUES or column.is_partition:
            return Like(column, predicate.pattern)
        # Of a pattern, bounds tell no more than what it begins with.
        rest = _opaque(predicate)
        return And((StartsWith(column, predicate.prefix), rest)) if predicate.prefix else rest

    def _text_column(self, column: Column) -> BoundColumn | None:
        """A column of texts that are compared byte by byte; None if it is another."""
        resolved = self._resolve(column)
        if resolved is None or not resolved.is_comparable:
            return None
        return resolved.column if resolved.column.type == PrimitiveType("string") else None

    def _resolve(self, column: Column) -> _Resolved | None:
        """Find a column; None if its path leads through a list or map, which has many values."""
        level, found = self.schema, list[Field]()
        is_single = True
        for index, name in enumerate(column.parts):
            field = level.find(name)
            if field is None:
                known = tuple(str(Column((*column.parts[:index], n))) for n in level.names)
                raise UnknownColumnError(column=str(column), known=known)
            found.append(field)
            inner: DataType = field.type
            while isinstance(inner, ArrayType) and index + 1 < len(column.parts):
                inner, is_single = inner.element, False
            if isinstance(inner, MapType) and index + 1 < len(column.parts):
                return None  # what follows is a key
            level = inner if isinstance(inner, StructType) else StructType()
        return self._bound(found) if is_single else None

    def _bound(self, fields: list[Field]) -> _Resolved:
        last = fields[-1]
        column = BoundColumn(
            path=tuple(field.name for field in fields),
            physical_path=tuple(field.physical_name for field in fields),
            type=last.type,
            is_partition=len(fields) == 1 and last.name.casefold() in self.partition_columns,
        )
        is_comparable = is_ordered(last.type) and not _has_own_order(last)
        is_guessed = self.basis is Basis.STATISTICS and not column.is_partition
        if is_guessed and _was_float(last):
            is_comparable = False
        return _Resolved(column, is_comparable)


def _has_own_order(field: Field) -> bool:
    """Whether a text is compared by a collation, or, as a char, as if it were padded."""
    return _COLLATIONS in field.metadata or str(field.metadata.get(_CHAR_TYPE, "")).startswith(
        "char"
    )


def _was_float(field: Field) -> bool:
    """Whether old statistics have the short texts of floats, which lie beside them as doubles."""
    changes = field.metadata.get(_TYPE_CHANGES) or ()
    return any(change.get("fromType") == "float" for change in changes)


def _fit(literal: Literal, value: Value, column: BoundColumn) -> Fit | None:
    try:
        return fit(value, column.type)
    except UnrepresentableError:
        return None
    except (TypeError, ValueError) as error:
        raise _mismatch(column, literal) from error


def _common_values(literals: list[Literal], column: BoundColumn) -> list[Value]:
    """The values of a list in the one type in which Spark compares all of them."""
    values = [literal.value for literal in literals]
    is_decimal = isinstance(column.type, DecimalType)
    if not is_decimal and str(column.type) not in INTEGER_BITS:
        return values
    if not any(isinstance(v, float) or (is_decimal and isinstance(v, str)) for v in values):
        return values
    return [_as_double(literal, column) for literal in literals]


def _as_double(literal: Literal, column: BoundColumn) -> float:
    try:
        return as_double(literal.value)
    except (TypeError, ValueError) as error:
        raise _mismatch(column, literal) from error


def _mixes_text(literals: list[Literal], data_type: DataType) -> bool:
    """Whether texts stand beside times, which changes what Spark takes the texts for."""
    texts = sum(isinstance(literal.value, str) for literal in literals)
    return str(data_type) in _TIMES and 0 < texts < len(literals)


def _compare(column: BoundColumn, op: CompareOp, found: Fit) -> BoundPredicate:
    match op:
        case CompareOp.LT:
            return _against(column, op, found.least, beyond=_always(column))
        case CompareOp.LE:
            return _against(column, op, found.greatest, beyond=_never(column))
        case CompareOp.GT:
            return _against(column, op, found.greatest, beyond=_always(column))
        case CompareOp.GE:
            return _against(column, op, found.least, beyond=_never(column))
        case CompareOp.EQ | CompareOp.NE | CompareOp.SAFE_EQ:
            return _equal(column, op, found)
        case _:
            assert_never(op)


def _against(
    column: BoundColumn, op: CompareOp, value: Value, *, beyond: BoundPredicate
) -> BoundPredicate:
    return beyond if value is None else Compare(column, op, Literal(value))


def _equal(column: BoundColumn, op: CompareOp, found: Fit) -> BoundPredicate:
    if found.is_exact:
        return Compare(column, op, Literal(found.least))
    if found.is_empty:
        if op is CompareOp.SAFE_EQ:
            return Constant(False)
        return _never(column) if op is CompareOp.EQ else _always(column)
    among = (
        Compare(column, CompareOp.GE, Literal(found.least)),
        Compare(column, CompareOp.LE, Literal(found.greatest)),
    )
    if op is CompareOp.SAFE_EQ:
        return And((*among, Not(IsNull(column))))
    return And(among) if op is CompareOp.EQ else Not(And(among))


def _never(column: BoundColumn) -> BoundPredicate:
    """False where the column has a value, else null."""
    return And((IsNull(column), Constant(None)))


def _always(column: BoundColumn) -> BoundPredicate:
    """True where the column has a value, else null."""
    return Or((Not(IsNull(column)), Constant(None)))


def _opaque(
    predicate: Compare[Column] | In[Column] | IsNull[Column] | StartsWith[Column] | Like[Column],
) -> Opaque:
    return Opaque(str(predicate), (predicate.column,))


def _mismatch(column: BoundColumn, literal: Literal) -> PredicateTypeError:
    return PredicateTypeError(column=str(column), type_name=str(column.type), literal=str(literal))
