"""The evaluator and file skipping, compared with Spark's logic row by row."""

import pickle
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.expr.bind import bind, unbind
from headrace.expr.certainty import always_false, always_true
from headrace.expr.evaluate import Bounds, evaluate, exact_bounds
from headrace.expr.node import And, Basis, BoundColumn, BoundPredicate, Not, Opaque, Or, Predicate
from headrace.expr.parse import parse_predicate
from headrace.protocol.arrow_schema import arrow_type
from headrace.replay.skipping import certain_mask, keep_mask
from tests.effort import examples
from tests.expr.naive import Node, sql, truth
from tests.expr.strategies import COLUMNS, SCHEMA, predicates, rows
from tests.expr.writer import WrittenFiles, habits, write_file

NEW_YORK = ZoneInfo("America/New_York")
ALL = tuple(COLUMNS)


class Rows:
    """Rows whose values are all known."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def bounds(self, column: BoundColumn) -> Bounds:
        column_values = [row[column.path[0]] for row in self._rows]
        return exact_bounds(pa.array(column_values, arrow_type(column.type)))


def _is_opaque(predicate: BoundPredicate) -> bool:
    match predicate:
        case And(parts) | Or(parts):
            return any(_is_opaque(part) for part in parts)
        case Not(part):
            return _is_opaque(part)
        case _:
            return isinstance(predicate, Opaque)


def _bound(node: Node, *, partition: str = "") -> BoundPredicate:
    return bind(parse_predicate(sql(node)), schema=SCHEMA, partition_columns=[partition])


def _check_rows(data: st.DataObject, columns: tuple[str, ...]) -> None:
    table = data.draw(st.lists(rows(columns), min_size=1, max_size=8), label="rows")
    node = data.draw(predicates(columns, table), label="predicate")
    predicate = _bound(node)
    result = evaluate(predicate, Rows(table))
    expected = [truth(node, row) for row in table]
    must_be_true = always_true(predicate, Rows(table)).to_pylist()
    must_be_false = always_false(predicate, Rows(table)).to_pylist()
    assert all(real is True for must, real in zip(must_be_true, expected, strict=True) if must)
    assert all(real is False for must, real in zip(must_be_false, expected, strict=True) if must)
    can_be_true, can_be_false = result.can_be_true.to_pylist(), result.can_be_false.to_pylist()
    if _is_opaque(predicate):
        assert all(can for can, real in zip(can_be_true, expected, strict=True) if real)
        assert all(can for can, real in zip(can_be_false, expected, strict=True) if real is False)
        return
    assert can_be_true == [real is True for real in expected]
    assert can_be_false == [real is False for real in expected]
    assert must_be_true == can_be_true


def _check_files(data: st.DataObject, columns: tuple[str, ...], partition: str) -> None:
    written, visible = [], []
    for _ in range(data.draw(st.integers(1, 3), label="files")):
        table = data.draw(st.lists(rows(columns), min_size=1, max_size=4), label="rows")
        shared = table[0][partition]
        for row in table:
            row[partition] = None if shared == "" else shared  # the log cannot distinguish them
        deleted = data.draw(st.integers(0, len(table) - 1), label="deleted")
        how = data.draw(habits, label="habits")
        written.append(write_file(table, partition, how, wide=deleted > 0))
        visible.append(table[deleted:])
    seen = [row for table in visible for row in table]
    node = data.draw(predicates(columns, seen), label="predicate")
    predicate = _bound(node, partition=partition)
    mask = keep_mask(predicate, WrittenFiles(written)).to_pylist()
    certain = certain_mask(predicate, WrittenFiles(written)).to_pylist()
    for keep, whole, table in zip(mask, certain, visible, strict=True):
        assert keep or not any(truth(node, row) is True for row in table)
        assert not whole or all(truth(node, row) is True for row in table)


@pytest.mark.property
@pytest.mark.parametrize("column", ALL)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_known_values_give_the_answer_of_sql(column: str, data: st.DataObject) -> None:
    _check_rows(data, (column,))


@pytest.mark.property
@settings(max_examples=examples(100))
@given(data=st.data())
def test_known_rows_give_the_answer_of_sql(data: st.DataObject) -> None:
    _check_rows(data, ALL)


@pytest.mark.property
@pytest.mark.parametrize("column", ALL)
@settings(max_examples=examples(120))
@given(data=st.data())
def test_no_file_with_a_matching_value_is_skipped_rule_32(column: str, data: st.DataObject) -> None:
    _check_files(data, (column,), "flag" if column != "flag" else "int")


@pytest.mark.property
@pytest.mark.parametrize("column", ALL)
@settings(max_examples=examples(30))
@given(data=st.data())
def test_no_partition_with_a_matching_value_is_skipped_rule_27(
    column: str, data: st.DataObject
) -> None:
    _check_files(data, (column,), column)


@pytest.mark.property
@settings(max_examples=examples(150))
@given(data=st.data())
def test_no_file_with_a_matching_row_is_skipped_rule_32(data: st.DataObject) -> None:
    columns = data.draw(st.lists(st.sampled_from(ALL), min_size=2, max_size=4, unique=True))
    _check_files(data, tuple(columns), columns[0])


@pytest.mark.property
@settings(max_examples=examples(100))
@given(predicates(ALL))
def test_a_printed_predicate_parses_to_itself(node: Node) -> None:
    predicate = parse_predicate(sql(node))
    assert str(parse_predicate(str(predicate))) == str(predicate)


@pytest.mark.property
@settings(max_examples=examples(100))
@given(predicates(ALL), st.sampled_from((None, UTC, NEW_YORK)), st.sampled_from(Basis))
def test_a_bound_predicate_is_bound_again_like_its_text(
    node: Node, zone: tzinfo | None, basis: Basis
) -> None:
    def bound(predicate: Predicate, basis: Basis, zone: tzinfo | None = UTC) -> BoundPredicate:
        return bind(predicate, schema=SCHEMA, partition_columns=[], basis=basis, zone=zone)

    predicate = bound(parse_predicate(sql(node)), Basis.VALUES, zone)
    by_text = bound(parse_predicate(str(predicate)), basis)
    by_value = bound(unbind(predicate), basis)
    assert repr(_without_texts(by_value)) == repr(_without_texts(by_text))


def _without_texts(predicate: BoundPredicate) -> BoundPredicate:
    """Drop the texts of opaque parts: one literal can be written in several ways."""
    match predicate:
        case Opaque(columns=columns):
            return Opaque("", columns)
        case And(parts):
            return And(tuple(map(_without_texts, parts)))
        case Or(parts):
            return Or(tuple(map(_without_texts, parts)))
        case Not(part):
            return Not(_without_texts(part))
        case _:
            return predicate


@pytest.mark.property
@settings(max_examples=examples(100))
@given(predicates(ALL))
def test_a_bound_predicate_survives_pickling(node: Node) -> None:
    predicate = _bound(node)
    assert str(pickle.loads(pickle.dumps(predicate))) == str(predicate)
