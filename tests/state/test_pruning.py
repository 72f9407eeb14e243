"""Pruning by bounds never loses a part that holds a wanted value, against brute force."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import wiring
from headrace.expr.node import Basis, BoundPredicate
from headrace.protocol.partition_bounds import BoundsBuilder
from headrace.protocol.schema import Field, PrimitiveType, StructType
from headrace.protocol.state import PartitionBounds
from headrace.replay.partition_pruning import parts_to_read
from tests.effort import examples

TYPES = {"n": PrimitiveType("integer"), "s": PrimitiveType("string"), "f": PrimitiveType("double")}
SCHEMA = StructType(fields=tuple(Field(name, kind) for name, kind in TYPES.items()))
NUMBERS = st.sampled_from([None, "", "1", "2", "9", "10", "-3", "x"])
WORDS = st.sampled_from([None, "", "a", "ab", "b", "ä", "\ufffd", "\U00010000"])
FLOATS = st.sampled_from([None, "0.0", "-0.0", "1.5", "NaN", "-Infinity", "Infinity"])
ROWS = st.fixed_dictionaries({"n": NUMBERS, "s": WORDS, "f": FLOATS})
CONDITIONS = st.sampled_from(
    [
        *("n = 9", "n <> 9", "n > 9", "n >= 10", "n < 2", "n IN (9, 10)", "n BETWEEN 2 AND 9"),
        *("n IS NULL", "n IS NOT NULL", "NOT n = 1", "s = 'ab'", "s LIKE 'a%'", "s > 'b'"),
        *("s IS NULL", "f > 1.5", "f = 0.0", "f IS NOT NULL", "n = 1 AND s = 'a'"),
        *("n = 1 OR s = 'a'", "NOT (n = 1 OR s = 'a')", "n = 1 OR f < 0"),
    ]
)


def bound(text: str) -> BoundPredicate:
    return wiring.bound_predicate(
        text, schema=SCHEMA, partition_columns=list(TYPES), basis=Basis.STATISTICS
    )


def bounds_of(rows: list[dict[str, str | None]]) -> dict[str, PartitionBounds]:
    builder = BoundsBuilder(TYPES)
    for row in rows:
        builder.add(row)
    return builder.bounds()


def foreign(rows: list[dict[str, str | None]]) -> dict[str, PartitionBounds]:
    """Bounds as IndexTables makes them: texts in the order of UTF-16, nothing said of nulls."""
    found = {}
    for name in TYPES:
        texts = [text for row in rows if (text := row[name]) is not None]
        ordered = sorted(texts, key=lambda text: text.encode("utf-16-be"))
        found[name] = (
            PartitionBounds(min=ordered[0], max=ordered[-1]) if ordered else PartitionBounds()
        )
    return found


@pytest.mark.property
@settings(max_examples=examples(200))
@given(st.lists(st.lists(ROWS, min_size=1, max_size=4), min_size=1, max_size=4), CONDITIONS)
def test_a_part_with_a_row_that_may_match_is_read(
    parts: list[list[dict[str, str | None]]], condition: str
) -> None:
    predicate = bound(condition)
    for describe in (bounds_of, foreign):
        kept = parts_to_read(predicate, [describe(rows) for rows in parts])
        for rows, is_kept in zip(parts, kept, strict=True):
            # A single row has exact bounds: the evaluator itself is judged elsewhere.
            wanted = any(parts_to_read(predicate, [bounds_of([row])])[0] for row in rows)
            assert is_kept or not wanted


def test_parts_without_bounds_are_read() -> None:
    assert parts_to_read(bound("n = 1"), [None, {}]) == [True, True]


def test_months_are_compared_as_numbers() -> None:
    part = bounds_of([{"n": "9", "s": None, "f": None}, {"n": "10", "s": None, "f": None}])
    assert parts_to_read(bound("n = 9"), [part]) == [True]
    assert parts_to_read(bound("n = 11"), [part]) == [False]


def test_bounds_that_were_found_as_texts_do_not_prune_numbers() -> None:
    assert parts_to_read(bound("n = 9"), [{"n": PartitionBounds(min="1", max="10")}]) == [True]


def test_a_column_of_nulls_prunes_values_and_never_nulls() -> None:
    part = bounds_of([{"n": None, "s": None, "f": None}])
    assert parts_to_read(bound("n = 1"), [part]) == [False]
    assert parts_to_read(bound("n IS NULL"), [part]) == [True]
