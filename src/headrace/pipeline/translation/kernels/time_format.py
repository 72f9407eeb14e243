"""Kernels that format and parse times in Java's patterns.

A pattern is supported only if every letter in it is proven to mean the same here. Spark reads `y`
as the proleptic year, so the year before 1 is 0.
"""

import re
from collections.abc import Sequence

import msgspec
import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import by_distinct, where_valid
from headrace.pipeline.translation.kernels.time import SparkTimeError, civil, days_of
from headrace.pipeline.translation.kernels.time_zone import local_parts

_DAY_US = 86_400_000_000
_SECOND_US = 1_000_000
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WRITABLE = {
    "y": 6, "M": 4, "d": 2, "D": 3, "E": 4, "a": 1, "H": 2, "h": 2, "k": 2, "K": 2, "m": 2,
    "s": 2, "S": 9,
}  # fmt: skip
"""How often each letter may be repeated in a pattern for formatting."""
_READABLE = {
    "yyyy": r"(\d{4}|\+\d{5,19}|-\d{4,19})", "y": r"(-?\d{1,19})",
    "MM": r"(\d\d)", "dd": r"(\d\d)", "HH": r"(\d\d)", "mm": r"(\d\d)", "ss": r"(\d\d)",
    "M": r"(-?\d{1,19})", "d": r"(-?\d{1,19})", "H": r"(-?\d{1,19})", "m": r"(-?\d{1,19})",
    "s": r"(-?\d{1,19})",
}  # fmt: skip
"""The digits that each word of a pattern for parsing accepts."""
_ORDER = "yMdHmsS"
_MAX_YEAR_DIGITS = 6
_TOKEN = re.compile(r"''|'((?:[^']|'')+)'|([A-Za-z])\2*|[^A-Za-z'\[\]{}#]")


class Word(msgspec.Struct, frozen=True):
    """A part of a pattern: a repeated letter, or literal text."""

    letter: str
    count: int
    text: str


def split_pattern(pattern: str) -> tuple[Word, ...] | None:
    """Return the words of a pattern; None if it has a character with a special meaning."""
    words, place = [], 0
    while place < len(pattern):
        match = _TOKEN.match(pattern, place)
        if match is None:
            return None
        place = match.end()
        if match[2]:
            words.append(Word(match[2], len(match[0]), match[0]))
        elif match[0] == "''":
            words.append(Word("", 0, "'"))
        else:
            words.append(Word("", 0, match[1].replace("''", "'") if match[1] else match[0]))
    return tuple(words)


def can_write(pattern: str) -> bool:
    """Return whether `date_format` is proven for a pattern."""
    words = split_pattern(pattern)
    return bool(words) and all(
        not word.letter or word.count <= _WRITABLE.get(word.letter, 0) for word in words or ()
    )


def written(words: Sequence[Word], micros: int) -> str:
    """Format a time in a pattern."""
    days, day_micros = divmod(micros, _DAY_US)
    year, month, day = civil(days)
    seconds, fraction = divmod(day_micros, _SECOND_US)
    hour = seconds // 3600
    numbers = {
        "d": day, "H": hour, "k": hour or 24, "K": hour % 12, "h": hour % 12 or 12,
        "m": seconds // 60 % 60, "s": seconds % 60,
    }  # fmt: skip

    def shown(word: Word) -> str:
        match word.letter:
            case "":
                return word.text
            case "y":
                return _year_text(year, word.count)
            case "M" if word.count > 2:  # noqa: PLR2004
                name = _MONTHS[month - 1]
                return name if word.count == 4 else name[:3]  # noqa: PLR2004
            case "M":
                return f"{month:0{word.count}}"
            case "E":
                name = _WEEKDAYS[(days + 3) % 7]
                return name if word.count == 4 else name[:3]  # noqa: PLR2004
            case "D":
                first = days_of(year, 1, 1)
                return f"{days - (first or 0) + 1:0{word.count}}"
            case "a":
                return "AM" if hour < 12 else "PM"  # noqa: PLR2004
            case "S":
                return f"{fraction:06}000"[: word.count]
            case letter:
                return f"{numbers[letter]:0{word.count}}"

    return "".join(map(shown, words))


