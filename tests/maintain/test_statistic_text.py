"""Typed statistics become JSON texts that mean the same."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa

from headrace.maintain.statistic_text import with_typed_statistics

EXTREMES = pa.struct(
    [
        ("i", pa.int64()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("day", pa.date32()),
        ("at", pa.timestamp("ns", "UTC")),
        ("local", pa.timestamp("us")),
        ("price", pa.decimal128(20, 2)),
        ("in", pa.struct([("a", pa.int32())])),
    ]
)
COUNTS = pa.struct([("i", pa.int64())])
TYPED = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("minValues", EXTREMES),
        ("maxValues", EXTREMES),
        ("nullCount", COUNTS),
    ]
)
LOW = {
    "i": -(1 << 60),
    "x": 0.1,
    "s": 'a"é',
    "day": date(1, 1, 1),
    "at": datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=UTC),
    "local": datetime(2024, 1, 1),  # noqa: DTZ001  (a local time)
    "price": Decimal("-123456789012345678.90"),
    "in": {"a": 1},
}
TEXTS = {
    "i": -(1 << 60),
    "x": 0.1,
    "s": 'a"é',
    "day": "0001-01-01",
    "at": "2024-01-01T00:00:00.123456Z",
    "local": "2024-01-01T00:00:00",
    "price": Decimal("-123456789012345678.90"),
    "in": {"a": 1},
}


def texts(*rows: object, given: list[str | None] | None = None) -> list[str | None]:
    completed: list[str | None] = with_typed_statistics(
        pa.array(given or [None] * len(rows), pa.large_string()), pa.array(rows, TYPED)
    ).to_pylist()
    return completed


def test_values_of_all_types_are_written() -> None:
    row = {"numRecords": 3, "minValues": LOW, "maxValues": LOW, "nullCount": {"i": 1}}
    (text,) = texts(row)
    expected = {"numRecords": 3, "minValues": TEXTS, "maxValues": TEXTS, "nullCount": {"i": 1}}
    assert (
        json.loads(
            str(text), parse_float=lambda t: Decimal(t) if "." in t and len(t) > 9 else float(t)
        )
        == expected
    )


def test_what_json_cannot_express_is_left_out() -> None:
    nothing = dict.fromkeys(LOW)
    low = nothing | {"x": float("nan"), "i": 1}
    high = nothing | {"x": float("inf"), "in": {"a": None}}
    (text,) = texts({"numRecords": 3, "minValues": low, "maxValues": high, "nullCount": None})
    assert json.loads(str(text)) == {
        "numRecords": 3,
        "minValues": {"i": 1},
        "maxValues": {"in": {}},
        "nullCount": {},
    }


def test_a_text_that_exists_is_kept_and_a_row_without_statistics_has_none() -> None:
    row = {"numRecords": 1, "minValues": None, "maxValues": None, "nullCount": None}
    given = ["{}", None, None]
    kept, written, absent = texts(row, row, None, given=given)
    assert (kept, absent) == ("{}", None)
    assert json.loads(str(written))["numRecords"] == 1


def test_a_time_that_python_cannot_hold_leaves_the_row_without_statistics() -> None:
    far = pa.array([1 << 62], pa.int64()).cast(pa.timestamp("us", "UTC"))
    low = pa.StructArray.from_arrays([far], ["at"])
    row = pa.StructArray.from_arrays([pa.array([1]), low], ["numRecords", "minValues"])
    assert with_typed_statistics(pa.array([None], pa.large_string()), row).to_pylist() == [None]
