"""The evaluator of values agrees with the evaluator of bounds, if bounds are single values."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.expr.bind import bind
from headrace.expr.evaluate import Bounds, evaluate, exact_bounds
from headrace.expr.exact import evaluate_rows
from headrace.expr.node import Basis, BoundColumn, BoundPredicate
from headrace.expr.parse import parse_predicate
from headrace.expr.reference import opaque_parts
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.schema import Field, StructType
from tests.effort import examples
from tests.expr.naive import sql
from tests.expr.strategies import COLUMNS, predicates, rows

ALL = tuple(COLUMNS)
SCHEMA = StructType(tuple(Field(name, kind) for name, kind in COLUMNS.items()))


class Known:
    def __init__(self, values: list[dict[str, Any]], *, coded: bool) -> None:
        self._coded = coded
        self._columns = {
            name: pa.array([row[name] for row in values], arrow_type(kind))
            for name, kind in COLUMNS.items()
        }
        self._size = len(values)

    def __len__(self) -> int:
        return self._size

    def bounds(self, column: BoundColumn) -> Bounds:
        return exact_bounds(self._columns[column.path[0]])

    def values(self, column: BoundColumn) -> pa.Array:
        column_values = self._columns[column.path[0]]
        return column_values.dictionary_encode() if self._coded else column_values


def by_bounds(predicate: BoundPredicate, known: Known) -> list[bool | None]:
    truth = evaluate(predicate, known)
    pairs = zip(truth.can_be_true.to_pylist(), truth.can_be_false.to_pylist(), strict=True)
    return [
        can_be_true if can_be_true or can_be_false else None for can_be_true, can_be_false in pairs
    ]


@pytest.mark.property
@settings(max_examples=examples(150))
@given(data=st.data(), coded=st.booleans())
def test_both_evaluators_agree_on_every_row(data: st.DataObject, *, coded: bool) -> None:
    columns = tuple(data.draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=3, unique=True)))
    table_rows = data.draw(st.lists(rows(columns), max_size=8))
    values = [dict.fromkeys(ALL) | row for row in table_rows]
    text = sql(data.draw(predicates(columns, values)))
    predicate = bind(parse_predicate(text), schema=SCHEMA, partition_columns=(), basis=Basis.VALUES)
    if list(opaque_parts(predicate)):
        return
    known = Known(values, coded=coded)
    answer = evaluate_rows(predicate, known.values, rows=len(known))
    assert answer.to_pylist() == by_bounds(predicate, known), text
