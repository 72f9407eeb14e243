import json

import pytest

from headrace.protocol.schema import parse_schema


def one_column(**members: object) -> str:
    field = {"name": "a", "type": "long", "nullable": True, "metadata": {}} | members
    return json.dumps({"type": "struct", "fields": [field]})


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "null",
        '"long"',
        '{"type": "struct"}',
        one_column(name=5),
        one_column(type=7),
        one_column(type="decimal(39,0)"),
        one_column(type="decimal(5,6)"),
        one_column(type="decimal(a,b)"),
        one_column(type={"type": "array"}),
        one_column(type={"type": "udt"}),
        "[" * 100_000,
    ],
    ids=lambda text: text[:60],
)
def test_an_invalid_schema_is_always_the_same_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (the table's name is added further up)
        parse_schema(text)


def test_a_table_without_a_schema_has_no_columns_yet() -> None:
    assert parse_schema(None).fields == parse_schema("").fields == ()
