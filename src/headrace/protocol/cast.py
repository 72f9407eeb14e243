"""Cast text to Python values as Spark does, for partition values and string literals.

Every `parse_*` function raises `ValueError` for text that is not of its type, and
`UnrepresentableError` for text that Spark accepts but that no Python value can hold.
"""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

_BLANK = "".join(map(chr, range(0x21))) + "\x7f"
_TRUE = frozenset(("true", "t", "yes", "y", "1"))
_FALSE = frozenset(("false", "f", "no", "n", "0"))
_SPECIAL_FLOATS = {
    f"{sign}{name}": float(f"{sign}{value}")
    for sign in ("", "+", "-")
    for name, value in (("inf", "inf"), ("infinity", "inf"), ("nan", "nan"))
    if name != "nan" or not sign
}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
_YEAR = r"(?P<year>[+-]?[0-9]{4,7})"
_DAY = rf"{_YEAR}(?:-(?P<month>[0-9]{{1,2}})(?:-(?P<day>[0-9]{{1,2}})%s)?)?"
_DATE = re.compile(_DAY % "(?:[ T].*)?", re.DOTALL)
_ZONE = r"Z|[+-][0-9]{1,2}(?::?[0-9]{2}){0,2}|[A-Za-z][A-Za-z0-9_+\-/:]*"
_TIME = (
    r"(?:[ T](?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})"
    rf"(?::(?P<second>[0-9]{{1,2}})(?:\.(?P<fraction>[0-9]*))?)?\ *(?P<zone>{_ZONE})?)?"
)
_TIMESTAMP = re.compile(_DAY % _TIME)
_OFFSET = re.compile(r"([+-])([0-9]{1,2})(?::?([0-9]{2}))?(?::?([0-9]{2}))?")
_WIDEST_OFFSET = timedelta(hours=18)


class UnrepresentableError(ValueError):
    """The text is valid in Spark, but no Python value can hold its value."""


def parse_boolean(text: str) -> bool:
    """Parse `true`, `f`, `yes`, `0` and the like."""
    folded = text.strip(_BLANK).lower()
    if folded in _TRUE:
        return True
    if folded in _FALSE:
        return False
    raise ValueError(f"{text!r} is not a boolean")


def parse_integer(text: str) -> int:
    """Parse an integer of any size."""
    return int(_matched(_INTEGER, text, "an integer").group())


def parse_float(text: str) -> float:
    """Parse a double; `NaN` and the infinities are case-insensitive."""
    stripped = text.strip(_BLANK)
    special = _SPECIAL_FLOATS.get(stripped.lower())
    return special if special is not None else float(_matched(_NUMBER, text, "a number").group())


def parse_decimal(text: str) -> Decimal:
    """Parse an exact number."""
    return Decimal(_matched(_NUMBER, text, "a number").group())


def parse_date(text: str) -> date:
    """Parse a date; as in Spark, a time after it is ignored."""
    return _date(_matched(_DATE, text, "a date"))


def parse_timestamp(text: str) -> datetime:
    """Parse a timestamp to microseconds: aware if the text names a zone, else naive."""
    match = _matched(_TIMESTAMP, text, "a timestamp")
    fraction = (match["fraction"] or "")[:6].ljust(6, "0")
    day = _date(match)
    return datetime(
        day.year,
        day.month,
        day.day,
        int(match["hour"] or 0),
        int(match["minute"] or 0),
        int(match["second"] or 0),
        int(fraction),
        tzinfo=None if match["zone"] is None else parse_offset(match["zone"]),
    )


def parse_offset(text: str) -> timezone:
    """Parse a zone that is an offset from UTC, such as `Z`, `+01:00` or `UTC-5`.

    Raises:
        UnrepresentableError: the zone is the name of a region.
    """
    offset = text
    for prefix in ("UTC", "GMT", "UT", "Z"):
        if text.startswith(prefix):
            offset = text.removeprefix(prefix)
            break
    if not offset:
        return UTC
    match = _OFFSET.fullmatch(offset)
    if match is None:
        raise UnrepresentableError(f"the zone {text!r} is not an offset")
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    width = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if width > _WIDEST_OFFSET or max(minutes, seconds) > 59:  # noqa: PLR2004 - minutes of an hour
        raise ValueError(f"there is no zone offset {text!r}")
    return timezone(-width if match[1] == "-" else width)


def as_instant(moment: datetime) -> datetime:
    """Convert a timestamp to UTC; one without a zone is taken as UTC."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise UnrepresentableError(f"{moment} is outside the range of Python's datetime") from error


def unscaled(value: Decimal, *, scale: int) -> tuple[int, bool]:
    """Return the number in units of `10**-scale`, rounded down, and whether that is exact."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is not a number")  # noqa: TRY004 - a value, not a type
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    shift = exponent + scale
    if shift >= 0:
        return whole * 10**shift, True
    units, remainder = divmod(whole, 10**-shift)
    return units, remainder == 0


def from_unscaled(units: int, *, scale: int) -> Decimal:
    """Return exactly `units * 10**-scale`, whatever the decimal context."""
    return Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -scale))


def _matched(pattern: re.Pattern[str], text: str, kind: str) -> re.Match[str]:
    match = pattern.fullmatch(text.strip(_BLANK))
    if match is None:
        raise ValueError(f"{text!r} is not {kind}")
    return match


def _date(match: re.Match[str]) -> date:
    year, month, day = int(match["year"]), int(match["month"] or 1), int(match["day"] or 1)
    if not date.min.year <= year <= date.max.year:
        raise UnrepresentableError(f"the year {year} is outside the range of Python's dates")
    return date(year, month, day)
