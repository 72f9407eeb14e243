import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headrace.protocol.bound import Recorded, lower_bound, upper_bound
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType
from headrace.protocol.statistics.decode import (
    ColumnStatistics,
    NeededStatistics,
    StatisticsBatch,
    StatisticsColumn,
    decode_statistics,
)

LONG, STRING, DOUBLE = PrimitiveType("long"), PrimitiveType("string"), PrimitiveType("double")
FLOAT, DATE, TIMESTAMP = PrimitiveType("float"), PrimitiveType("date"), PrimitiveType("timestamp")
WALL, BOOLEAN, MONEY = PrimitiveType("timestamp_ntz"), PrimitiveType("boolean"), DecimalType(38, 4)
NAN = float("nan")


def _decode(texts: Sequence[str | None], *path: str, kind: DataType = LONG) -> StatisticsBatch:
    column = StatisticsColumn(path, kind, NeededStatistics.EXTREMES | NeededStatistics.NULL_COUNT)
    return decode_statistics(pa.array(texts, pa.string()), [column])


def _nested(path: tuple[str, ...], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _text(path: tuple[str, ...], low: Any, high: Any, nulls: Any = 0) -> str:
    return json.dumps(
        {
            "numRecords": 10,
            "minValues": _nested(path, low),
            "maxValues": _nested(path, high),
            "nullCount": _nested(path, nulls),
        }
    )


def _listed(statistics: ColumnStatistics) -> tuple[list[Any], list[Any], list[Any]]:
    return (
        statistics.minimum.to_pylist(),
        statistics.maximum.to_pylist(),
        statistics.null_count.to_pylist(),
    )


@pytest.mark.parametrize(
    "path",
    [
        ("a",),
        ("a", "b", "c"),
        ("a.b", "class"),
        ("é", "", "f0"),
        ("numRecords", "minValues"),
        ('say "hi"',),
        ("back\\slash", "tab\t"),
        ("\0",),
    ],
)
def test_a_column_is_found_by_any_name(path: tuple[str, ...]) -> None:
    statistics = _decode([_text(path, 1, 5, 2), None, _text(path, -1, 2**60, 0)], *path)
    assert statistics.num_records.to_pylist() == [10, None, 10]
    assert _listed(statistics.columns[path]) == ([1, None, -1], [5, None, 2**60], [2, None, 0])


@pytest.mark.parametrize(
    "bad",
    [
        "",
        " ",
        "null",
        "[]",
        "7",
        '"{}"',
        "{",
        '{"numRecords":3,"minValues":{"a":',
        '{"numRecords":3,"minValues":{"a":1}',
        '{"minValues":[1]}',
        '{"minValues":7}',
        "{}{}",
        "{},{}",
        "{}\n{}",
        '{"minValues":{"a":1e999}}',
        '{"minValues":{"a":"\\ud800"}}',
        '{"x":' + "[" * 9999 + "]" * 9999 + "}",
    ],
)
def test_a_damaged_text_counts_as_no_statistics_and_harms_no_other_rule_30(bad: str) -> None:
    good = _text(("a",), 1, 5)
    for texts in ([good, bad, good], [bad, good, good, ""], ["", good, good, bad]):
        statistics = _decode(texts, "a")
        expected = [1 if text == good else None for text in texts]
        assert statistics.columns["a",].minimum.to_pylist() == expected


@pytest.mark.parametrize("spaced", ['{\n "numRecords" : 10,\n "minValues" : {"a" : 1}\n}', "{ }"])
def test_a_text_may_be_spaced_and_broken_into_lines(spaced: str) -> None:
    statistics = _decode([spaced, _text(("a",), 1, 5)], "a")
    assert statistics.columns["a",].maximum.to_pylist() == [None, 5]


@pytest.mark.parametrize("level", ["minValues", "maxValues", "nullCount"])
def test_missing_and_null_levels_are_unknown_rule_30(level: str) -> None:
    whole = json.loads(_text(("a", "b"), 1, 5))
    without = {key: value for key, value in whole.items() if key != level}
    texts = [json.dumps(t) for t in (without, whole | {level: None}, whole | {level: {"a": None}})]
    column = _decode(texts, "a", "b").columns["a", "b"]
    index = ["minValues", "maxValues", "nullCount"].index(level)
    assert _listed(column)[index] == [None, None, None]
    assert _listed(column)[index - 1] != [None, None, None]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (LONG, ["1", 1.5, True, [1], {"b": 1}, 2**70]),
        (STRING, [1, True, ["a"]]),
        (DOUBLE, [True, "abc", [1.5]]),
        (BOOLEAN, [0, "true"]),
        (DATE, [20240101, "2024-02-30", "soon"]),
        (TIMESTAMP, [1704067200, "soon"]),
    ],
)
def test_a_value_of_the_wrong_type_is_unknown_and_the_rest_counts(
    kind: DataType, wrong: list[Any]
) -> None:
    for value in wrong:
        texts = [_text(("a",), value, value, 3), _text(("a",), None, None)]
        column = _decode(texts, "a", kind=kind).columns["a",]
        assert _listed(column) == ([None, None], [None, None], [3, 0])


