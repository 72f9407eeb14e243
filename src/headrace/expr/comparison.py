"""Turn a comparison of a column with literals into a predicate that agrees with Spark.

A bound column and literals enter; a bound predicate leaves. Literals become values of the column's
own type. If the type lacks such a value, the comparison uses the nearest values or becomes
constant; nulls stay null. The result is None where Spark compares in a way we do not implement.
"""

from collections.abc import Sequence
from datetime import datetime, timezone, tzinfo
from decimal import Decimal
from typing import assert_never

from headrace.errors import PredicateTypeError
from headrace.expr.coerce import Fit, as_double, fit, instant
from headrace.expr.decimal_type import (
    column_decimal,
    common_scale,
    listed_decimal,
    literal_decimals,
)
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
from headrace.protocol.cast import (
    UnrepresentableError,
    parse_date,
    parse_integer,
    parse_timestamp,
)
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType
from headrace.protocol.value import INTEGER_BITS, integer_range

_INEQUALITIES = frozenset((CompareOp.LT, CompareOp.LE, CompareOp.GT, CompareOp.GE))
_TIMESTAMP = PrimitiveType("timestamp")


def compare(
    column: BoundColumn, op: CompareOp, literal: Literal, *, zone: tzinfo | None
) -> BoundPredicate | None:
    """Bind the comparison of a column with a literal that is not null.

    Raises:
        PredicateTypeError: the two cannot be compared.
    """
    beyond = _beyond_long(column, op, literal)
    if beyond is not None:
        return beyond if literal.declared is None else None
    try:
        scale = _compared_scale(column, op, literal)
    except _AmbiguousError:
        return None
    fitted = _fit(literal, literal.value, column, zone=zone, round_to=scale)
    if fitted is None:
        return None
    match op:
        case CompareOp.LT:
            return _compare_unless_beyond(column, op, fitted.least, beyond=_always(column))
        case CompareOp.LE:
            return _compare_unless_beyond(column, op, fitted.greatest, beyond=_never(column))
        case CompareOp.GT:
            return _compare_unless_beyond(column, op, fitted.greatest, beyond=_always(column))
        case CompareOp.GE:
            return _compare_unless_beyond(column, op, fitted.least, beyond=_never(column))
        case CompareOp.EQ | CompareOp.NE | CompareOp.SAFE_EQ:
            return _equal(column, op, fitted)
        case _:
            assert_never(op)


def compare_any(
    column: BoundColumn, literals: Sequence[Literal], *, zone: tzinfo | None
) -> BoundPredicate | None:
    """Bind an IN list, which may contain nulls.

    Raises:
        PredicateTypeError: a literal cannot be compared with the column.
    """
    known = [literal for literal in literals if literal.value is not None]
    values = _common_values(known, column)
    fits = [_fit(*pair, column, zone=zone) for pair in zip(known, values, strict=True)]
    if (
        None in fits
        or _depends_on_mode(known, column.type, zone=zone)
        or _rounds(known, column.type)
    ):
        return None
    if any(fitted and not fitted.is_exact and not fitted.is_empty for fitted in fits):
        return None  # several values become the same double: too rare to support
    has_null = len(known) < len(literals)
    distinct = dict.fromkeys(fitted.least for fitted in fits if fitted and fitted.is_exact)
    if not distinct:
        return Constant(None) if has_null else _never(column)
    nulls = (Literal(None),) if has_null else ()
    return In(column, (*map(Literal, distinct), *nulls))


def mismatch(column: BoundColumn, literal: Literal) -> PredicateTypeError:
    """Return the error for a column and a literal that cannot be compared."""
    return PredicateTypeError(column=str(column), type_name=str(column.type), literal=str(literal))


def _beyond_long(column: BoundColumn, op: CompareOp, literal: Literal) -> Constant | None:
    """Fold an inequality of integers with a number beyond `long`: constant, even for null rows."""
    value = literal.value
    if str(column.type) not in INTEGER_BITS or isinstance(value, bool):
        return None
    if not isinstance(value, int | Decimal) or op not in _INEQUALITIES:
        return None
    least, greatest = integer_range("long")
    if least <= value <= greatest:
        return None
    return Constant((op in (CompareOp.LT, CompareOp.LE)) == (value > greatest))


class _AmbiguousError(Exception):
    """The text of a literal does not determine the scale at which Spark compares it."""


