"""Which columns a predicate uses, and how, so that a reader fetches only those.

A bound predicate enters. Columns, paths of statistics, or the opaque parts leave.
"""

from collections.abc import Iterator
from enum import Flag, auto
from typing import assert_never

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


def evaluated_columns(predicate: BoundPredicate) -> tuple[BoundColumn, ...]:
    """Return the columns whose values can change the result, each once; opaque parts have none."""
    return tuple(dict.fromkeys(column for column, _ in _column_tests(predicate)))


def ordered_columns(predicate: BoundPredicate) -> frozenset[BoundColumn]:
    """Return the columns whose values are compared, so that their bounds matter."""
    return frozenset(column for column, tests in _column_tests(predicate) if _Test.ORDER in tests)


def null_tested_columns(predicate: BoundPredicate) -> frozenset[BoundColumn]:
    """Return the columns that are tested for null."""
    return frozenset(column for column, tests in _column_tests(predicate) if _Test.NULLS in tests)


def statistics_paths(predicate: BoundPredicate) -> tuple[tuple[str, ...], ...]:
    """Return the physical paths of the columns whose statistics the predicate can use."""
    columns = evaluated_columns(predicate)
    return tuple(column.physical_path for column in columns if not column.is_partition)


def needs_statistics(predicate: BoundPredicate) -> bool:
    """Whether anything besides partition values can change the result."""
    return bool(statistics_paths(predicate))


def can_prune_by_partition(predicate: BoundPredicate) -> bool:
    """Whether partition values alone can make the predicate false."""
    conjuncts = predicate.parts if isinstance(predicate, And) else (predicate,)
    return any(evaluated_columns(part) and not needs_statistics(part) for part in conjuncts)


def opaque_parts(predicate: BoundPredicate) -> Iterator[Opaque]:
    """Yield the parts that are not evaluated and therefore never prune anything."""
    match predicate:
        case And(parts) | Or(parts):
            for part in parts:
                yield from opaque_parts(part)
        case Not(part):
            yield from opaque_parts(part)
        case Opaque():
            yield predicate
        case Constant() | Compare() | In() | IsNull() | StartsWith() | Like():
            return
        case _:
            assert_never(predicate)


class _Test(Flag):
    """What a predicate tests about a column: its order, or whether it is null."""

    ORDER = auto()
    NULLS = auto()


def _column_tests(predicate: BoundPredicate) -> Iterator[tuple[BoundColumn, _Test]]:
    match predicate:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _column_tests(part)
        case Not(part):
            yield from _column_tests(part)
        case IsNull(column):
            yield column, _Test.NULLS
        case Compare(column=column, op=CompareOp.SAFE_EQ):
            yield column, _Test.ORDER | _Test.NULLS
        case Compare(column=column) | In(column=column):
            yield column, _Test.ORDER
        case StartsWith(column=column) | Like(column=column):
            yield column, _Test.ORDER
        case Constant() | Opaque():
            return
        case _:
            assert_never(predicate)
