"""A column against literals: the predicate that says what Spark would say.

Literals become values of the column's own type. Where the type does not have a value, the
comparison becomes one with its nearest values, or is decided; nulls stay null. `None` leaves
here where Spark compares in a way that we do not follow.
"""

from collections.abc import Sequence
from typing import assert_never

from headrace.errors import PredicateTypeError
from headrace.expr.coerce import Fit, as_double, fit
from headrace.expr.node import (
    And,
    BoundColumn,
    BoundPredicate,
    Compare,
    CompareOp,
    Constant,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Value,
)
from headrace.protocol.cast import UnrepresentableError
from headrace.protocol.schema import DataType, DecimalType
from headrace.protocol.value import INTEGER_BITS

_TIMES = ("date", "timestamp", "timestamp_ntz")


def compare(column: BoundColumn, op: CompareOp, literal: Literal) -> BoundPredicate | None:
    """Compare a column with a literal that is not null.

    Raises:
        PredicateTypeError: the two cannot be compared.
    """
    found = _fit(literal, literal.value, column)
    if found is None:
        return None
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


def compare_any(column: BoundColumn, literals: Sequence[Literal]) -> BoundPredicate | None:
    """Ask whether a column is one of several literals, null perhaps among them.

    Raises:
        PredicateTypeError: one of them cannot be compared with the column.
    """
    known = [literal for literal in literals if literal.value is not None]
    values = _common_values(known, column)
    fits = [_fit(*pair, column) for pair in zip(known, values, strict=True)]
    if None in fits or _mixes_text(known, column.type):
        return None
    if any(found and not found.is_exact and not found.is_empty for found in fits):
        return None  # several values are one as doubles: too rare to list them
    has_null = len(known) < len(literals)
    kept = dict.fromkeys(found.least for found in fits if found and found.is_exact)
    if not kept:
        return Constant(None) if has_null else _never(column)
    nulls = (Literal(None),) if has_null else ()
    return In(column, (*map(Literal, kept), *nulls))


def mismatch(column: BoundColumn, literal: Literal) -> PredicateTypeError:
    """The error that says that the two cannot be compared."""
    return PredicateTypeError(column=str(column), type_name=str(column.type), literal=str(literal))


def _fit(literal: Literal, value: Value, column: BoundColumn) -> Fit | None:
    try:
        return fit(value, column.type)
    except UnrepresentableError:
        return None
    except (TypeError, ValueError) as error:
        raise mismatch(column, literal) from error


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
        raise mismatch(column, literal) from error


def _mixes_text(literals: list[Literal], data_type: DataType) -> bool:
    """Whether texts stand beside times, which changes what Spark takes the texts for."""
    texts = sum(isinstance(literal.value, str) for literal in literals)
    return str(data_type) in _TIMES and 0 < texts < len(literals)


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
