import subprocess
import sys
from datetime import UTC, date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import PartitionValueError
from headrace.protocol.arrow_schema import arrow_schema, arrow_type
from headrace.protocol.arrow_value import typed_array
from headrace.protocol.schema import (
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
)
from headrace.protocol.value import typed_value

BYTE, INTEGER, LONG = PrimitiveType("byte"), PrimitiveType("integer"), PrimitiveType("long")
FLOAT, DOUBLE, BOOLEAN = PrimitiveType("float"), PrimitiveType("double"), PrimitiveType("boolean")
STRING, BINARY, DATE = PrimitiveType("string"), PrimitiveType("binary"), PrimitiveType("date")
TIMESTAMP, WALL = PrimitiveType("timestamp"), PrimitiveType("timestamp_ntz")
MONEY = DecimalType(5, 2)
TYPES: tuple[DataType, ...] = (
    *(BYTE, INTEGER, LONG, FLOAT, DOUBLE, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, WALL, MONEY),
)


def _naive(*parts: int) -> datetime:
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


VALUES: list[tuple[str, DataType, Any]] = [
    ("-128", BYTE, -128),
    (" 007 ", INTEGER, 7),
    ("+5", LONG, 5),
    ("9223372036854775807", LONG, 2**63 - 1),
    ("0.1", FLOAT, 0.10000000149011612),
    ("1e39", FLOAT, float("inf")),
    ("0.1", DOUBLE, 0.1),
    ("-Infinity", DOUBLE, float("-inf")),
    ("true", BOOLEAN, True),
    ("FALSE", BOOLEAN, False),
    (" ", STRING, " "),
    ("é", BINARY, "é".encode()),
    ("2024-02-29", DATE, date(2024, 2, 29)),
    ("2024-2-9", DATE, date(2024, 2, 9)),
    ("1.5", MONEY, Decimal("1.50")),
    ("-999.99", MONEY, Decimal("-999.99")),
    ("1E+2", MONEY, Decimal("100.00")),
    ("2024-01-01 10:00:00", WALL, _naive(2024, 1, 1, 10)),
    ("2024-01-01T10:00:00.5", WALL, _naive(2024, 1, 1, 10, 0, 0, 500_000)),
    ("2024-01-01T10:00:00+05:00", WALL, _naive(2024, 1, 1, 10)),
]
UNCASTABLE: list[tuple[str, DataType]] = [
    ("128", BYTE),
    ("0x1F", INTEGER),
    ("1.5", LONG),
    ("9223372036854775808", LONG),
    ("abc", DOUBLE),
    ("maybe", BOOLEAN),
    ("2024-02-30", DATE),
    ("2024/01/01", DATE),
    ("12024-01-01", DATE),
    ("1000.00", MONEY),
    ("1.234", MONEY),
    ("NaN", MONEY),
    ("1e99999", MONEY),
    ("2024-01-01 25:00:00", TIMESTAMP),
    ("2024-01-01 10:00:00 Mars/Olympus", TIMESTAMP),
    ("2024-01-01 10:00:00+19:00", TIMESTAMP),
    ("0001-01-01 00:00:00+01:00", TIMESTAMP),
    ("x", PrimitiveType("void")),
    ("x", ArrayType(LONG, contains_null=True)),
]


@pytest.mark.parametrize(("text", "data_type", "expected"), VALUES)
def test_texts_become_values_of_the_type(text: str, data_type: DataType, expected: Any) -> None:
    value = typed_value(text, data_type, column="c")
    assert (type(value), value) == (type(expected), expected)


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-01 10:00:00.123456",
        "2024-01-01T10:00:00.123456Z",
        "2024-01-01T10:00:00.123456+00:00",
        "2024-01-01 12:00:00.123456+02:00",
        "2024-01-01 02:00:00.123456-0800",
        "2024-01-01 10:00:00.1234569 UTC",
        "2024-01-01T11:00:00.123456 GMT+1",
    ],
)
def test_timestamps_have_two_encodings_rule_28(text: str) -> None:
    expected = datetime(2024, 1, 1, 10, 0, 0, 123456, tzinfo=UTC)
    assert typed_value(text, TIMESTAMP, column="c") == expected
    assert typed_array(pa.array([text]), TIMESTAMP)[0].to_pylist() == [expected]


@pytest.mark.parametrize("data_type", TYPES)
def test_the_empty_text_is_null_for_every_type_rule_27(data_type: DataType) -> None:
    assert typed_value("", data_type, column="c") is None
    assert typed_value(None, data_type, column="c") is None
    array, uncastable = typed_array(pa.array(["", None], pa.string()), data_type)
    assert array.to_pylist() == [None, None]
    assert array.type == arrow_type(data_type)
    assert uncastable.to_pylist() == [False, False]


