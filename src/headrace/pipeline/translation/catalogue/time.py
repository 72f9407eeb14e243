"""Catalogue of functions of dates and times, in the time zone of the session."""

from collections.abc import Sequence

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Build, Entry, by_kernel, by_rule
from headrace.pipeline.translation.catalogue.interval import interval_part
from headrace.pipeline.translation.typed import Typed, call, null_of

_DATE_PARTS = {
    "year": "year", "quarter": "quarter", "month": "month", "day": "day", "dayofmonth": "day",
    "dayofyear": "dayofyear", "dayofweek": "dayofweek", "weekday": "weekday",
    "weekofyear": "week",
}  # fmt: skip
EXTRACTED = {
    "y": "year", "yr": "year", "yrs": "year", "year": "year", "years": "year",
    "qtr": "quarter", "quarter": "quarter",
    "mon": "month", "mons": "month", "month": "month", "months": "month",
    "w": "week", "week": "week", "weeks": "week", "yearofweek": "yearofweek",
    "d": "day", "day": "day", "days": "day",
    "dow": "dayofweek", "dayofweek": "dayofweek",
    "dow_iso": "dayofweek_iso", "dayofweek_iso": "dayofweek_iso", "doy": "dayofyear",
    "h": "hour", "hr": "hour", "hrs": "hour", "hour": "hour", "hours": "hour",
    "m": "minute", "min": "minute", "mins": "minute", "minute": "minute", "minutes": "minute",
}  # fmt: skip
"""The fields of `extract` and `date_part` that are integers."""
_SECONDS = frozenset({"s", "sec", "secs", "second", "seconds"})
"""The field that is a decimal."""
_CLOCK = frozenset({"hour", "minute", "second"})
_TRUNCATED_DATE = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month",
    "mm": "month", "mon": "month", "week": "week",
}  # fmt: skip
_TRUNCATED_TIME = {
    **_TRUNCATED_DATE, "day": "day", "dd": "day", "hour": "hour", "minute": "minute",
    "second": "second", "millisecond": "millisecond", "microsecond": "microsecond",
}  # fmt: skip
_BELOW_OFFSETS = frozenset({"second", "millisecond", "microsecond"})
"""Units that truncate identically in every zone: offsets are whole seconds."""
_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (("mo", "mon", "monday"), ("tu", "tue", "tuesday"), ("we", "wed", "wednesday"),
         ("th", "thu", "thursday"), ("fr", "fri", "friday"), ("sa", "sat", "saturday"),
         ("su", "sun", "sunday")), 1)
    for name in names
}  # fmt: skip


def extract(casts: Casts, part: str, value: Typed) -> Typed | None:
    """Return a part of a date, a time or an interval."""
    if t.is_interval(value.type):
        return interval_part(part, value)
    if part.casefold() in _SECONDS:
        return _read_clock(casts, "time_seconds", pa.decimal128(8, 6), value)
    field = EXTRACTED.get(part.casefold())
    if field is None:
        return None
    if field in _CLOCK:
        return _read_clock(casts, "time_field", t.INT, value, field)
    day = value if value.type == t.DATE else casts.cast(value, t.DATE)
    return None if day is None else call("date_field", t.INT, day, parameters=(field,))


def _read_clock(
    casts: Casts, kernel: str, gives: pa.DataType, value: Typed, *parameters: str
) -> Typed | None:
    """Call a kernel over the local time of a value; dates and strings are cast first."""
    is_cast = value.type in (t.STRING, t.DATE, t.VOID)
    moment = casts.cast(value, t.TIMESTAMP) if is_cast else value
    if moment is None or not t.is_timestamp(moment.type):
        return None
    return casts.clock.read_parts(kernel, gives, moment, *parameters)