@pytest.mark.parametrize(
    ("kind", "written", "expected"),
    [
        (BOOLEAN, False, False),
        (DOUBLE, 5, 5.0),
        (DOUBLE, 2**60 + 1, float(2**60)),
        (DOUBLE, "-Infinity", float("-inf")),
        (DATE, "2024-02-29", date(2024, 2, 29)),
        (TIMESTAMP, "2024-01-01T00:00:00.123Z", datetime(2024, 1, 1, 0, 0, 0, 123000, tzinfo=UTC)),
        (TIMESTAMP, "2024-01-01T02:00:00.000+02:00", datetime(2024, 1, 1, tzinfo=UTC)),
        (WALL, "2024-01-01T00:00:00.000", datetime(2024, 1, 1)),  # noqa: DTZ001
        (WALL, "2024-01-01 00:00:00.000", datetime(2024, 1, 1)),  # noqa: DTZ001
        (WALL, "2024-01-01", datetime(2024, 1, 1)),  # noqa: DTZ001
    ],
)
def test_extremes_are_read_in_the_column_type(kind: DataType, written: Any, expected: Any) -> None:
    column = _decode([_text(("a",), written, written)], "a", kind=kind).columns["a",]
    assert column.minimum.to_pylist() == [expected]


@pytest.mark.parametrize("name", ["a", 'a"b'])
def test_decimals_are_decoded_exactly(name: str) -> None:
    number = "1234567890123456789012345678901234.5678"
    key = json.dumps(name)
    text = f'{{"minValues":{{{key}:{number}}},"maxValues":{{{key}:-7}}}}'
    column = _decode([text, None], name, kind=MONEY).columns[name,]
    assert column.minimum.to_pylist() == [Decimal(number), None]
    assert column.maximum.to_pylist() == [Decimal("-7.0000"), None]


def test_decimals_that_the_type_cannot_hold_are_rounded_outwards_or_unknown() -> None:
    texts = [
        '{"minValues":{"a":1.23456},"maxValues":{"a":1.23456}}',
        '{"minValues":{"a":1e99},"maxValues":{"a":1e-999999}}',
        '{"minValues":{"a":"NaN"},"maxValues":{"a":1}}',
    ]
    column = _decode(texts, "a", kind=MONEY).columns["a",]
    assert column.minimum.to_pylist() == [Decimal("1.2345"), None, None]
    assert column.maximum.to_pylist() == [Decimal("1.2346"), None, Decimal("1.0000")]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("0.1" + "0" * 40, ("0.10", "0.10")),
        ("9.1E-27", ("0.00", "0.01")),
        ("-9.1E-27", ("-0.01", "0.00")),
        ("-0.3205606025003907621087000E-45", ("-0.01", "0.00")),
        ("1" + "0" * 45, None),
        ("12345678.91", None),
        ("1234567.891", ("1234567.89", "1234567.90")),
        ("9999999.999", ("9999999.99", None)),
        ("0E-99", ("0.00", "0.00")),
    ],
)
def test_a_decimal_of_any_length_is_rounded_outwards_or_unknown(
    number: str, expected: tuple[str | None, str | None] | None
) -> None:
    text = f'{{"minValues":{{"a":{number}}},"maxValues":{{"a":{number}}}}}'
    column = _decode([text], "a", kind=DecimalType(9, 2)).columns["a",]
    low, high = expected or (None, None)
    assert column.minimum.to_pylist() == [low and Decimal(low)]
    assert column.maximum.to_pylist() == [high and Decimal(high)]


def test_a_float_is_read_from_its_shortest_text() -> None:
    column = _decode([_text(("a",), 0.1, 0.1)], "a", kind=FLOAT).columns["a",]
    assert column.maximum.type == pa.float32()
    assert column.maximum.cast(pa.float64()).to_pylist() == [0.10000000149011612]


def test_only_needed_statistics_are_decoded() -> None:
    column = StatisticsColumn(("a",), PrimitiveType("binary"), NeededStatistics.NULL_COUNT)
    decoded = decode_statistics(pa.array([_text(("a",), 1, 5, 3)]), [column]).columns["a",]
    assert _listed(decoded) == ([None], [None], [3])


def test_counts_are_used_if_extremes_are_missing() -> None:
    texts = [_text(("a",), 1, 5, 3), _text(("a",), None, None, 10), _text(("a",), 1, None, 2), None]
    column = StatisticsColumn(("a",), LONG, NeededStatistics.EXTREMES)
    statistics = decode_statistics(pa.array(texts), [column])
    assert statistics.num_records.to_pylist() == [None, 10, 10, None]
    assert statistics.columns["a",].null_count.to_pylist() == [None, 10, 2, None]


