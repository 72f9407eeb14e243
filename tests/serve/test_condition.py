"""The predicate JSON: what it means, and that nothing in it can inject SQL."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError, MalformedRequestError
from headrace.expr.node import Column, Compare, Literal
from headrace.expr.parse import parse_predicate
from headrace.serve.condition import MAX_DEPTH, parse_condition

texts = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("predicate", "condition"),
    [
        ({}, None),
        ({"date": "2026-02-08"}, "(`date` = '2026-02-08')"),
        ({"a": 1, "b": None}, "(`a` = 1) AND (`b` IS NULL)"),
        ({"a": {"$ge": 1, "$lt": 5}}, "(`a` >= 1 AND `a` < 5)"),
        ({"a": {"$in": ["x", "y"]}}, "(`a` IN ('x', 'y'))"),
        ({"a": {"$is_null": False}}, "(`a` IS NOT NULL)"),
        ({"a": {"$starts_with": "x"}}, "(startswith(`a`, 'x'))"),
        ({"$or": [{"a": True}, {"b": {"$ne": "c"}}]}, "((((`a` = TRUE)) OR ((`b` <> 'c'))))"),
        ({"$not": {"a": 1}}, "(NOT ((`a` = 1)))"),
        ({"a.b": 1, "`a.b`.`$c```": 2}, "(`a`.`b` = 1) AND (`a.b`.`$c``` = 2)"),
    ],
)
def test_a_predicate_is_translated_to_this_condition(predicate: Any, condition: str | None) -> None:
    translated = parse_condition(json.dumps(predicate))
    plain = None if condition is None else condition.replace("((((", "((").replace("))))", "))")
    assert translated is None or parse_predicate(translated) == parse_predicate(plain or "")
    assert (translated is None) == (plain is None)


def test_numbers_keep_their_spelling() -> None:
    assert parse_condition('{"a": 1.10, "b": 1e3, "c": 10000000000000000000}') == (
        "(`a` = 1.10) AND (`b` = 1e3) AND (`c` = 10000000000000000000)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "1",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"a": []}',
        '{"a": {}}',
        '{"a": {"$gt": [1]}}',
        '{"a": {"gt": 1}}',
        '{"a": {"$in": []}}',
        '{"a": {"$is_null": 1}}',
        '{"a": {"$starts_with": 1}}',
        '{"$and": []}',
        '{"$and": [1]}',
        '{"$not": null}',
        '{"$where": "1=1"}',
        '{"": 1}',
        '{"a.": 1}',
        '{".a": 1}',
        '{"`a": 1}',
        '{"`a`b": 1}',
        '{"a": "\\ud800"}',
        "[" * 100_000,
        '{"$not":' * (MAX_DEPTH + 2) + "{}" + "}" * (MAX_DEPTH + 2),
        '{"$not":' * 50_000,
    ],
)
def test_predicates_outside_the_grammar_are_refused(text: str) -> None:
    with pytest.raises(MalformedRequestError):
        parse_condition(text)


@pytest.mark.parametrize("level", ['{"$not": x}', '{"$and": [x]}', '{"b": 1, "$or": [x, {}]}'])
@pytest.mark.parametrize("test", ['{"a": {"$in": [1]}}', '{"a": {"$starts_with": "y"}}'])
def test_the_deepest_predicate_is_not_too_deep_for_sql(level: str, test: str) -> None:
    text = test
    for _ in range(MAX_DEPTH):
        text = level.replace("x", text)
    condition = parse_condition(text)
    assert condition is not None
    parse_predicate(condition)
    with pytest.raises(MalformedRequestError, match="deep"):
        parse_condition(level.replace("x", text))


@pytest.mark.property
@given(name=texts.filter(bool), value=texts)
def test_no_text_becomes_syntax(name: str, value: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    condition = parse_condition(json.dumps({quoted: value}))
    assert condition is not None
    assert parse_predicate(condition) == Compare(Column((name,)), _EQUALS, Literal(value))


_EQUALS = parse_predicate("a = 1").op  # type: ignore[union-attr]

_values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
_json = st.recursive(
    _values,
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            texts | st.sampled_from(["a", "b.c", "$and", "$or", "$not", "$in", "$eq", "$lt"]),
            below,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@pytest.mark.property
@given(_json)
def test_any_json_is_a_condition_or_a_typed_error(value: Any) -> None:
    try:
        condition = parse_condition(json.dumps(value))
        if condition is not None:
            parse_predicate(condition)
    except HeadraceError:
        pass