def _part(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    name, value = arguments
    return extract(casts, name.value, value)


def _clock(field: str) -> Build:
    return lambda casts, arguments: _read_clock(casts, "time_field", t.INT, arguments[0], field)


def _truncate_date(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    day, unit = arguments
    name = _TRUNCATED_DATE.get(unit.value.casefold())
    if name is None:
        return null_of(t.DATE)
    return call("date_truncate", t.DATE, day, parameters=(name,))


def _truncate_time(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    unit, value = arguments
    name = _TRUNCATED_TIME.get(unit.value.casefold())
    is_time = t.is_timestamp(value.type) or value.type in (t.STRING, t.DATE)
    instant = casts.cast(value, t.TIMESTAMP) if is_time else None
    if instant is None:
        return None
    if name is None:
        return null_of(t.TIMESTAMP)
    if name in _BELOW_OFFSETS:
        return call("time_truncate", t.TIMESTAMP, instant, parameters=(name,))
    return casts.clock.read_parts("time_truncate", t.TIMESTAMP, instant, name)


def _next_day(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    number = _WEEKDAYS.get(arguments[1].value.casefold())
    if number is None:
        return None
    return call("next_day", t.DATE, arguments[0], parameters=(str(number),))


def _units(micros: int, kind: pa.DataType = t.TIMESTAMP) -> Build:
    return lambda _, a: call("units_to_time", kind, a[0], parameters=(str(micros),), can_fail=True)


def _unix_date(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Return days since 1970; Spark does not cast to a date here."""
    if arguments[0].type != t.DATE:
        return None
    return call("days_since_epoch", t.INT, arguments[0])


def _of_decimal(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    kind = arguments[0].type
    if kind.scale > 6:  # noqa: PLR2004
        return None
    return call("decimal_to_time", t.TIMESTAMP, arguments[0], can_fail=True)


def _to_units(micros: int) -> Build:
    """Return whole units since 1970; Spark does not cast to a time here."""

    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        if not t.is_timestamp(arguments[0].type):
            return None
        return call("time_to_units", t.LONG, arguments[0], parameters=(str(micros),))

    return build


def _months_between(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    rounds = len(arguments) < 3 or arguments[2].value is True  # noqa: PLR2004
    mode = "rounded" if rounds else "exact"
    if casts.clock.zone is None:
        return None
    parameters = (mode, casts.clock.name)
    return call("months_between", t.DOUBLE, *arguments[:2], parameters=parameters, can_fail=True)


def _cast_to(kind: pa.DataType) -> Build:
    return lambda casts, arguments: casts.cast(arguments[0], kind)


_SINCE_EPOCH_US = {
    "unix_seconds": 1_000_000, "unix_millis": 1_000, "unix_micros": 1,
}  # fmt: skip
"""Functions that count units since 1970, with the unit in microseconds."""

TIME: list[Entry] = [
    *(by_kernel(name, "DATE", t.INT, "date_field", part) for name, part in _DATE_PARTS.items()),
    *(by_rule(name, "ANY", t.INT, "kernel time_field", _clock(name))
      for name in ("hour", "minute", "second")),
    *(by_rule(n, "STRING! ANY", t.INT, "kernels date_field, time_field", _part)
      for n in ("date_part", "datepart")),
    *(by_kernel(n, "DATE INT", t.DATE, "date_add", can_fail=True) for n in ("date_add", "dateadd")),
    by_kernel("date_sub", "DATE INT", t.DATE, "date_subtract", can_fail=True),
    *(by_kernel(n, "DATE DATE", t.INT, "days_between") for n in ("datediff", "date_diff")),
    by_kernel("add_months", "DATE INT", t.DATE, "add_months", can_fail=True),
    by_kernel("last_day", "DATE", t.DATE, "last_day"),
    by_rule("next_day", "DATE STRING!", t.DATE, "kernel next_day", _next_day),
    by_rule("trunc", "DATE STRING!", t.DATE, "kernel date_truncate", _truncate_date),
    by_rule("date_trunc", "STRING! ANY", t.TIMESTAMP, "kernel time_truncate", _truncate_time),
    by_rule("date", "ANY", t.DATE, "CAST", _cast_to(t.DATE)),
    by_rule("timestamp", "ANY", t.TIMESTAMP, "CAST", _cast_to(t.TIMESTAMP)),
    *(by_rule(name, "ANY", t.LONG, "kernel time_to_units", _to_units(micros))
      for name, micros in _SINCE_EPOCH_US.items()),
    by_kernel("dayname", "DATE", t.STRING, "date_name", "weekday"),
    by_kernel("monthname", "DATE", t.STRING, "date_name", "month"),
    by_rule("unix_date", "ANY", t.INT, "kernel days_since_epoch", _unix_date),
    by_kernel("date_from_unix_date", "INT", t.DATE, "date_from_days"),
    by_rule("timestamp_seconds", "INTEGER", t.TIMESTAMP, "kernel units_to_time", _units(1_000_000)),
    by_rule("timestamp_seconds", "DECIMAL", t.TIMESTAMP, "kernel decimal_to_time", _of_decimal),
    by_rule("timestamp_millis", "INTEGER", t.TIMESTAMP, "kernel units_to_time", _units(1_000)),
    by_rule("timestamp_micros", "INTEGER", t.TIMESTAMP, "kernel units_to_time", _units(1)),
    by_rule("months_between", "TIMESTAMP TIMESTAMP [BOOLEAN!]", t.DOUBLE, "kernel months_between",
            _months_between),
]  # fmt: skip
