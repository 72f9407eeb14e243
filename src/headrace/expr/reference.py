"""What a predicate looks at, so that a reader fetches that and no more."""

from collections.abc import Iterator
from typing import assert_never

from headrace.expr.node import (
    And,
    BoundColumn,
    BoundPredicate,
    Compare,
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
    return tuple(dict.fromkeys(_columns(predicate)))


def ordered_columns(predicate: BoundPredicate) -> frozenset[BoundColumn]:
    """Those columns of which more is asked than whether they are null."""
    return frozenset(_columns(predicate, ignore_null_tests=True))


def statistics_leaves(predicate: BoundPredicate) -> tuple[tuple[str, ...], ...]:
    """The physical paths of the columns whose statistics the predicate can use."""
    columns = evaluated_columns(predicate)
    return tuple(column.physical_path for column in columns if not column.is_partition)


def needs_statistics(predicate: BoundPredicate) -> bool:
    """Whether anything but partition values can change the answer."""
    return bool(statistics_leaves(predicate))


def _columns(
    predicate: BoundPredicate, *, ignore_null_tests: bool = False
) -> Iterator[BoundColumn]:
    match predicate:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _columns(part, ignore_null_tests=ignore_null_tests)
        case Not(part):
            yield from _columns(part, ignore_null_tests=ignore_null_tests)
        case IsNull(column):
            if not ignore_null_tests:
                yield column
        case Compare(column=column) | In(column=column):
            yield column
        case StartsWith(column=column) | Like(column=column):
            yield column
        case Constant() | Opaque():
            return
        case _:
            assert_never(predicate)
