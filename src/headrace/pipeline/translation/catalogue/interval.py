"""Catalogue of functions that take or return intervals."""

from collections.abc import Sequence

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Build, Entry, by_rule
from headrace.pipeline.translation.interval import minus, shifted
from headrace.pipeline.translation.interval_type import DAY_TO_SECOND, YEAR_TO_MONTH, Interval
from headrace.pipeline.translation.typed import Typed, call, literal_int, literal_micros

_SECONDS = pa.decimal128(18, 6)
_FIELDS = {
    "Y": "YEAR", "YR": "YEAR", "YRS": "YEAR", "YEAR": "YEAR", "YEARS": "YEAR",
    "MON": "MONTH", "MONS": "MONTH", "MONTH": "MONTH", "MONTHS": "MONTH",
    "D": "DAY", "DAY": "DAY", "DAYS": "DAY",
    "H": "HOUR", "HR": "HOUR", "HRS": "HOUR", "HOUR": "HOUR", "HOURS": "HOUR",
    "M": "MINUTE", "MIN": "MINUTE", "MINS": "MINUTE", "MINUTE": "MINUTE", "MINUTES": "MINUTE",
    "S": "SECOND", "SEC": "SECOND", "SECS": "SECOND", "SECOND": "SECOND", "SECONDS": "SECOND",
}  # fmt: skip
_FIELD_TYPES = {
    "YEAR": t.INT, "MONTH": t.BYTE, "DAY": t.INT, "HOUR": t.BYTE, "MINUTE": t.BYTE,
    "SECOND": pa.decimal128(8, 6),
}  # fmt: skip


def interval_part(part: str, value: Typed) -> Typed | None:
    """Return a field of an interval; None if it is not in the interval's range."""
    field = _FIELDS.get(part.upper())
    if field is None or not isinstance(value.type, Interval) or not value.type.covers(field):
        return None
    return call("interval_field", _FIELD_TYPES[field], value, parameters=(field,))


def _part(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    name, value = arguments
    return interval_part(name.value, value)


def _make_months(_: Casts, arguments: Sequence[Typed]) -> Typed:
    years, months = [*arguments, literal_int(0), literal_int(0)][:2]
    return call("make_months", YEAR_TO_MONTH, years, months, can_fail=True)


def _make_micros(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    whole = [*arguments[:3], *(literal_int(0) for _ in range(3 - len(arguments)))]
    seconds = arguments[3] if len(arguments) > 3 else literal_int(0)  # noqa: PLR2004
    second = casts.cast(seconds, _SECONDS)
    if second is None:
        return None
    return call("make_micros", DAY_TO_SECOND, *whole, second, can_fail=True)


def _absolute(_: Casts, arguments: Sequence[Typed]) -> Typed:
    return call("interval_absolute", arguments[0].type, arguments[0], can_fail=True)


def _sign(_: Casts, arguments: Sequence[Typed]) -> Typed:
    return call("interval_sign", t.DOUBLE, arguments[0])


def _bucket(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    families = {a.type.fields for a in arguments[:3] if isinstance(a.type, Interval)}
    if len(families) != 1:
        return None
    return call("interval_bucket", t.LONG, *arguments)


def _moved(sign: int) -> Build:
    """Add an interval to, or subtract it from, a date or time, for the `try_` functions."""

    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        value, interval = arguments
        if value.can_fail or interval.can_fail:  # Spark turns failures of both into null
            return None
        return shifted(casts, value, interval if sign > 0 else minus(interval))

    return build


def _moved_days(kernel: str) -> Build:
    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        date, days = arguments
        if date.can_fail or days.can_fail:
            return None
        count = None if days.type == t.LONG else casts.cast(days, t.INT)
        if date.type != t.DATE or count is None:
            return None
        return call(kernel, t.DATE, date, count, can_fail=True)

    return build


def _time_bucket(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Compile the start of a time's bucket; zones with clock changes are refused."""
    width, value = arguments[:2]
    has_no_zone = value.type == t.TIMESTAMP_NTZ or casts.clock.in_utc
    if not has_no_zone or not t.is_timestamp(value.type):
        return None
    if not width.is_literal or width.value is None or width.value <= 0:
        return None
    origin = arguments[2] if len(arguments) > 2 else literal_micros(0, value.type)  # noqa: PLR2004
    if origin.type != value.type or not origin.is_literal or origin.value is None:
        return None
    is_months = isinstance(width.type, Interval) and width.type.has_months
    kernel = "month_bucket" if is_months else "time_bucket"
    parameters = (str(width.value),)
    return call(kernel, value.type, value, origin, parameters=parameters, can_fail=True)


INTERVAL: list[Entry] = [
    *(by_rule(name, "STRING! INTERVAL", lambda _: t.INT, "kernel interval_field", _part)
      for name in ("date_part", "datepart")),
    by_rule("make_ym_interval", "[INT] [INT]", YEAR_TO_MONTH, "kernel make_months", _make_months),
    by_rule("make_dt_interval", "[INT] [INT] [INT] [NUMERIC]", DAY_TO_SECOND,
            "kernel make_micros", _make_micros),
    by_rule("abs", "INTERVAL", lambda types: types[0], "kernel interval_absolute", _absolute),
    *(by_rule(name, "INTERVAL", t.DOUBLE, "kernel interval_sign", _sign)
      for name in ("sign", "signum")),
    by_rule("width_bucket", "INTERVAL INTERVAL INTERVAL BIGINT", t.LONG, "kernel interval_bucket",
            _bucket),
    by_rule("try_add", "ANY INTEGER", t.DATE, "kernel date_add", _moved_days("date_add")),
    by_rule("try_subtract", "ANY INTEGER", t.DATE, "kernel date_subtract",
            _moved_days("date_subtract")),
    by_rule("try_add", "ANY INTERVAL", lambda types: types[0], "as +", _moved(1)),
    by_rule("try_subtract", "ANY INTERVAL", lambda types: types[0], "as -", _moved(-1)),
    by_rule("time_bucket", "INTERVAL ANY [ANY]", lambda types: types[1], "kernel time_bucket",
            _time_bucket),
]  # fmt: skip
