"""Dates and times in the proleptic Gregorian calendar, for any year; times are in UTC.

Days and microseconds since 1970 are computed with as numbers: Python's own dates end at 9999.
"""

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import by_distinct, where_valid

_DAY_US = 86_400_000_000
_SECOND_US = 1_000_000
_DATE = re.compile(r"\s*([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?\s*", re.DOTALL)
_TIME = re.compile(
    r"\s*([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?\s*(Z|UTC|[+-]\d{2}:\d{2})?)?)?)?\s*"
)


class SparkTimeError(ValueError):
    """What Spark raises in ANSI mode for text or numbers that are no time."""


def days_of(year: int, month: int, day: int) -> int | None:
    """Days since 1970; None if there is no such day."""
    if not 1 <= month <= 12:  # noqa: PLR2004
        return None
    first = np.datetime64((year - 1970) * 12 + month - 1, "M")
    start, end = (int(m.astype("datetime64[D]").astype(np.int64)) for m in (first, first + 1))
    return start + day - 1 if 1 <= day <= end - start else None


def civil(days: int) -> tuple[int, int, int]:
    """The year, month and day of a number of days since 1970."""
    date = np.datetime64(int(days), "D")
    months = int(date.astype("datetime64[M]").astype(np.int64))
    first = int(np.datetime64(months, "M").astype("datetime64[D]").astype(np.int64))
    return months // 12 + 1970, months % 12 + 1, int(days) - first + 1


def parse_date(text: str) -> int | None:
    """The days of a text that Spark casts to a date; None if it is none."""
    match = _DATE.fullmatch(text)
    if match is None or (match[3] is None and match[0].strip() != match[0].strip()):
        return None
    return days_of(int(match[1]), int(match[2] or 1), int(match[3] or 1))


def parse_time(text: str, *, zoned: bool) -> int | None:
    """The microseconds of a text that Spark casts to a time; None if it is none."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    days = days_of(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    hour, minute, second = (int(match[place] or 0) for place in (4, 5, 6))
    if days is None or hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004
        return None
    micros = int((match[7] or "").ljust(6, "0")[:6])
    seconds = hour * 3600 + minute * 60 + second
    total = days * _DAY_US + seconds * _SECOND_US + micros
    zone = match[8]
    if zone and zoned and zone not in {"Z", "UTC"}:
        hours, minutes = int(zone[1:3]), int(zone[4:])
        if hours > 18 or minutes > 59:  # noqa: PLR2004
            return None
        offset = (hours * 60 + minutes) * 60 * _SECOND_US
        total -= offset if zone[0] == "+" else -offset
    return total


def _days(values: pa.Array) -> Any:
    """Whole days of dates or times, 0 for null."""
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
    """The ISO year and week."""
    thursday = days + 3 - (days + 3) % 7
    years, _, _ = _calendar(thursday)
    return years, (thursday - _january(years)) // 7 + 1


@kernel
def date_field(call: KernelCall, values: pa.Array) -> pa.Array:
    """Give a part of a date."""
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
    """Give the hour, the minute or the second of a time."""
    seconds = np.floor_divide(_micros(values), _SECOND_US) % 86_400
    part = call.parameters[0]
    field = {"hour": seconds // 3600, "minute": seconds // 60 % 60, "second": seconds % 60}[part]
    return where_valid(pa.array(field.astype(np.int32), call.gives), values)


@kernel
def date_add(_: KernelCall, dates: pa.Array, days: pa.Array) -> pa.Array:
    """Add days to a date."""
    return pc.add_checked(dates.cast(pa.int32()), days.cast(pa.int32())).cast(pa.date32())


@kernel
def date_subtract(_: KernelCall, dates: pa.Array, days: pa.Array) -> pa.Array:
    """Subtract days from a date."""
    return pc.subtract_checked(dates.cast(pa.int32()), days.cast(pa.int32())).cast(pa.date32())


@kernel
def days_between(_: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Count the days from the second date to the first."""
    return pc.subtract_checked(left.cast(pa.int32()), right.cast(pa.int32()))


@kernel
def add_months(_: KernelCall, dates: pa.Array, counts: pa.Array) -> pa.Array:
    """Add months to a date; a day that the month lacks becomes its last one."""
    added = _with_months(_days(dates), np.asarray(pc.fill_null(counts, 0)).astype(np.int64))
    return where_valid(pa.array(added.astype(np.int32), pa.int32()), dates, counts).cast(
        pa.date32()
    )


