"""Kernels for dates and times in the proleptic Gregorian calendar, for any year; times are in UTC.

Days and microseconds since 1970 are processed as numbers: Python's own dates end at 9999.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import by_distinct, where_valid
from headrace.pipeline.translation.kernels.time_zone import (
    known_zone,
    local_parts,
    start_of_days,
    time_of_parts,
)

_DAY_US = 86_400_000_000
_SECOND_US = 1_000_000
_STEPS_US = {
    "microsecond": 1, "millisecond": 1000, "second": _SECOND_US, "minute": 60 * _SECOND_US,
    "hour": 3600 * _SECOND_US, "day": _DAY_US,
}  # fmt: skip
"""Units that a day is a multiple of, in microseconds."""
_MAX_DAYS = ((1 << 63) - 1) // _DAY_US


class SparkTimeError(ValueError):
    """Spark's ANSI error for text or numbers that are not a time."""


def days_of(year: int, month: int, day: int) -> int | None:
    """Return days since 1970; None if there is no such day."""
    if not 1 <= month <= 12:  # noqa: PLR2004
        return None
    first = np.datetime64((year - 1970) * 12 + month - 1, "M")
    start, end = (int(m.astype("datetime64[D]").astype(np.int64)) for m in (first, first + 1))
    return start + day - 1 if 1 <= day <= end - start else None


def civil(days: int) -> tuple[int, int, int]:
    """Return the year, month and day of a number of days since 1970."""
    date = np.datetime64(int(days), "D")
    months = int(date.astype("datetime64[M]").astype(np.int64))
    first = int(np.datetime64(months, "M").astype("datetime64[D]").astype(np.int64))
    return months // 12 + 1970, months % 12 + 1, int(days) - first + 1


def _days(values: pa.Array) -> Any:
    """Return the whole days of dates or times, 0 for null."""
    if pa.types.is_timestamp(values.type):
        return np.floor_divide(_micros(values), _DAY_US)
    return np.asarray(pc.fill_null(values.cast(pa.int32()), 0)).astype(np.int64)


def _micros(values: pa.Array) -> Any:
    return np.asarray(pc.fill_null(values.cast(pa.int64()), 0))


def _calendar(days: Any) -> tuple[Any, Any, Any]:
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return months // 12 + 1970, months % 12 + 1, days - first + 1


def _january(years: Any) -> Any:
    return (years - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)


def _iso(days: Any) -> tuple[Any, Any]:
    """Return the ISO year and week."""
    thursday = days + 3 - (days + 3) % 7
    years, _, _ = _calendar(thursday)
    return years, (thursday - _january(years)) // 7 + 1


