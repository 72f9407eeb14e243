"""Time zones with Java's rules: the offset of every instant, for any year.

The package contains the rules of Java's own tables, so that they are the same on every machine.
Python's `zoneinfo` reads the tables of the machine, and ends at the year 9999.
"""

import gzip
import re
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import numpy as np

_CYCLE_YEARS = 400
_CYCLE_SECONDS = 146_097 * 86_400
"""The calendar, with its days of the week, repeats after this time."""
_MAX_OFFSET = 18 * 3600
_ONE_DIGIT_HOUR = re.compile(r"([+-])(\d):", re.ASCII)
_ONE_DIGIT_MINUTE = re.compile(r"([+-])(\d\d):(\d)$", re.ASCII)
_OFFSET = re.compile(
    r"([+-])(?:(\d)|(\d\d)(?:(\d\d)(\d\d)?|:(\d\d)(?::(\d\d))?)?)", re.ASCII
)  # fmt: skip
_PREFIXED = re.compile(r"(UTC|GMT|UT)([+-].*)")


class Zone:
    """The offsets of a zone: `offsets[i]` is valid from `moments[i - 1]` to `moments[i]`.

    All are in seconds. With yearly rules, the moments cover one whole cycle of the calendar after
    `repeats_from`.
    """

    def __init__(self, first: int, moments: Any, offsets: Any, yearly: list[list[int]]) -> None:
        """Take the rules as Java has them."""
        later, after = _yearly_moments(int(moments[-1]), yearly) if yearly else ([], [])
        self.moments = np.array([*moments, *later], np.int64)
        self.offsets = np.array([first, *offsets, *after], np.int64)
        self.boundaries = self.moments + np.maximum(self.offsets[:-1], self.offsets[1:])
        """The local times from which only the later offset is valid."""
        self.repeats_from = int(moments[-1]) + 2 * 366 * 86_400 if yearly else None

    def offset_at(self, seconds: Any) -> Any:
        """Return the offsets at instants, in seconds since 1970."""
        return self.offsets[np.searchsorted(self.moments, self._folded(seconds), side="right")]

    def moment_of(self, local: Any) -> Any:
        """Return the instants of local times, in seconds.

        A time that occurs twice maps to the earlier instant; a skipped time moves by the gap.
        """
        places = np.searchsorted(self.boundaries, self._folded(local), side="right")
        return local - self.offsets[places]

    def start_of_day(self, local: Any) -> Any:
        """Return the first instants of days, in seconds; a skipped midnight is its gap's end."""
        moments = self.moment_of(local)
        skipped = moments + self.offset_at(moments) != local
        if not skipped.any():
            return moments
        folded = self._folded(local)
        places = np.searchsorted(self.boundaries, folded, side="right")
        ends = self.moments[np.minimum(places, len(self.moments) - 1)] + (local - folded)
        return np.where(skipped, ends, moments)

    def moment_near(self, local: Any, preferred: Any) -> Any:
        """Return the instants of local times; one that occurs twice gets the preferred offset."""
        candidate = local - preferred
        return np.where(self.offset_at(candidate) == preferred, candidate, self.moment_of(local))

    def _folded(self, seconds: Any) -> Any:
        if self.repeats_from is None:
            return seconds
        cycles = np.maximum(np.floor_divide(seconds - self.repeats_from, _CYCLE_SECONDS), 0)
        return seconds - cycles * _CYCLE_SECONDS


def _yearly_moments(last: int, yearly: list[list[int]]) -> tuple[list[int], list[int]]:
    """Return what yearly rules add after the last explicit moment."""
    year = int(np.datetime64(last, "s").astype("datetime64[Y]").astype(np.int64)) + 1970
    transitions = sorted(
        (_rule_moment(some_year, *rule[:4]), rule[4])
        for some_year in range(year, year + _CYCLE_YEARS + 4)
        for rule in yearly
    )
    later = [(moment, offset) for moment, offset in transitions if moment > last]
    return [moment for moment, _ in later], [offset for _, offset in later]


def _rule_moment(year: int, month: int, day: int, weekday: int, seconds: int) -> int:
    """Return the instant of a rule such as "the last Sunday of March, 1:00 UTC"."""
    number = (year - 1970) * 12 + month - 1
    months = np.array([number, number + 1], "datetime64[M]")
    first, end = map(int, months.astype("datetime64[D]").astype(np.int64))
    days = end + day if day < 0 else first + day - 1
    if weekday:
        shift = (weekday - 1 - (days + 3)) % 7
        days += shift - 7 if day < 0 and shift else shift
    return days * 86_400 + seconds


class _Tables(msgspec.Struct):
    version: str
    zones: dict[str, int]
    aliases: dict[str, str]
    rules: list[tuple[int, list[int], list[int], list[list[int]]]]


@cache
def _tables() -> _Tables:
    packed = files("headrace.pipeline.translation").joinpath("zone_rules.json.gz").read_bytes()
    return msgspec.json.decode(gzip.decompress(packed), type=_Tables)


def zone_names() -> list[str]:
    """Return the names of all zones with their own rules."""
    return sorted(_tables().zones)


@cache
def find_zone(name: str) -> Zone | None:
    """Return the zone that Spark means by a name or an offset; None if there is none."""
    name = _ONE_DIGIT_HOUR.sub(r"\g<1>0\2:", name, count=1)
    name = _ONE_DIGIT_MINUTE.sub(r"\1\2:0\3", name, count=1)
    tables = _tables()
    name = tables.aliases.get(name, name)
    prefixed = _PREFIXED.fullmatch(name)
    if name in {"Z", "UTC", "GMT", "UT"}:
        return _fixed(0)
    if prefixed or name[:1] in {"+", "-"}:
        offset = _parse_offset(prefixed[2] if prefixed else name)
        return None if offset is None else _fixed(offset)
    place = tables.zones.get(name)
    return None if place is None else Zone(*tables.rules[place])


def _fixed(offset: int) -> Zone:
    return Zone(offset, [], [], [])


def _parse_offset(text: str) -> int | None:
    match = _OFFSET.fullmatch(text)
    if match is None:
        return None
    hours = int(match[2] or match[3])
    minutes, seconds = int(match[4] or match[6] or 0), int(match[5] or match[7] or 0)
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _MAX_OFFSET:  # noqa: PLR2004
        return None
    return -total if match[1] == "-" else total