def _with_months(days: Any, counts: Any) -> Any:
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    _, _, in_month = _calendar(days)
    first = (months + counts).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    after = (months + counts + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return np.minimum(first + in_month - 1, after - 1)


def shifted_days(days: int, months: int) -> int:
    """A date, so many months later."""
    return int(_with_months(np.array(days), np.array(months)))


@kernel
def time_add(call: KernelCall, values: pa.Array) -> pa.Array:
    """Add a constant number of months and of microseconds to a time."""
    months, micros = map(int, call.parameters)
    total = _micros(values)
    if months:
        within = total % _DAY_US
        days = _with_months(np.floor_divide(total, _DAY_US), np.array(months))
        total = days * _DAY_US + within
    shifted = pc.add_checked(pa.array(total), pa.scalar(micros, pa.int64()))
    return where_valid(shifted, values).cast(call.gives)


@kernel
def last_day(_: KernelCall, dates: pa.Array) -> pa.Array:
    """Give the last day of a date's month."""
    months = _days(dates).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    after = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return where_valid(pa.array((after - 1).astype(np.int32)), dates).cast(pa.date32())


@kernel
def next_day(_: KernelCall, dates: pa.Array) -> pa.Array:
    """Give the first day after a date that is a day of the week."""
    weekday = int(_.parameters[0])
    days = _days(dates)
    later = days + (weekday - 5 - days) % 7 + 1
    return where_valid(pa.array(later.astype(np.int32)), dates).cast(pa.date32())


@kernel
def date_truncate(call: KernelCall, dates: pa.Array) -> pa.Array:
    """Cut a date off to the beginning of a year, quarter, month or week."""
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
    """Cut a time off to the beginning of a unit."""
    unit = call.parameters[0]
    steps = {
        "microsecond": 1,
        "millisecond": 1000,
        "second": _SECOND_US,
        "minute": 60 * _SECOND_US,
        "hour": 3600 * _SECOND_US,
        "day": _DAY_US,
    }
    micros = _micros(values)
    if unit in steps:
        cut = micros - micros % steps[unit]
    else:
        cut = _truncated(np.floor_divide(micros, _DAY_US), unit) * _DAY_US
    return where_valid(pa.array(cut), values).cast(call.gives)


@kernel
def make_date(call: KernelCall, years: pa.Array, months: pa.Array, days: pa.Array) -> pa.Array:
    """Make a date of its parts; parts of no date are an error."""

    def made(year: int, month: int, day: int) -> int:
        found = days_of(year, month, day)
        if found is None:
            raise SparkTimeError(f"there is no day {year}-{month}-{day}")
        return found

    return by_distinct(made, pa.int32(), years, months, days).cast(call.gives)


@kernel
def text_to_date(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Read a date; other text is an error, or null if the parameter says so."""

    def read(text: str) -> int | None:
        found = parse_date(text)
        if found is None and not call.parameters:
            raise SparkTimeError(f"{text!r} is no date")
        return found

    return by_distinct(read, pa.int32(), texts).cast(call.gives)


@kernel
def text_to_time(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Read a time, in UTC unless the text has a zone; other text is an error."""

    def read(text: str) -> int | None:
        found = parse_time(text, zoned=call.gives.tz is not None)
        if found is None and not call.parameters:
            raise SparkTimeError(f"{text!r} is no time")
        return found

    return by_distinct(read, pa.int64(), texts).cast(call.gives)


@kernel
def date_to_text(call: KernelCall, dates: pa.Array) -> pa.Array:
    """Write a date as `yyyy-MM-dd`."""
    return by_distinct(date_text, call.gives, dates.cast(pa.int32()))


def date_text(days: int) -> str:
    """A date as Spark writes it: a sign before years of more than four digits."""
    year, month, day = civil(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""  # noqa: PLR2004
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


@kernel
def time_to_text(call: KernelCall, values: pa.Array) -> pa.Array:
    """Write a time as `yyyy-MM-dd HH:mm:ss`, with as many digits of a second as it has."""

    def shown(micros: int) -> str:
        days, rest = divmod(micros, _DAY_US)
        seconds, fraction = divmod(rest, _SECOND_US)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        digits = f".{fraction:06}".rstrip("0") if fraction else ""
        return f"{date_text(days)} {clock}{digits}"

    return by_distinct(shown, call.gives, values.cast(pa.int64()))


@kernel
def time_to_date(_: KernelCall, values: pa.Array) -> pa.Array:
    """Give the day of a time."""
    return where_valid(pa.array(_days(values).astype(np.int32)), values).cast(pa.date32())


@kernel
def date_to_time(call: KernelCall, dates: pa.Array) -> pa.Array:
    """Give the midnight with which a day begins."""
    return where_valid(pa.array(_days(dates) * _DAY_US), dates).cast(call.gives)


@kernel
def time_to_seconds(_: KernelCall, values: pa.Array) -> pa.Array:
    """Count the whole seconds since 1970, rounded down."""
    return where_valid(pa.array(np.floor_divide(_micros(values), _SECOND_US)), values)


@kernel
def time_to_whole_seconds(_: KernelCall, values: pa.Array) -> pa.Array:
    """Count the whole seconds since 1970, towards it."""
    micros = _micros(values)
    seconds = np.floor_divide(np.abs(micros), _SECOND_US) * np.sign(micros)
    return where_valid(pa.array(seconds), values)


@kernel
def time_to_units(call: KernelCall, values: pa.Array) -> pa.Array:
    """Count whole units since 1970, rounded down; the parameter is a unit in microseconds."""
    return where_valid(pa.array(np.floor_divide(_micros(values), int(call.parameters[0]))), values)


@kernel
def units_to_time(call: KernelCall, values: pa.Array) -> pa.Array:
    """Give the time so many units after 1970; an overflow is an error."""
    unit = pa.scalar(int(call.parameters[0]), pa.int64())
    return pc.multiply_checked(values.cast(pa.int64()), unit).cast(call.gives)


@kernel
def days_since_epoch(_: KernelCall, dates: pa.Array) -> pa.Array:
    """Count the days since 1970."""
    return dates.cast(pa.int32())


@kernel
def date_from_days(_: KernelCall, days: pa.Array) -> pa.Array:
    """Give the date so many days after 1970."""
    return days.cast(pa.int32()).cast(pa.date32())


@kernel
def months_between(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Count months between two times: a month has 31 days, and ends of months match."""

    def between(one: int, other: int) -> float:
        (first_day, first_rest), (second_day, second_rest) = (
            divmod(m, _DAY_US) for m in (one, other)
        )
        (y1, m1, d1), (y2, m2, d2) = civil(first_day), civil(second_day)
        months = float((y1 - y2) * 12 + m1 - m2)
        if d1 == d2 or (_is_month_end(first_day) and _is_month_end(second_day)):
            return months
        seconds_1, seconds_2 = first_rest // _SECOND_US, second_rest // _SECOND_US
        seconds = (d1 - d2) * 86_400 + seconds_1 - seconds_2
        exact = months + seconds / (31 * 86_400)
        if call.parameters[0] == "exact":
            return exact
        return float(np.floor(abs(exact) * 1e8 + 0.5) / 1e8 * np.sign(exact))

    return by_distinct(between, call.gives, left.cast(pa.int64()), right.cast(pa.int64()))


def _is_month_end(days: int) -> bool:
    return civil(days + 1)[2] == 1


_LETTERS = re.compile(r"yyyy|MM|dd|HH|mm|ss|[^A-Za-z']+|'[^']*'")


def is_plain_format(text: str) -> bool:
    """Whether a format has only the letters that mean one thing: yyyy, MM, dd, HH, mm, ss."""
    return bool(text) and "".join(_LETTERS.findall(text)) == text and "''" not in text


@kernel
def date_format(call: KernelCall, values: pa.Array) -> pa.Array:
    """Write a time in a plain format."""
    words = _LETTERS.findall(call.parameters[0])

    def shown(micros: int) -> str:
        days, rest = divmod(micros, _DAY_US)
        year, month, day = civil(days)
        if not 0 <= year <= 9999:  # noqa: PLR2004
            raise SparkTimeError(f"the year {year} is not written in four digits; run it on Spark")
        seconds = rest // _SECOND_US
        parts = {
            "yyyy": f"{year:04}",
            "MM": f"{month:02}",
            "dd": f"{day:02}",
            "HH": f"{seconds // 3600:02}",
            "mm": f"{seconds // 60 % 60:02}",
            "ss": f"{seconds % 60:02}",
        }
        return "".join(parts.get(word, word.strip("'")) for word in words)

    return by_distinct(shown, call.gives, values.cast(pa.int64()))
