"""Translates functions whose first argument is a unit, such as `timestampadd(HOUR, 1, ts)`."""

from collections.abc import Sequence

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.evaluation import in_order
from headrace.pipeline.translation.interval import shifted, unit_interval
from headrace.pipeline.translation.typed import Typed, call

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_MICROS = {
    "MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000, "DAY": 86_400_000_000, "WEEK": 604_800_000_000,
}  # fmt: skip
_ADDING = frozenset({"dateadd", "date_add", "timestampadd"})
_COUNTING = frozenset({"datediff", "date_diff", "timestampdiff"})
_ARGUMENT_COUNT = 3
"""The number of arguments of a call with a unit."""


def takes_unit(name: str, count: int) -> bool:
    """Return whether the first argument of a call is a unit."""
    return count == _ARGUMENT_COUNT and name in _ADDING | _COUNTING


def call_with_unit(casts: Casts, name: str, unit: str, values: Sequence[Typed]) -> Typed | None:
    """Compile a call whose first argument is a unit; None if the catalogue does not have it."""
    unit = "DAY" if unit.upper() == "DAYOFYEAR" and name in _ADDING else unit.upper()
    if unit not in _MONTHS and unit not in _MICROS:
        return None
    return _add(casts, unit, values) if name in _ADDING else _count(casts, unit, values)


def _time(casts: Casts, value: Typed) -> Typed | None:
    if t.is_timestamp(value.type):
        return value
    return casts.cast(value, t.TIMESTAMP) if value.type in (t.DATE, t.STRING) else None


def _add(casts: Casts, unit: str, values: Sequence[Typed]) -> Typed | None:
    count, value = values
    time = _time(casts, value)
    if time is None or not t.is_integer(count.type):
        return None
    has_months = unit in _MONTHS
    size = _MONTHS[unit] if has_months else _MICROS[unit]
    interval = unit_interval(count, size, has_months=has_months)
    if not has_months and size < _MICROS["DAY"]:  # elapsed time, not local time
        return call("time_shift", time.type, time, interval, can_fail=True)
    return shifted(casts, time, interval)


def _instant(casts: Casts, value: Typed) -> Typed | None:
    """Return a time as an instant; a skipped local time moves by the gap."""
    time = _time(casts, value)
    return None if time is None else casts.cast(time, t.TIMESTAMP)


def _count(casts: Casts, unit: str, values: Sequence[Typed]) -> Typed | None:
    first, last = (_instant(casts, value) for value in in_order(*values))
    zone = casts.clock.zone_of(t.TIMESTAMP)
    if first is None or last is None or zone is None:
        return None
    if unit in _MONTHS:
        parameters = (str(_MONTHS[unit]), *zone)
        return call("months_from", t.LONG, first, last, parameters=parameters)
    parameters = (str(_MICROS[unit]), *zone)
    return call("units_from", t.LONG, first, last, parameters=parameters, can_fail=True)
