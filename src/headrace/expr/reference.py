"""What a predicate looks at, so that a reader fetches that and no more."""

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
    """The columns whose values can change the answer, each once. Opaque parts have none."""
    return tuple(dict.fromkeys(column for column, _ in _questions(predicate)))


def ordered_columns(predicate: BoundPredicate) -> frozenset[BoundColumn]:
    """Those columns of which it is asked where their values lie."""
    return frozenset(column for column, asked in _questions(predicate) if _Asked.ORDER in asked)


def null_tested_columns(predicate: BoundPredicate) -> frozenset[BoundColumn]:
    """Those columns of which it is asked whether they are null."""
    return frozenset(column for column, asked in _questions(predicate) if _Asked.NULLS in asked)


def statistics_leaves(predicate: BoundPredicate) -> tuple[tuple[str, ...], ...]:
    """The physical paths of the columns whose statistics the predicate can use."""
    columns = evaluated_columns(predicate)
    return tuple(column.physical_path for column in columns if not column.is_partition)


def needs_statistics(predicate: BoundPredicate) -> bool:
    """Whether anything but partition values can change the answer."""
    return bool(statistics_leaves(predicate))


def opaque_parts(predicate: BoundPredicate) -> Iterator[Opaque]:
    """The parts that are not evaluated, which therefore rule out nothing."""
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


class _Asked(Flag):
    """What a predicate asks about a column."""

    ORDER = auto()
    NULLS = auto()


def _questions(predicate: BoundPredicate) -> Iterator[tuple[BoundColumn, _Asked]]:
    match predicate:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _questions(part)
        case Not(part):
            yield from _questions(part)
        case IsNull(column):
            yield column, _Asked.NULLS
        case Compare(column=column, op=CompareOp.SAFE_EQ):
            yield column, _Asked.ORDER | _Asked.NULLS
        case Compare(column=column) | In(column=column):
            yield column, _Asked.ORDER
        case StartsWith(column=column) | Like(column=column):
            yield column, _Asked.ORDER
        case Constant() | Opaque():
            return
        case _:
            assert_never(predicate)
