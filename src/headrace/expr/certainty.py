"""Prove that a predicate is true, or false, for every row of an entry.

A bound predicate and the bounds of its columns enter; a mask of the proven entries leaves.
`evaluate` computes what a predicate can be, this module what it must be. Null is neither true nor
false, so a comparison is certain only if its column holds no null.
"""

from typing import TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from headrace.expr.evaluate import Evidence, evaluate
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
    Not,
    Opaque,
    Or,
    StartsWith,
)
from headrace.protocol import light

_Test: TypeAlias = (
    Compare[BoundColumn] | In[BoundColumn] | StartsWith[BoundColumn] | Like[BoundColumn]
)


def always_true(predicate: BoundPredicate, evidence: Evidence) -> pa.BooleanArray:
    """Whether the predicate is proven true for all rows of each entry."""
    match predicate:
        case And(parts):
            return _all_of([always_true(part, evidence) for part in parts])
        case Or(parts):
            return _any_of([always_true(part, evidence) for part in parts])
        case Not(part):
            return always_false(part, evidence)
        case Constant(value):
            return pa.repeat(light.scalar(value is True), len(evidence))
        case Opaque():
            return pa.repeat(light.FALSE, len(evidence))
        case IsNull() | Compare(op=CompareOp.SAFE_EQ):  # never null
            return pc.invert(evaluate(predicate, evidence).can_be_false)
        case In(column, literals):
            # A null in the list turns false into null, but never affects true: ignore it.
            known = In(column, tuple(literal for literal in literals if literal.value is not None))
            return _certain(evaluate(known, evidence).can_be_false, known, evidence)
        case Compare() | StartsWith() | Like():
            return _certain(evaluate(predicate, evidence).can_be_false, predicate, evidence)
        case _:
            assert_never(predicate)


def always_false(predicate: BoundPredicate, evidence: Evidence) -> pa.BooleanArray:
    """Whether the predicate is proven false for all rows of each entry."""
    match predicate:
        case And(parts):
            return _any_of([always_false(part, evidence) for part in parts])
        case Or(parts):
            return _all_of([always_false(part, evidence) for part in parts])
        case Not(part):
            return always_true(part, evidence)
        case Constant(value):
            return pa.repeat(light.scalar(value is False), len(evidence))
        case Opaque():
            return pa.repeat(light.FALSE, len(evidence))
        case IsNull() | Compare(op=CompareOp.SAFE_EQ):
            return pc.invert(evaluate(predicate, evidence).can_be_true)
        case In(literals=literals) if any(literal.value is None for literal in literals):
            return pa.repeat(light.FALSE, len(evidence))  # null wherever it is not true
        case In() | Compare() | StartsWith() | Like():
            return _certain(evaluate(predicate, evidence).can_be_true, predicate, evidence)
        case _:
            assert_never(predicate)


def _certain(
    opposite: pa.BooleanArray,
    predicate: _Test,
    evidence: Evidence,
) -> pa.BooleanArray:
    may_be_null = evidence.bounds(predicate.column).may_be_null
    return pc.invert(pc.or_(opposite, may_be_null))


def _all_of(masks: list[pa.BooleanArray]) -> pa.BooleanArray:
    result = masks[0]
    for mask in masks[1:]:
        result = pc.and_(result, mask)
    return result


def _any_of(masks: list[pa.BooleanArray]) -> pa.BooleanArray:
    result = masks[0]
    for mask in masks[1:]:
        result = pc.or_(result, mask)
    return result
