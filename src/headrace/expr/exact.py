"""Three-valued evaluation over known values: one Arrow kernel for most nodes.

A bound predicate and Arrow arrays enter; a boolean array with nulls leaves. The result equals that
of `headrace.expr.evaluate` over bounds that pin down single values, and is several times as fast.
Nulls are Arrow nulls, and the logic is Kleene's. As in Spark, NaN equals NaN and is greater than
every other number, and -0.0 equals 0.0.
"""

from collections.abc import Callable
from functools import reduce
from math import isnan
from typing import TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import UnsupportedPredicateError
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
    Value,
)
from headrace.expr.pattern import match_pattern
from headrace.protocol import light
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.schema import DataType, PrimitiveType

ValuesOf: TypeAlias = Callable[[BoundColumn], pa.Array]
"""Returns a column's values: plain, dictionary-encoded, or of the null type if there are none."""

_KERNELS: dict[CompareOp, Callable[[pa.Array, pa.Scalar], pa.BooleanArray]] = {
    CompareOp.EQ: pc.equal,
    CompareOp.NE: pc.not_equal,
    CompareOp.LT: pc.less,
    CompareOp.LE: pc.less_equal,
    CompareOp.GT: pc.greater,
    CompareOp.GE: pc.greater_equal,
    CompareOp.SAFE_EQ: pc.equal,
}


def evaluate_rows(predicate: BoundPredicate, values_of: ValuesOf, *, rows: int) -> pa.BooleanArray:
    """Return true, false or null for each row.

    Raises:
        UnsupportedPredicateError: a part of the predicate is opaque.
    """
    match predicate:
        case Opaque(sql):
            raise UnsupportedPredicateError(part=sql)
        case Constant(value):
            return pa.repeat(light.scalar(value, pa.bool_()), rows)
        case And(parts):
            return reduce(
                pc.and_kleene, (evaluate_rows(part, values_of, rows=rows) for part in parts)
            )
        case Or(parts):
            return reduce(
                pc.or_kleene, (evaluate_rows(part, values_of, rows=rows) for part in parts)
            )
        case Not(part):
            return pc.invert(evaluate_rows(part, values_of, rows=rows))
        case IsNull(column):
            return values_of(column).is_null()
        case Compare() | In() | StartsWith() | Like():
            return _on_dictionary(
                values_of(predicate.column), lambda values: _test_values(predicate, values)
            )
        case _:
            assert_never(predicate)


def _on_dictionary(
    values: pa.Array, answer: Callable[[pa.Array], pa.BooleanArray]
) -> pa.BooleanArray:
    """Evaluate each dictionary value once, then expand the results to the rows."""
    if not pa.types.is_dictionary(values.type):
        return answer(values)
    if len(values.dictionary) > len(values):
        return answer(values.dictionary_decode())
    if values.null_count == 0 or not values.indices.null_count:
        return _for_each_code(values.indices, answer(values.dictionary))
    # Nulls are not in the dictionary, so evaluate one: only `<=>` has a non-null result for it.
    words = pa.concat_arrays([values.dictionary, pa.nulls(1, values.dictionary.type)])
    indices = pc.fill_null(
        values.indices, light.scalar(len(values.dictionary), values.indices.type)
    )
    return answer(words).take(indices)


def _for_each_code(codes: pa.Array, answers: pa.BooleanArray) -> pa.BooleanArray:
    """Return the result for each code, given those of all dictionary values; no code is null."""
    if answers.null_count == 0 and answers.true_count == 1:
        return pc.equal(codes, light.scalar(answers.index(light.TRUE).as_py(), codes.type))
    return answers.take(codes)


def _test_values(
    predicate: Compare[BoundColumn] | In[BoundColumn] | StartsWith[BoundColumn] | Like[BoundColumn],
    values: pa.Array,
) -> pa.BooleanArray:
    if pa.types.is_null(values.type):
        values = values.cast(arrow_type(predicate.column.type))
    match predicate:
        case Compare(column, op, literal):
            return _compare(values, column.type, op, literal.value)
        case In(column, literals):
            return _in(values, column.type, literals)
        case StartsWith(_, prefix):
            return pc.starts_with(values, prefix)
        case Like(_, pattern):
            return match_pattern(values, pattern)
        case _:
            assert_never(predicate)


def _compare(values: pa.Array, data_type: DataType, op: CompareOp, value: Value) -> pa.BooleanArray:
    values = _comparable(values, data_type)
    if isinstance(value, float) and isnan(value):
        answer = _compare_with_nan(values, op)
    else:
        answer = _KERNELS[op](values, light.scalar(value, values.type))
        if pa.types.is_floating(values.type) and op in (CompareOp.GT, CompareOp.GE):
            answer = pc.or_(answer, pc.is_nan(values))
    return pc.fill_null(answer, light.FALSE) if op is CompareOp.SAFE_EQ else answer


def _compare_with_nan(values: pa.Array, op: CompareOp) -> pa.BooleanArray:
    """Compare every value with NaN, which is the greatest."""
    is_nan = pc.is_nan(values)
    match op:
        case CompareOp.EQ | CompareOp.SAFE_EQ | CompareOp.GE:
            return is_nan
        case CompareOp.NE | CompareOp.LT:
            return pc.invert(is_nan)
        case CompareOp.LE:
            return pc.or_(is_nan, pc.invert(is_nan))
        case CompareOp.GT:
            return pc.and_not(is_nan, is_nan)
        case _:
            assert_never(op)


def _in(values: pa.Array, data_type: DataType, literals: tuple[Literal, ...]) -> pa.BooleanArray:
    known = [literal.value for literal in literals if literal.value is not None]
    has_null = len(known) < len(literals)
    values = _comparable(values, data_type)
    if pa.types.is_floating(values.type):
        # Arrow's sets distinguish 0.0 from -0.0.
        hits = [_compare(values, data_type, CompareOp.EQ, value) for value in known]
        answer = reduce(pc.or_, hits, pa.repeat(light.FALSE, len(values)))
    else:
        answer = pc.is_in(values, value_set=light.array(known, values.type))
    is_known = pc.and_(values.is_valid(), answer) if has_null else values.is_valid()
    return pc.if_else(is_known, answer, light.null(pa.bool_()))


def _comparable(values: pa.Array, data_type: DataType) -> pa.Array:
    """Cast to a type that also holds the literals: those of a float column may be doubles."""
    return values.cast(pa.float64()) if data_type == PrimitiveType("float") else values
