"""The columns that a predicate evaluates on rows, and their values in a batch.

A bound predicate enters; columns leave, or an error for a part that cannot be evaluated.
"""

from collections.abc import Iterator
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import UnsupportedPredicateError
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


def columns_of(predicate: BoundPredicate) -> Iterator[BoundColumn]:
    """Yield every column of the predicate.

    Raises:
        UnsupportedPredicateError: a part of it cannot be evaluated on rows.
    """
    match predicate:
        case Opaque(sql):
            raise UnsupportedPredicateError(part=sql)
        case Compare(column) | In(column) | IsNull(column):
            yield column
        case StartsWith(column) | Like(column):
            yield column
        case And(parts) | Or(parts):
            for part in parts:
                yield from columns_of(part)
        case Not(part):
            yield from columns_of(part)
        case Constant():
            return
        case _:
            assert_never(predicate)


def member(array: pa.Array, *, depth: int) -> pa.Array:
    """Return the innermost member of nested structs with one member each; null if any is null."""
    for _ in range(depth):
        array = pc.struct_field(array, [0])
    return array