def test_one_value_of_another_type_does_not_change_the_others() -> None:
    for odd in (True, 1.5, "7", 2**70, [1], None):
        texts = [_text(("a",), 1, 5), _text(("a",), odd, 5), _text(("a",), 3, 9)]
        column = _decode(texts, "a").columns["a",]
        assert column.minimum.to_pylist() == [1, None, 3], odd
        assert column.maximum.to_pylist() == [5, 5, 9], odd


def test_a_slice_of_texts_is_decoded_as_such() -> None:
    texts = pa.array([_text(("a",), i, i) for i in range(9)])[3:7]
    statistics = decode_statistics(
        texts, [StatisticsColumn(("a",), LONG, NeededStatistics.EXTREMES)]
    )
    assert statistics.columns["a",].minimum.to_pylist() == [3, 4, 5, 6]


def test_a_timestamp_maximum_may_be_too_low_by_less_than_a_millisecond_rule_31() -> None:
    kind = pa.timestamp("us", "UTC")
    maximum = pa.array([0, 2**63 - 1, 2**63 - 1000, None], kind)
    widened = upper_bound(maximum, TIMESTAMP).cast(pa.int64()).to_pylist()
    assert widened == [999, None, 2**63 - 1, None]
    assert lower_bound(maximum, TIMESTAMP) is maximum


def test_a_long_string_maximum_may_be_a_bare_prefix_rule_31() -> None:
    maximum = pa.array(["z", "m" * 31, "m" * 32, "é" * 16, None])
    upper = upper_bound(maximum, STRING).to_pylist()
    assert upper == [b"z", b"m" * 31, b"m" * 32 + b"\xff", "é".encode() * 16 + b"\xff", None]
    assert ("m" * 32 + "\U0010ffff" * 9).encode() < upper[2] < b"n"


@pytest.mark.parametrize("length", [6, 32])
@pytest.mark.parametrize("real_end", ["\U0001f600", "\ufffd\U0001f600", "?\ufffd", "\ufffd"])
def test_a_string_maximum_with_the_tie_breaker_of_utf_16_is_below_emoji_rule_31(
    length: int, real_end: str
) -> None:
    prefix = "m" * length
    half = "?" if real_end.startswith("\U0001f600") else ""  # of a pair that the cut divided
    upper = upper_bound(pa.array([prefix + "\ufffd", prefix + half + "\ufffd"]), STRING)
    for bound in upper.to_pylist():
        assert (prefix + real_end + "z").encode() < bound < b"n"


@pytest.mark.parametrize("other", ["b", "\U0001f600", "?\ufffd", ""])
def test_the_greatest_string_maximum_of_many_files_may_hide_a_cut_one_rule_31(other: str) -> None:
    maxima = ["m" * 32, "m" * 32 + other]
    upper = upper_bound(pa.array([max(maxima)]), STRING, recorded=Recorded.FOR_MANY_FILES)
    assert ("m" * 32 + "\U0010ffff").encode() < upper[0].as_py() < b"n"
    divided = ["m" * 31 + "?\ufffd", "m" * 31 + "n"]
    upper = upper_bound(pa.array([max(divided)]), STRING, recorded=Recorded.FOR_MANY_FILES)
    assert ("m" * 31 + "\U0001f600").encode() < upper[0].as_py() < b"n"


def test_the_greatest_decimal_of_many_files_may_hide_a_clipped_one() -> None:
    kind = DecimalType(20, 0)
    beyond = pa.array([Decimal(2**63 + 5), Decimal(-(2**63) - 5)], pa.decimal128(20, 0))
    assert upper_bound(beyond, kind)[0].is_valid
    assert lower_bound(beyond, kind)[1].is_valid
    assert not upper_bound(beyond, kind, recorded=Recorded.FOR_MANY_FILES)[0].is_valid
    assert not lower_bound(beyond, kind, recorded=Recorded.FOR_MANY_FILES)[1].is_valid


def test_an_extreme_that_is_nan_is_unknown() -> None:
    array = pa.array([NAN, 1.5, None])
    assert lower_bound(array, DOUBLE).to_pylist() == [None, 1.5, None]
    assert upper_bound(array, DOUBLE).to_pylist() == [None, 1.5, None]


def test_a_long_decimal_may_have_gone_through_a_double() -> None:
    real = Decimal("12345678901234567.89")
    recorded = pa.array([Decimal(repr(float(real))), Decimal("1.5")], pa.decimal128(20, 2))
    low = lower_bound(recorded, DecimalType(20, 2)).to_pylist()
    high = upper_bound(recorded, DecimalType(20, 2)).to_pylist()
    assert low[0] <= real <= high[0]
    assert high[0] - low[0] < 1000
    assert (low[1], high[1]) == (Decimal("1.50"), Decimal("1.50"))


def test_a_short_decimal_is_exact() -> None:
    recorded = pa.array([Decimal("99999999.99")], pa.decimal128(10, 2))
    assert upper_bound(recorded, DecimalType(10, 2)) is recorded