@pytest.mark.parametrize(("text", "data_type"), UNCASTABLE)
def test_a_value_of_the_wrong_type_is_named(text: str, data_type: DataType) -> None:
    with pytest.raises(PartitionValueError) as caught:
        typed_value(text, data_type, column="c")
    assert caught.value.fields == {"column": "c", "value": text, "type_name": str(data_type)}


@pytest.mark.parametrize(("text", "data_type"), UNCASTABLE[:-1])
def test_an_array_marks_values_of_the_wrong_type(text: str, data_type: DataType) -> None:
    array, uncastable = typed_array(pa.array([text, None, text]), data_type)
    assert array.to_pylist() == [None, None, None]
    assert uncastable.to_pylist() == [True, False, True]


_spellings = st.sampled_from(
    [text for text, _, _ in VALUES]
    + [text for text, _ in UNCASTABLE]
    + [
        "1",
        "-0",
        "2024-01-01",
        "1969-12-31 23:59:59.999",
        "2024-01-01T00:00:00-08:00",
        "0000-01-01",
    ]
)


@pytest.mark.property
@given(st.lists(st.none() | _spellings, max_size=6), st.sampled_from(TYPES))
def test_arrays_and_single_values_agree(texts: list[str | None], data_type: DataType) -> None:
    array, uncastable = typed_array(pa.array(texts, pa.string()), data_type)
    for text, value, bad in zip(texts, array.to_pylist(), uncastable.to_pylist(), strict=True):
        if bad:
            assert value is None
            with pytest.raises(PartitionValueError):
                typed_value(text, data_type, column="c")
        else:
            expected = typed_value(text, data_type, column="c")
            assert value == expected or str(value) == str(expected) == "nan"


def test_one_more_plain_text_does_not_change_the_others() -> None:
    texts = pa.array(["2024-01-01", "2024-1-2", "2024-13-01"])
    array, uncastable = typed_array(texts, DATE)
    assert array.to_pylist() == [date(2024, 1, 1), date(2024, 1, 2), None]
    assert uncastable.to_pylist() == [False, False, True]


def test_values_need_no_arrow() -> None:
    code = "import sys, headrace.protocol.value, headrace.expr.bind, headrace.expr.reference; "
    code += "print('pyarrow' in sys.modules, 'sqlglot' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["False", "False"]


def test_nan_is_a_double() -> None:
    value = typed_value("NaN", DOUBLE, column="c")
    assert isinstance(value, float)
    assert value != value  # noqa: PLR0124 - NaN alone differs from itself


def test_each_type_has_its_arrow_type() -> None:
    schema = StructType(
        (
            Field("id", LONG, nullable=False, metadata={"comment": "key", "delta.x": 3, "y": [1]}),
            Field("at", TIMESTAMP),
            Field("wall", WALL),
            Field("v", PrimitiveType("variant")),
            Field("none", PrimitiveType("void")),
            Field("lc", PrimitiveType("string collate UTF8_LCASE")),
            Field("m", MapType(STRING, MONEY, value_contains_null=False)),
            Field("l", ArrayType(StructType((Field("b", BYTE),)), contains_null=False)),
        )
    )
    variant = pa.struct(
        [
            pa.field("value", pa.binary(), nullable=False),
            pa.field("metadata", pa.binary(), nullable=False),
        ]
    )
    element = pa.field("element", pa.struct([pa.field("b", pa.int8())]), nullable=False)
    arrow = arrow_schema(schema)
    assert arrow == pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("at", pa.timestamp("us", "UTC")),
            pa.field("wall", pa.timestamp("us")),
            pa.field("v", variant),
            pa.field("none", pa.null()),
            pa.field("lc", pa.string()),
            pa.field(
                "m",
                pa.map_(pa.string(), pa.field("value", pa.decimal128(5, 2), nullable=False)),
            ),
            pa.field("l", pa.list_(element)),
        ]
    )
    assert arrow.field("id").metadata == {b"comment": b"key", b"delta.x": b"3", b"y": b"[1]"}


@pytest.mark.parametrize("name", ["interval day to second", "geometry(OGC:CRS84)", "whatever"])
def test_a_type_without_an_arrow_form_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=name[:8]):
        arrow_type(PrimitiveType(name))


def test_zones_are_kept_until_the_instant_is_requested() -> None:
    value = typed_value("2024-01-01 10:00:00+05:30", TIMESTAMP, column="c")
    assert isinstance(value, datetime)
    assert value.tzinfo == timezone.utc  # noqa: UP017 - the instant, whatever it was written in
