"""Translates interval literals, and arithmetic of dates, times and intervals.

Functions return None for forms and types that have no proven translation.
"""

import re

import msgspec
from sqlglot import exp

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.interval_type import (
    DAY,
    DAY_TO_SECOND,
    YEAR_TO_MONTH,
    Interval,
    wider,
)
from headrace.pipeline.translation.kernels.time import shifted_days
from headrace.pipeline.translation.typed import Typed, call, literal_days, literal_int, sql_cast

_DAY_US = 86_400_000_000
_UNITS_US = {
    "DAY": _DAY_US, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000,
}  # fmt: skip
_WHOLE_UNITS: dict[str, tuple[int, Interval]] = {
    "YEAR": (12, Interval("YEAR", "YEAR")), "MONTH": (1, Interval("MONTH", "MONTH")),
    "WEEK": (7 * _DAY_US, DAY),
    **{unit: (micros, Interval(unit, unit)) for unit, micros in _UNITS_US.items()},
    "MILLISECOND": (1000, Interval("SECOND", "SECOND")),
    "MICROSECOND": (1, Interval("SECOND", "SECOND")),
}  # fmt: skip
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_SECONDS = re.compile(r"([+-]?)(\d{1,12})(?:\.(\d{1,9}))?", re.ASCII)
_YEARS = re.compile(r"([+-]?)(\d{1,9})-(\d{1,2})", re.ASCII)
_SEPARATORS = {"HOUR": " ", "MINUTE": ":", "SECOND": ":"}
_MAX = {"HOUR": 23, "MINUTE": 59, "SECOND": 59}


def literal_interval(node: exp.Interval) -> Typed | None:
    """Return a written interval; None if it is not a literal of a proven form."""
    unit, amount, sign = node.args.get("unit"), node.this, 1
    if isinstance(amount, exp.Neg):
        amount, sign = amount.this, -1
    if not isinstance(amount, exp.Literal):
        return None
    text = amount.name.strip(" ")
    if isinstance(unit, exp.IntervalSpan):
        first, last = unit.this.name.upper(), unit.expression.name.upper()
        return _span(text, first, last, sign)
    if not isinstance(unit, exp.Var):
        return None
    return _single(text, unit.name.upper().removesuffix("S"), sign)


def _single(text: str, unit: str, sign: int) -> Typed | None:
    if unit == "SECOND":
        match = _SECONDS.fullmatch(text)
        if match is None:
            return None
        micros = int(match[2]) * 1_000_000 + int((match[3] or "")[:6].ljust(6, "0"))
        return _number(-sign * micros if match[1] == "-" else sign * micros, _WHOLE_UNITS[unit][1])
    if unit not in _WHOLE_UNITS or not _WHOLE.fullmatch(text):
        return None
    size, kind = _WHOLE_UNITS[unit]
    return _number(sign * int(text) * size, kind)


def _span(text: str, first: str, last: str, sign: int) -> Typed | None:
    """Parse an interval of several fields, such as `1 02:03` DAY TO MINUTE."""
    if (first, last) == ("YEAR", "MONTH"):
        match = _YEARS.fullmatch(text)
        if match is None or int(match[3]) > 11:  # noqa: PLR2004
            return None
        months = int(match[2]) * 12 + int(match[3])
        return _number(-sign * months if match[1] == "-" else sign * months, YEAR_TO_MONTH)
    fields = list(_UNITS_US)
    if first not in fields or last not in fields or fields.index(first) >= fields.index(last):
        return None
    lower = fields[fields.index(first) + 1 : fields.index(last) + 1]
    pattern = r"([+-]?)(\d{1,9})" + "".join(rf"{_SEPARATORS[field]}(\d{{1,2}})" for field in lower)
    pattern += r"(?:\.(\d{1,9}))?" if last == "SECOND" else "()"
    match = re.fullmatch(pattern, text, re.ASCII)
    if match is None:
        return None
    total = int(match[2]) * _UNITS_US[first]
    for field, digits in zip(lower, match.groups()[2:], strict=False):
        if int(digits) > _MAX[field]:
            return None
        total += int(digits) * _UNITS_US[field]
    total += int((match.groups()[-1] or "")[:6].ljust(6, "0"))
    return _number(-sign * total if match[1] == "-" else sign * total, Interval(first, last))


def _number(value: int, kind: Interval) -> Typed | None:
    """Return a literal; its text differs from that of a plain number, which may be a group key."""
    storage = kind.storage_type
    if not -(1 << (storage.bit_width - 1)) <= value < 1 << (storage.bit_width - 1):
        return None
    return Typed(f"({sql_cast(str(value), storage)})", kind, is_literal=True, value=value)


