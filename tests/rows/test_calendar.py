"""Dates and times that were written in the hybrid calendar keep their calendar names."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import UnsupportedFeatureError
from tests.listing import open_snapshot
from tests.rows.lake import field, write_table

LEGACY = {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}
LEGACY_INT96 = {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyINT96": ""}
EPOCH = date(1970, 1, 1)


def julian(day: date) -> int:
    """Count the days to a date of the Julian calendar, the slow way."""
    count = -719_164
    for year in range(1, day.year):
        count += 366 if year % 4 == 0 else 365
    lengths = [31, 29 if day.year % 4 == 0 else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return count + sum(lengths[: day.month - 1]) + day.day - 1


NAMES = [
    date(1, 1, 1),
    date(99, 12, 31),
    date(100, 2, 28),
    date(100, 3, 1),
    date(400, 2, 29),
    date(1000, 1, 1),
    date(1500, 3, 1),
    date(1582, 10, 4),
]
MODERN = [date(1582, 10, 15), date(1969, 12, 31), date(2026, 3, 1), None]


def read(table: Path, data: pa.Table, notes: dict[str, str], kind: str, **options: Any) -> Any:
    noted = data.replace_schema_metadata(notes)
    write_table(table, [field("a", kind)], [noted], **options)
    return open_snapshot(table).rows().read_all()["a"].to_pylist()


def days(counts: list[int | None]) -> pa.Table:
    return pa.table({"a": pa.array(counts, pa.int32()).cast(pa.date32())})


@pytest.mark.parametrize("notes", [LEGACY, {"org.apache.spark.version": "2.4.8"}])
def test_old_dates_keep_their_names(tmp_path: Path, notes: dict[str, str]) -> None:
    modern = [None if day is None else (day - EPOCH).days for day in MODERN]
    data = days([*map(julian, NAMES), *modern])
    assert read(tmp_path, data, notes, "date") == [*NAMES, *MODERN]


@pytest.mark.parametrize("notes", [{}, {"org.apache.spark.version": "3.5.0"}])
def test_dates_of_the_new_calendar_are_not_changed(tmp_path: Path, notes: dict[str, str]) -> None:
    data = days([(day - EPOCH).days for day in NAMES])
    assert read(tmp_path, data, notes, "date") == NAMES


def moments(counts: list[int], kind: pa.DataType) -> pa.Table:
    ticks = [count * 86_400_000_000 + 1 for count in counts]
    return pa.table({"a": pa.array(ticks, pa.int64()).cast(pa.timestamp("us")).cast(kind)})


def expected_moments() -> list[datetime]:
    return [
        datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(microseconds=1)
        for day in NAMES
    ]


def test_old_times_of_utc_keep_their_names(tmp_path: Path) -> None:
    data = moments(list(map(julian, NAMES)), pa.timestamp("us", "UTC"))
    notes = {**LEGACY, "org.apache.spark.timeZone": "Etc/UTC"}
    assert read(tmp_path, data, notes, "timestamp") == expected_moments()


def test_int96_has_its_own_metadata_entry(tmp_path: Path) -> None:
    names = [date(1700, 1, 1), date(2026, 3, 1)]  # nanoseconds start in 1677
    counts = [(name - EPOCH).days for name in names]
    data = moments(counts, pa.timestamp("ns"))
    notes = {**LEGACY_INT96, "org.apache.spark.timeZone": "UTC"}
    values = read(tmp_path, data, notes, "timestamp", use_deprecated_int96_timestamps=True)
    assert [moment.date() for moment in values] == names


@pytest.mark.parametrize("zone", [{}, {"org.apache.spark.timeZone": "Europe/Zurich"}])
def test_times_before_1900_of_another_zone_are_refused(tmp_path: Path, zone: Any) -> None:
    data = moments([(date(1899, 12, 31) - EPOCH).days], pa.timestamp("us", "UTC"))
    with pytest.raises(UnsupportedFeatureError, match="before 1900"):
        read(tmp_path, data, {**LEGACY, **zone}, "timestamp")


def test_times_from_1900_on_are_the_same_in_every_zone(tmp_path: Path) -> None:
    data = moments([(date(1900, 1, 1) - EPOCH).days], pa.timestamp("us", "UTC"))
    [value] = read(tmp_path, data, LEGACY, "timestamp")
    assert value.year == 1900


def test_times_without_a_zone_are_never_rebased(tmp_path: Path) -> None:
    data = moments([(date(1000, 1, 1) - EPOCH).days], pa.timestamp("us"))
    [value] = read(tmp_path, data, LEGACY, "timestamp_ntz")
    assert value.date() == date(1000, 1, 1)


def test_days_before_the_year_1_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="year 1"):
        read(tmp_path, days([-719_165]), LEGACY, "date")


def test_row_groups_are_skipped_by_rebased_days(tmp_path: Path) -> None:
    data = days([julian(date(1500, 1, 1)), julian(date(1500, 1, 12))])
    noted = data.replace_schema_metadata(LEGACY)
    write_table(tmp_path, [field("a", "date")], [noted], row_group_size=1)
    table = open_snapshot(tmp_path).rows(where="a = DATE '1500-01-12'").read_all()
    assert table["a"].to_pylist() == [date(1500, 1, 12)]