def _compared_scale(column: BoundColumn, op: CompareOp, literal: Literal) -> int | None:
    """Return the scale to which Spark rounds both sides; None if it does not round."""
    kind = column_decimal(column.type)
    if kind is None or (op in _INEQUALITIES and kind is not column.type):
        return None  # for integer columns, Spark uses the nearest integer
    scales = {common_scale((kind, literal_type)) for literal_type in literal_decimals(literal)}
    if len(scales) > 1:
        raise _AmbiguousError
    return scales.pop() if scales else None


def _rounds(literals: list[Literal], data_type: DataType) -> bool:
    """Whether Spark rounds numbers when it compares a column with the whole list."""
    possible = (column_decimal(data_type), *map(listed_decimal, literals))
    kinds = [kind for kind in possible if kind is not None]
    has_decimals = any(isinstance(literal.value, Decimal) for literal in literals)
    if not isinstance(data_type, DecimalType) and not (has_decimals and kinds):
        return False
    return common_scale(kinds) < max(kind.scale for kind in kinds)


def _fit(
    literal: Literal,
    value: Value,
    column: BoundColumn,
    *,
    zone: tzinfo | None,
    round_to: int | None = None,
) -> Fit | None:
    try:
        if literal.declared == _TIMESTAMP and isinstance(value, datetime):
            value = instant(value, zone)
        return fit(value, column.type, zone=zone, round_to=round_to)
    except UnrepresentableError:
        return None
    except (TypeError, ValueError) as error:
        raise mismatch(column, literal) from error


def _common_values(literals: list[Literal], column: BoundColumn) -> list[Value]:
    """Convert the values of a list to the one type in which Spark compares all of them."""
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


def _depends_on_mode(literals: list[Literal], data_type: DataType, *, zone: tzinfo | None) -> bool:
    """Whether the comparison of a column with the strings of a list depends on ANSI mode.

    Without ANSI mode, Spark casts the column to a string. Both modes agree if the list holds only
    strings, each spelled as Spark prints the value.
    """
    if data_type == PrimitiveType("string"):
        return False
    texts = [literal.value for literal in literals if isinstance(literal.value, str)]
    if len(texts) < len(literals):
        return bool(texts)
    return not all(_is_spelled_by_spark(text, data_type, zone=zone) for text in texts)


def _is_spelled_by_spark(text: str, data_type: DataType, *, zone: tzinfo | None) -> bool:
    match data_type:
        case PrimitiveType(name) if name in INTEGER_BITS:
            return text == str(parse_integer(text))
        case PrimitiveType("boolean"):
            return text in ("true", "false")
        case PrimitiveType("date"):
            return text == parse_date(text).isoformat()
        case PrimitiveType("timestamp_ntz"):
            return text == _clock_text(parse_timestamp(text))
        case PrimitiveType("timestamp"):
            # When clocks are set back, two instants have the same text.
            return isinstance(zone, timezone) and text == _clock_text(parse_timestamp(text))
        case _:
            return False


def _clock_text(moment: datetime) -> str:
    text = moment.isoformat(sep=" ")
    return text.rstrip("0") if moment.microsecond else text


def _compare_unless_beyond(
    column: BoundColumn, op: CompareOp, value: Value, *, beyond: BoundPredicate
) -> BoundPredicate:
    return beyond if value is None else Compare(column, op, Literal(value))


def _equal(column: BoundColumn, op: CompareOp, fitted: Fit) -> BoundPredicate:
    if fitted.is_exact:
        return Compare(column, op, Literal(fitted.least))
    if fitted.is_empty:
        if op is CompareOp.SAFE_EQ:
            return Constant(False)
        return _never(column) if op is CompareOp.EQ else _always(column)
    among = (
        Compare(column, CompareOp.GE, Literal(fitted.least)),
        Compare(column, CompareOp.LE, Literal(fitted.greatest)),
    )
    if op is CompareOp.SAFE_EQ:
        return And((*among, Not(IsNull(column))))
    return And(among) if op is CompareOp.EQ else Not(And(among))


def _never(column: BoundColumn) -> BoundPredicate:
    """Return a predicate that is false where the column has a value, else null."""
    return And((IsNull(column), Constant(None)))


def _always(column: BoundColumn) -> BoundPredicate:
    """Return a predicate that is true where the column has a value, else null."""
    return Or((Not(IsNull(column)), Constant(None)))