@kernel
def date_field(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return a part of a date."""
    days = _days(values)
    years, months, in_month = _calendar(days)
    part = call.parameters[0]
    fields: dict[str, Any] = {
        "year": lambda: years,
        "quarter": lambda: (months - 1) // 3 + 1,
        "month": lambda: months,
        "day": lambda: in_month,
        "dayofyear": lambda: days - _january(years) + 1,
        "dayofweek": lambda: (days + 4) % 7 + 1,
        "weekday": lambda: (days + 3) % 7,
        "dayofweek_iso": lambda: (days + 3) % 7 + 1,
        "week": lambda: _iso(days)[1],
        "yearofweek": lambda: _iso(days)[0],
    }
    return where_valid(pa.array(fields[part]().astype(np.int32), call.gives), values)


@kernel
def time_field(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the hour, the minute or the second of a time."""
    part, *zone = call.parameters
    seconds = local_parts(values, zone)[1] // _SECOND_US
    field = {"hour": seconds // 3600, "minute": seconds // 60 % 60, "second": seconds % 60}[part]
    return where_valid(pa.array(field.astype(np.int32), call.gives), values)


@kernel
def date_add(_: KernelCall, dates: pa.Array, days: pa.Array) -> pa.Array:
    """Add days to a date; as in Spark, an overflow wraps around."""
    return pc.add(dates.cast(pa.int32()), days.cast(pa.int32())).cast(pa.date32())


@kernel
def date_subtract(_: KernelCall, dates: pa.Array, days: pa.Array) -> pa.Array:
    """Subtract days from a date; as in Spark, an overflow wraps around."""
    return pc.subtract(dates.cast(pa.int32()), days.cast(pa.int32())).cast(pa.date32())


@kernel
def days_between(_: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Count the days from the second date to the first."""
    return pc.subtract_checked(left.cast(pa.int32()), right.cast(pa.int32()))


@kernel
def add_months(_: KernelCall, dates: pa.Array, counts: pa.Array) -> pa.Array:
    """Add months to a date; a day that the month lacks becomes its last one."""
    added = with_months(_days(dates), np.asarray(pc.fill_null(counts, 0)).astype(np.int64))
    days = where_valid(pa.array(added), dates, counts).cast(pa.int32())
    return days.cast(pa.date32())


def with_months(days: Any, counts: Any) -> Any:
    """Add months to days; a day that the month lacks becomes its last one."""
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    _, _, in_month = _calendar(days)
    first = (months + counts).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    after = (months + counts + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return np.minimum(first + in_month - 1, after - 1)


def shifted_days(days: int, months: int) -> int:
    """Add months to a date."""
    return int(with_months(np.array(days), np.array(months)))


@kernel
def last_day(_: KernelCall, dates: pa.Array) -> pa.Array:
    """Return the last day of a date's month."""
    months = _days(dates).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    after = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return where_valid(pa.array((after - 1).astype(np.int32)), dates).cast(pa.date32())


@kernel
def next_day(_: KernelCall, dates: pa.Array) -> pa.Array:
    """Return the first day after a date that is a given weekday."""
    weekday = int(_.parameters[0])
    days = _days(dates)
    later = days + (weekday - 5 - days) % 7 + 1
    return where_valid(pa.array(later.astype(np.int32)), dates).cast(pa.date32())


@kernel
def date_truncate(call: KernelCall, dates: pa.Array) -> pa.Array:
    """Truncate a date to the start of a year, quarter, month or week."""
    days = _truncated(_days(dates), call.parameters[0])
    return where_valid(pa.array(days.astype(np.int32)), dates).cast(pa.date32())


def _truncated(days: Any, unit: str) -> Any:
    if unit == "week":
        return days - (days + 3) % 7
    years, months, in_month = _calendar(days)
    if unit == "year":
        return _january(years)
    if unit == "quarter":
        month = (years - 1970) * 12 + (months - 1) // 3 * 3
        return month.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days - in_month + 1


@kernel
def time_truncate(call: KernelCall, values: pa.Array) -> pa.Array:
    """Truncate a time to the start of a unit."""
    unit, *zone = call.parameters
    days, within = local_parts(values, zone)
    if unit in _STEPS_US:
        cut = time_of_parts(days, within - within % _STEPS_US[unit], values, zone)
    else:
        cut = start_of_days(_truncated(days, unit), zone)
    return where_valid(cut, values).cast(call.gives)


@kernel
def time_to_date(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the date of a time."""
    days, _ = local_parts(values, call.parameters)
    return where_valid(pa.array(days.astype(np.int32)), values).cast(pa.date32())


@kernel
def date_to_time(call: KernelCall, dates: pa.Array) -> pa.Array:
    """Return the midnight that starts a date."""
    return where_valid(_midnights(_days(dates)), dates).cast(call.gives)


def _midnights(days: Any) -> pa.Array:
    """Return the microseconds of days; an overflow is an error."""
    return pc.multiply_checked(pa.array(days), pa.scalar(_DAY_US, pa.int64()))


@kernel
def time_to_seconds(_: KernelCall, values: pa.Array) -> pa.Array:
    """Count the whole seconds since 1970, rounded down."""
    return where_valid(pa.array(np.floor_divide(_micros(values), _SECOND_US)), values)


@kernel
def time_to_whole_seconds(_: KernelCall, values: pa.Array) -> pa.Array:
    """Count the whole seconds since 1970, rounded towards zero."""
    micros = _micros(values)
    seconds = (micros - np.fmod(micros, _SECOND_US)) // _SECOND_US
    return where_valid(pa.array(seconds), values)


@kernel
def time_to_units(call: KernelCall, values: pa.Array) -> pa.Array:
    """Count whole units since 1970, rounded down; the parameter is the unit in microseconds."""
    return where_valid(pa.array(np.floor_divide(_micros(values), int(call.parameters[0]))), values)


@kernel
def units_to_time(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the time a number of units after 1970; an overflow is an error."""
    unit = pa.scalar(int(call.parameters[0]), pa.int64())
    return pc.multiply_checked(values.cast(pa.int64()), unit).cast(call.gives)


@kernel
def days_since_epoch(_: KernelCall, dates: pa.Array) -> pa.Array:
    """Count the days since 1970."""
    return dates.cast(pa.int32())


@kernel
def date_from_days(_: KernelCall, days: pa.Array) -> pa.Array:
    """Return the date a number of days after 1970."""
    return days.cast(pa.int32()).cast(pa.date32())


@kernel
def months_between(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Count months between two times: a month has 31 days, and month ends match.

    The seconds of a day are counted from its start, so that clock changes matter.
    """
    mode, zone = call.parameters[0], known_zone(call.parameters[1])

    def day_and_seconds(micros: int) -> tuple[int, int]:
        offset = int(zone.offset_at(np.array(micros // _SECOND_US)))
        days = (micros + offset * _SECOND_US) // _DAY_US
        start = int(zone.start_of_day(np.array(days * 86_400)))
        return days, (micros - start * _SECOND_US) // _SECOND_US

    def between(first: int, second: int) -> float:
        (first_day, first_seconds), (second_day, second_seconds) = map(
            day_and_seconds, (first, second)
        )
        (y1, m1, d1), (y2, m2, d2) = civil(first_day), civil(second_day)
        months = float((y1 - y2) * 12 + m1 - m2)
        if d1 == d2 or (_is_month_end(first_day) and _is_month_end(second_day)):
            return months
        if min(first_day, second_day) < -_MAX_DAYS:
            raise SparkTimeError("long overflow: the start of a day is out of range")
        seconds = (d1 - d2) * 86_400 + first_seconds - second_seconds
        exact = months + seconds / (31 * 86_400)
        if mode == "exact":
            return exact
        return float(np.floor(abs(exact) * 1e8 + 0.5) / 1e8 * np.sign(exact))

    return by_distinct(between, call.gives, left.cast(pa.int64()), right.cast(pa.int64()))


def _is_month_end(days: int) -> bool:
    return civil(days + 1)[2] == 1


@kernel
def seconds_to_time(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the time a number of seconds after 1970; as in Spark, an overflow wraps around."""
    unit = pa.scalar(_SECOND_US, pa.int64())
    return pc.multiply(values.cast(pa.int64()), unit).cast(call.gives)


@kernel
def date_sequence(call: KernelCall, starts: pa.Array, stops: pa.Array) -> pa.Array:
    """Return the dates from one to another, both included; the parameters are unit and count.

    Raises:
        SparkTimeError: the step leads away from the end.
    """
    unit, count = call.parameters

    def listed(start: int, stop: int) -> list[int]:
        step = (1 if stop >= start else -1) if count == "any" else int(count)
        if start != stop and (step > 0) != (stop > start):
            raise SparkTimeError(f"steps of {step} {unit}s lead away from the end of the sequence")
        if unit == "day":
            return list(range(start, stop + (1 if step > 0 else -1), step))
        most = abs(stop - start) // (28 * abs(step)) + 2
        days = with_months(np.full(most, start), step * np.arange(most))
        return [int(day) for day in days if (day <= stop if step > 0 else day >= stop)]

    numbers = (dates.cast(pa.int32()) for dates in (starts, stops))
    days = by_distinct(listed, pa.list_(pa.int32()), *numbers)
    return days.cast(call.gives)