def interval_arithmetic(casts: Casts, operator: str, left: Typed, right: Typed) -> Typed | None:
    """Compile `+`, `-` and `*` with an interval, and differences of dates and times."""
    if operator == "*":
        return _times(left, right) or _times(right, left)
    if isinstance(left.type, Interval) and isinstance(right.type, Interval):
        return _sum(operator, left, right)
    if operator == "+" and isinstance(left.type, Interval):
        left, right = right, left
    if isinstance(right.type, Interval):
        return shifted(casts, left, right if operator == "+" else minus(right))
    return _difference(casts, left, right) if operator == "-" else None


def minus(value: Typed) -> Typed | None:
    """Negate an interval."""
    if not isinstance(value.type, Interval):
        return None
    if value.is_literal and value.value is not None:
        return _number(-value.value, value.type)
    return call("negate", value.type, value, can_fail=True)


def _sum(operator: str, left: Typed, right: Typed) -> Typed | None:
    if not isinstance(left.type, Interval) or not isinstance(right.type, Interval):
        return None
    kind = wider(left.type, right.type)
    if kind is None:
        return None
    if all(side.is_literal and side.value is not None for side in (left, right)):
        sign = 1 if operator == "+" else -1
        return _number(left.value + sign * right.value, kind)
    kernel = "add" if operator == "+" else "subtract"
    return call(kernel, kind, left, right, can_fail=True)


def _times(interval: Typed, count: Typed) -> Typed | None:
    """Multiply an interval by a count."""
    if not isinstance(interval.type, Interval) or not t.is_integer(count.type):
        return None
    kind = YEAR_TO_MONTH if interval.type.has_months else DAY_TO_SECOND
    return call("interval_times", kind, interval, count, can_fail=True)


def shifted(casts: Casts, value: Typed, interval: Typed | None) -> Typed | None:
    """Add an interval to a date or time."""
    if interval is None or not isinstance(interval.type, Interval):
        return None
    if value.type == t.DATE:
        if interval.type.has_months or interval.type == DAY:
            return _shifted_date(value, interval)
        cast = casts.cast(value, t.TIMESTAMP)
        return None if cast is None else shifted(casts, cast, interval)
    if not t.is_timestamp(value.type):
        return None
    kernel = "time_add_months" if interval.type.has_months else "time_add_days"
    zone = casts.clock.zone_of(value.type)
    if zone is None:
        return None
    moved = call(kernel, value.type, value, interval, parameters=zone, can_fail=True)
    if interval.type.has_months:
        return moved
    return call("time_add_clock", value.type, moved, interval, can_fail=True)


def _shifted_date(value: Typed, interval: Typed) -> Typed:
    if interval.is_literal and interval.value is not None:
        months = interval.value if interval.type.has_months else 0
        days = 0 if interval.type.has_months else interval.value // _DAY_US
        if value.is_literal and value.value is not None:  # a literal can prune files
            return literal_days(shifted_days(value.value, months) + days)
        if interval.type.has_months:
            return call("add_months", t.DATE, value, literal_int(months), can_fail=True)
        return call("date_add", t.DATE, value, literal_int(days), can_fail=True)
    if interval.type.has_months:
        return call("add_months", t.DATE, value, _as_number(interval), can_fail=True)
    days_of = call("interval_field", t.INT, interval, parameters=("DAY",))
    return call("date_add", t.DATE, value, days_of, can_fail=True)


def _as_number(interval: Typed) -> Typed:
    """Return the integer that represents an interval."""
    return msgspec.structs.replace(interval, type=interval.type.storage_type)


def _difference(casts: Casts, left: Typed, right: Typed) -> Typed | None:
    """Subtract the second from the first: dates in days, everything else in microseconds."""
    if left.type == right.type == t.DATE:
        days = call("days_between", t.INT, left, right, can_fail=True)
        return call("days_to_interval", DAY, days)
    kinds = {left.type, right.type}
    if kinds - {t.DATE, t.TIMESTAMP} and kinds - {t.DATE, t.TIMESTAMP_NTZ}:
        return None
    to = t.TIMESTAMP if t.TIMESTAMP in kinds else t.TIMESTAMP_NTZ
    sides = [casts.cast(side, to) for side in (left, right)]
    zone = casts.clock.zone_of(to)
    if sides[0] is None or sides[1] is None or zone is None:
        return None
    return call(
        "time_difference", DAY_TO_SECOND, sides[0], sides[1], parameters=zone, can_fail=True
    )


def unit_interval(count: Typed, size: int, *, has_months: bool) -> Typed:
    """Return the interval of `count` units, each of `size` months or microseconds."""
    kind = YEAR_TO_MONTH if has_months else DAY_TO_SECOND
    unit = Typed(sql_cast(str(size), t.LONG), t.LONG, is_literal=True, value=size)
    return call("interval_times", kind, unit, count, can_fail=True)