def _year_text(year: int, count: int) -> str:
    if count == 2:  # noqa: PLR2004
        return f"{abs(year) % 100:02}"
    digits = f"{abs(year):0{count}}"
    if year < 0:
        return f"-{digits}"
    return f"+{digits}" if count >= 4 and len(digits) > count else digits  # noqa: PLR2004


class Reader(msgspec.Struct, frozen=True):
    """Parses times in a pattern."""

    expression: re.Pattern[str]
    letters: str

    def read(self, text: str) -> int | None:
        """Return the microseconds of a local time; None if the text has another form."""
        match = self.expression.fullmatch(text)
        if match is None:
            return None
        fields = dict(zip(self.letters, match.groups(), strict=True))
        year = fields.get("y", "1970")
        if year.startswith("-") and not int(year):
            return None
        if len(year.lstrip("+-")) > _MAX_YEAR_DIGITS:
            raise SparkTimeError(f"the year {year} is out of range; run it on Spark")
        month, day, hour, minute, second = (
            int(fields.get(letter, first))
            for letter, first in (("M", 1), ("d", 1), ("H", 0), ("m", 0), ("s", 0))
        )
        days = days_of(int(year), month, day)
        is_clock = 0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59  # noqa: PLR2004
        if days is None or not is_clock:
            return None
        if any(value.startswith("-") and not int(value) for value in fields.values()):
            return None
        micros = int(fields.get("S", "0")[:6].ljust(6, "0"))
        return days * _DAY_US + (hour * 3600 + minute * 60 + second) * _SECOND_US + micros


def reader_of(pattern: str) -> Reader | None:
    """Return the reader of a pattern; None if it is not proven to parse as Java does."""
    words = split_pattern(pattern)
    if not words:
        return None
    expression, letters, was_number, was_fixed = "", "", False, False
    for word in words:
        if not word.letter:
            if not word.text.isascii() or (was_number and word.text[0].isdigit()):
                return None
            expression += f"(?i:{re.escape(word.text)})"
            was_number = False
            continue
        is_fixed = word.count == 2 or word.text == "yyyy"  # noqa: PLR2004
        if word.letter == "S":
            if was_number or word.count > 9:  # noqa: PLR2004
                return None
            expression += rf"(\d{{1,{word.count}}})"
        elif word.text in _READABLE and not (was_number and (not is_fixed or not was_fixed)):
            expression += _READABLE[word.text]
        else:
            return None
        if word.letter in letters:
            return None
        letters += word.letter
        was_number, was_fixed = True, is_fixed and word.letter != "S"
    if not _are_leading(letters):
        return None
    return Reader(re.compile(expression, re.ASCII), letters)


def _are_leading(letters: str) -> bool:
    """Return whether only trailing fields are missing: Java fills in only those."""
    present = [letter in letters for letter in _ORDER]
    return present == sorted(present, reverse=True)


@kernel
def date_format(call: KernelCall, values: pa.Array) -> pa.Array:
    """Format a time in a pattern."""
    pattern, *zone = call.parameters
    words = split_pattern(pattern) or ()
    parts = (where_valid(pa.array(part), values) for part in local_parts(values, zone))
    return by_distinct(
        lambda days, within: written(words, days * _DAY_US + within), call.gives, *parts
    )


@kernel
def date_name(call: KernelCall, dates: pa.Array) -> pa.Array:
    """Return the short name of a date's month or weekday."""

    def name(days: int) -> str:
        if call.parameters[0] == "month":
            return _MONTHS[civil(days)[1] - 1][:3]
        return _WEEKDAYS[(days + 3) % 7][:3]

    return by_distinct(name, call.gives, dates.cast(pa.int32()))


@kernel
def formatted_to_time(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Parse a local time in a pattern; other text is an error, or null with `soft`."""
    reader = reader_of(call.parameters[0])
    if reader is None:
        raise KeyError(call.parameters[0])

    def read(text: str) -> int | None:
        micros = reader.read(text)
        if micros is None and "soft" not in call.parameters[1:]:
            raise SparkTimeError(f"{text!r} does not match the pattern {call.parameters[0]!r}")
        return micros

    return by_distinct(read, pa.int64(), texts).cast(call.gives)
