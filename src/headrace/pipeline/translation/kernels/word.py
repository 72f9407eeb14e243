"""Kernels for words: capitals, similarity, check digits, and the n-th of several strings."""

import unicodedata
from typing import Any

import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.cast import SparkCastError
from headrace.pipeline.translation.kernels.row import by_distinct

_LONGEST_PREFIX = 4
_RECENT_LOWERS = {
    0x1C89: 0x1C8A,
    0xA7CB: 0x264,
    0xA7CC: 0xA7CD,
    0xA7CE: 0xA7CF,
    0xA7D2: 0xA7D3,
    0xA7D4: 0xA7D5,
    0xA7DA: 0xA7DB,
    0xA7DC: 0x19B,
    **{upper: upper + 0x20 for upper in range(0x10D50, 0x10D66)},
    **{upper: upper + 0x1B for upper in range(0x16EA0, 0x16EB9)},
}
"""Letters that are newer than Python's own tables, with their lower case."""
_RECENT_TITLES = {lower: upper for upper, lower in _RECENT_LOWERS.items()}


def ascii_upper(text: str) -> str:
    """Return a text with its ASCII letters in upper case, and all others as they are."""
    return text.encode().upper().decode()


@kernel
def initial_capitals(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Capitalize words, which are separated by spaces."""
    return by_distinct(lambda text: " ".join(map(_capital, text.split(" "))), call.gives, texts)


def _capital(word: str) -> str:
    """Return a word with a title-case first letter; a sigma at its end is a final one."""
    first, lowered = word[:1], word.lower()
    head = first.title().translate(_RECENT_TITLES)
    return head + lowered[len(first.lower()) :].translate(_RECENT_LOWERS)


@kernel
def quote(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Put a string in single quotes, with a backslash before those inside."""
    return by_distinct(lambda text: "'" + text.replace("'", "\\'") + "'", call.gives, texts)


@kernel
def luhn_check(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return whether digits end with their check digit; false if there are other characters."""

    def is_right(text: str) -> bool:
        if not text or not all(map(_is_java_digit, text)):
            return False
        digits = [unicodedata.decimal(letter) for letter in reversed(text)]
        doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
        return (sum(digits[::2]) + sum(doubled)) % 10 == 0

    return by_distinct(is_right, call.gives, texts)


def _is_java_digit(letter: str) -> bool:
    """Return whether Java calls a UTF-16 unit a digit: those of every script, in the BMP."""
    return letter <= "\uffff" and unicodedata.category(letter) == "Nd"


@kernel
def nth(call: KernelCall, places: pa.Array, *texts: pa.Array) -> pa.Array:
    """Return the n-th string; another position is an error, or null if the parameter says so."""

    def chosen(place: int | None, *options: str | None) -> str | None:
        if place is None:
            return None
        if 1 <= place <= len(options):
            return options[place - 1]
        if call.parameters:
            return None
        raise SparkCastError(f"there is no string {place} among {len(options)}")

    return by_distinct(chosen, call.gives, places, *texts, nulls=True)


@kernel
def occurrence(
    call: KernelCall, texts: pa.Array, parts: pa.Array, starts: pa.Array, *counts: pa.Array
) -> pa.Array:
    """Find the n-th occurrence of a string from a position, or backwards if it is negative."""

    def located(text: str, part: str, start: int, count: int = 1) -> int:
        if count <= 0:
            raise SparkCastError("occurrences count from 1")
        if not part:
            return 1
        if start == 0:
            return 0
        places = [i for i in range(len(text)) if text.startswith(part, i)]
        if start > 0:
            places = [place for place in places if place >= start - 1]
        else:
            places = [place for place in reversed(places) if place <= len(text) + start]
        return places[count - 1] + 1 if count <= len(places) else 0

    return by_distinct(located, call.gives, texts, parts, starts, *counts)


@kernel
def jaro_winkler(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the Jaro-Winkler similarity of two strings, over UTF-16 units."""
    return by_distinct(lambda a, b: _similarity(_units(a), _units(b)), call.gives, left, right)


def _units(text: str) -> list[Any]:
    data = text.encode("utf-16-le")
    return [data[i : i + 2] for i in range(0, len(data), 2)]


def _similarity(first: list[Any], second: list[Any]) -> float:
    if first == second:
        return 1.0
    if not first or not second:
        return 0.0
    reach = max(max(len(first), len(second)) // 2 - 1, 0)
    taken = [False] * len(second)
    matched = []
    for i, letter in enumerate(first):
        for j in range(max(i - reach, 0), min(i + reach + 1, len(second))):
            if not taken[j] and second[j] == letter:
                taken[j] = True
                matched.append(letter)
                break
    if not matched:
        return 0.0
    matched_second = [letter for letter, is_taken in zip(second, taken, strict=True) if is_taken]
    moved = sum(a != b for a, b in zip(matched, matched_second, strict=True)) // 2
    count = float(len(matched))
    jaro = (count / len(first) + count / len(second) + (count - moved) / count) / 3.0
    prefix: int = 0
    for a, b in zip(first[:_LONGEST_PREFIX], second, strict=False):
        if a != b:
            break
        prefix += 1
    return float(jaro + prefix * 0.1 * (1.0 - jaro))
