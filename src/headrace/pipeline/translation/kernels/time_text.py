"""Kernels for dates and times as text, in the forms that casts read and write."""

import re

import numpy as np
import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import by_distinct, where_valid
from headrace.pipeline.translation.kernels.time import SparkTimeError, civil, days_of
from headrace.pipeline.translation.kernels.time_zone import known_zone, local_parts
from headrace.pipeline.translation.zone import Zone, find_zone

_BLANK = "".join(map(chr, range(33))) + "\x7f"
_DAY_US = 86_400_000_000
_SECOND_US = 1_000_000
_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL | re.ASCII)
_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?\s*([^\d\s.:].*)?)?)?"
_TIME = re.compile(
    rf"([+-]?\d{{4,6}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[ T]{_CLOCK})?)?)?", re.DOTALL | re.ASCII
)
_CLOCK_ONLY = re.compile(rf"(?:T|(?=\d+:)){_CLOCK}", re.DOTALL | re.ASCII)
_MIN, _MAX = -(1 << 63), (1 << 63) - 1


def parse_date(text: str) -> int | None:
    """Return the days of a text that Spark casts to a date; None if it is not a date."""
    match = _DATE.fullmatch(text.strip(_BLANK))
    if match is None:
        return None
    days = days_of(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    return days if days is None or -(1 << 31) <= days < 1 << 31 else None


def is_clock_only(text: str) -> bool:
    """Return whether a text may be a time without a date, which means a time of today."""
    return _CLOCK_ONLY.fullmatch(text.strip(_BLANK)) is not None


def parse_time(text: str) -> tuple[int, Zone | None] | None:
    """Return the local microseconds of a text that Spark casts to a time, and its named zone.

    None if it is not a time.
    """
    match = _TIME.fullmatch(text.strip(_BLANK))
    if match is None:
        return None
    days = days_of(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    hour, minute, second = (int(match[place] or 0) for place in (4, 5, 6))
    if days is None or hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004
        return None
    micros = int((match[7] or "")[:6].ljust(6, "0"))
    seconds = hour * 3600 + minute * 60 + second
    total = days * _DAY_US + seconds * _SECOND_US + micros
    name = (match[8] or "").strip(_BLANK)
    zone = find_zone(name) if name else None
    return None if name and zone is None else (total, zone)


def moment(text: str, zone: Zone | None) -> int | None:
    """Return the microseconds since 1970 of a text; without its own zone, it is in `zone`.

    None if it is not a time. If `zone` is None, the time is local, and a zone in the text is
    ignored.
    """
    parsed = parse_time(text)
    if parsed is None:
        return None
    micros, named_zone = parsed
    if zone is not None:
        seconds, fraction = divmod(micros, _SECOND_US)
        micros = (
            int((named_zone or zone).moment_of(np.array(seconds, np.int64))) * _SECOND_US + fraction
        )
    return micros if _MIN <= micros <= _MAX else None


@kernel
def text_to_date(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Parse a date; other text is an error, or null if the parameter says so."""

    def read(text: str) -> int | None:
        days = parse_date(text)
        if days is None and not call.parameters:
            raise SparkTimeError(f"{text!r} is not a date")
        return days

    return by_distinct(read, pa.int32(), texts).cast(call.gives)


@kernel
def text_to_time(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Parse a time; other text is an error, or null if a parameter says so.

    The first parameter is the zone of texts without one; it is empty if the result is a local time.
    """
    zone = known_zone(call.parameters[0]) if call.parameters[0] else None

    def read(text: str) -> int | None:
        if zone is not None and is_clock_only(text):
            raise SparkTimeError(f"{text!r} is a time of today; run it on Spark")
        micros = moment(text, zone)
        if micros is None and len(call.parameters) == 1:
            raise SparkTimeError(f"{text!r} is not a time")
        return micros

    return by_distinct(read, pa.int64(), texts).cast(call.gives)


@kernel
def date_to_text(call: KernelCall, dates: pa.Array) -> pa.Array:
    """Format a date as `yyyy-MM-dd`."""
    return by_distinct(date_text, call.gives, dates.cast(pa.int32()))


def date_text(days: int) -> str:
    """Format a date as Spark does: with a sign before years of more than four digits."""
    year, month, day = civil(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""  # noqa: PLR2004
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


@kernel
def time_to_text(call: KernelCall, values: pa.Array) -> pa.Array:
    """Format a time as `yyyy-MM-dd HH:mm:ss`, with as many fractional digits as it has."""

    def shown(days: int, within: int) -> str:
        seconds, fraction = divmod(within, _SECOND_US)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        digits = f".{fraction:06}".rstrip("0") if fraction else ""
        return f"{date_text(days)} {clock}{digits}"

    parts = (where_valid(pa.array(part), values) for part in local_parts(values, call.parameters))
    return by_distinct(shown, call.gives, *parts)
