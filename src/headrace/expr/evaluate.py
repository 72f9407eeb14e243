"""Three-valued evaluation over bounds, for many rows or files at once.

A bound predicate and the possible values of each column enter, per entry. The result is whether the
predicate can be true and whether it can be false; if it can be neither, it is null. Both are
conservative: impossible only when proven. If the bounds pin down single values, the result is
that of SQL itself, so the same evaluator skips files and filters rows.

As in Spark, NaN equals NaN and is greater than every other number, and -0.0 equals 0.0.
"""

from math import isnan
from typing import Protocol, assert_never

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.expr.membership import any_between
from headrace.expr.node import (
    And,
    BoundColumn,
    BoundPredicate,
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
    StartsWith,
)
from headrace.expr.pattern import match_pattern
from headrace.protocol import light
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType
from headrace.protocol.value import INTEGER_BITS

_DECIMAL_DIGITS = 76


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a column may hold in each entry: null, NaN, or a value from `lower` to `upper`.

    A null `lower` or `upper` means that this side is unknown. Neither is ever NaN: `may_be_nan`
    records that, and is None for types without NaN. Masks are never null.
    """

    lower: pa.Array
    upper: pa.Array
    may_be_null: pa.BooleanArray
    may_be_value: pa.BooleanArray
    may_be_nan: pa.BooleanArray | None = None


class Truth(msgspec.Struct, frozen=True):
    """What a predicate can be in each entry."""

    can_be_true: pa.BooleanArray
    can_be_false: pa.BooleanArray


class Evidence(Protocol):
    """What is known about columns."""

    def __len__(self) -> int:
        """The number of entries."""

    def bounds(self, column: BoundColumn) -> Bounds:
        """Return what a column may hold. For null tests alone, the bounds may have any type."""


def exact_bounds(values: pa.Array) -> Bounds:
    """Return the bounds of known values."""
    valid = values.is_valid()
    if not pa.types.is_floating(values.type):
        return Bounds(lower=values, upper=values, may_be_null=values.is_null(), may_be_value=valid)
    nan = pc.fill_null(pc.is_nan(values), light.FALSE)
    numbers = pc.if_else(nan, light.null(values.type), values)
    return Bounds(
        lower=numbers,
        upper=numbers,
        may_be_null=values.is_null(),
        may_be_value=pc.and_not(valid, nan),
        may_be_nan=nan,
    )


def evaluate(predicate: BoundPredicate, evidence: Evidence) -> Truth:  # noqa: C901  (a case a node)
    """Return whether a predicate can be true, and can be false, in each entry."""
    match predicate:
        case Opaque():
            return Truth(_all(evidence, True), _all(evidence, True))
        case Constant(value):
            return Truth(_all(evidence, value is True), _all(evidence, value is False))
        case And(parts):
            truths = [evaluate(part, evidence) for part in parts]
            return _conjunction(truths)
        case Or(parts):
            truths = [evaluate(part, evidence) for part in parts]
            return _swapped(_conjunction([_swapped(truth) for truth in truths]))
        case Not(part):
            return _swapped(evaluate(part, evidence))
        case IsNull(column):
            bounds = evidence.bounds(column)
            return Truth(bounds.may_be_null, _not_null(bounds))
        case Compare(column, op, literal):
            return _compare(evidence.bounds(column), column.type, op, literal)
        case In(column, literals):
            return _in(evidence.bounds(column), column.type, literals)
        case StartsWith(column, prefix):
            return _starts_with(evidence.bounds(column), prefix)
        case Like(column, pattern):
            return _like(evidence.bounds(column), pattern)
        case _:
            assert_never(predicate)


def _all(evidence: Evidence, value: bool) -> pa.BooleanArray:  # noqa: FBT001
    return pa.repeat(light.scalar(value), len(evidence))


def _swapped(truth: Truth) -> Truth:
    return Truth(truth.can_be_false, truth.can_be_true)


def _conjunction(truths: list[Truth]) -> Truth:
    can_be_true, can_be_false = truths[0].can_be_true, truths[0].can_be_false
    for truth in truths[1:]:
        can_be_true = pc.and_(can_be_true, truth.can_be_true)
        can_be_false = pc.or_(can_be_false, truth.can_be_false)
    return Truth(can_be_true, can_be_false)


def _not_null(bounds: Bounds) -> pa.BooleanArray:
    if bounds.may_be_nan is None:
        return bounds.may_be_value
    return pc.or_(bounds.may_be_value, bounds.may_be_nan)


def _compare(bounds: Bounds, data_type: DataType, op: CompareOp, literal: Literal) -> Truth:
    below, equal, above = _relations(bounds, data_type, literal)
    match op:
        case CompareOp.EQ:
            return Truth(equal, pc.or_(below, above))
        case CompareOp.NE:
            return Truth(pc.or_(below, above), equal)
        case CompareOp.LT:
            return Truth(below, pc.or_(equal, above))
        case CompareOp.LE:
            return Truth(pc.or_(below, equal), above)
        case CompareOp.GT:
            return Truth(above, pc.or_(below, equal))
        case CompareOp.GE:
            return Truth(pc.or_(equal, above), below)
        case CompareOp.SAFE_EQ:
            return Truth(equal, pc.or_(pc.or_(below, above), bounds.may_be_null))
        case _:
            assert_never(op)


def _relations(
    bounds: Bounds, data_type: DataType, literal: Literal
) -> tuple[pa.BooleanArray, pa.BooleanArray, pa.BooleanArray]:
    """Return whether a value can be below the literal, equal to it, or above it."""
    value, nan = bounds.may_be_value, bounds.may_be_nan
    if isinstance(literal.value, float) and isnan(literal.value):
        nothing = pc.and_not(value, value)
        return value, nothing if nan is None else nan, nothing
    lower, upper = _comparable(bounds, data_type)
    scalar = _scalars([literal], data_type)[0]
    below = pc.and_(value, _unless_false(pc.less(lower, scalar)))
    above = pc.and_(value, _unless_false(pc.greater(upper, scalar)))
    not_above = _unless_false(pc.less_equal(lower, scalar))
    not_below = _unless_false(pc.greater_equal(upper, scalar))
    equal = pc.and_(value, pc.and_(not_above, not_below))
    return below, equal, above if nan is None else pc.or_(above, nan)


def _in(bounds: Bounds, data_type: DataType, literals: tuple[Literal, ...]) -> Truth:
    known = [literal for literal in literals if literal.value is not None]
    numbers = [v for v in known if not (isinstance(v.value, float) and isnan(v.value))]
    lower, upper = _comparable(bounds, data_type)
    hit = any_between(_scalars(numbers, data_type), lower=lower, upper=upper)
    single = pc.fill_null(pc.equal(lower, upper), light.FALSE)
    can_be_true = pc.and_(bounds.may_be_value, hit)
    can_be_false = pc.and_not(bounds.may_be_value, pc.and_(single, hit))
    if bounds.may_be_nan is not None:
        if len(numbers) < len(known):
            can_be_true = pc.or_(can_be_true, bounds.may_be_nan)
        else:
            can_be_false = pc.or_(can_be_false, bounds.may_be_nan)
    if len(known) < len(literals):
        can_be_false = pc.and_not(can_be_false, can_be_false)
    return Truth(can_be_true, can_be_false)


def _starts_with(bounds: Bounds, prefix: str) -> Truth:
    start = prefix.encode()
    lower, upper = _comparable(bounds, PrimitiveType("string"))
    low_has = pc.starts_with(lower, start)
    high_has = pc.starts_with(upper, start)
    first = light.scalar(start, lower.type)
    not_above = pc.or_(_unless_false(pc.less(lower, first)), _unless_false(low_has))
    not_below = _unless_false(pc.greater_equal(upper, first))
    can_be_true = pc.and_(bounds.may_be_value, pc.and_(not_above, not_below))
    # If both bounds have the prefix, every string between them has it too.
    always = pc.and_(pc.fill_null(low_has, light.FALSE), pc.fill_null(high_has, light.FALSE))
    return Truth(can_be_true, pc.and_not(bounds.may_be_value, always))


def _like(bounds: Bounds, pattern: str) -> Truth:
    lower, upper = _comparable(bounds, PrimitiveType("string"))
    # A pattern can be decided only if both bounds are the same string.
    single = pc.fill_null(pc.equal(lower, upper), light.FALSE)
    texts = pc.if_else(single, lower, light.null(lower.type)).cast(pa.string())
    matches = match_pattern(texts, pattern)
    can_be_true = pc.and_(bounds.may_be_value, _unless_false(matches))
    return Truth(can_be_true, pc.and_not(bounds.may_be_value, pc.fill_null(matches, light.FALSE)))


def _unless_false(mask: pa.BooleanArray) -> pa.BooleanArray:
    return pc.fill_null(mask, light.TRUE)


def _comparable(bounds: Bounds, data_type: DataType) -> tuple[pa.Array, pa.Array]:
    target = _comparison_type(data_type)
    return bounds.lower.cast(target), bounds.upper.cast(target)


def _scalars(literals: list[Literal], data_type: DataType) -> pa.Array:
    values = [v.encode() if isinstance(v, str) else v for v in (k.value for k in literals)]
    return light.array(values, _comparison_type(data_type))


def _comparison_type(data_type: DataType) -> pa.DataType:
    """Return the type in which values and literals are compared; it holds both exactly."""
    match data_type:
        case DecimalType(scale=scale):
            return pa.decimal256(_DECIMAL_DIGITS, scale)
        case PrimitiveType("string"):
            return pa.binary()  # strings are ordered by bytes, and a bound may be invalid UTF-8
        case PrimitiveType("float"):
            return pa.float64()
        case PrimitiveType(name) if name in INTEGER_BITS:
            return pa.int64()
        case _:
            return arrow_type(data_type)
