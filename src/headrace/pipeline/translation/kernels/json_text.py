"""Parses JSON text as Spark's parser does.

Besides strict JSON, it accepts single quotes, and control characters in strings. It parses the
first value of a text and ignores what follows.
"""

import json
import re
from typing import Any

import msgspec

from headrace.pipeline.translation.java_number import SparkOnlyError, double_text

_MAX_DIGITS = 1000
_DEEPEST = 1000
_STRING = re.compile(r"""(?P<double>"(?:[^"\\]|\\.)*")|(?P<single>'(?:[^'\\]|\\.)*')""", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)|\"", re.DOTALL)
_UNCLEAR = re.compile(r"['\x00-\x1f]")
"""Characters that the parsers of Spark's functions treat differently."""
_WORD_GOES_ON = re.compile(r"[^\W]|\$")


class Number(msgspec.Struct, frozen=True):
    """A number as written."""

    text: str

    @property
    def is_whole(self) -> bool:
        """Return whether it has neither a decimal point nor an exponent."""
        return not set(self.text) & set(".eE")

    def shown(self) -> str:
        """Return the number as Spark writes it: a fraction is a double."""
        if self.is_whole:
            return "0" if self.text == "-0" else self.text
        value = double_text(float(self.text))
        return f'"{value}"' if "I" in value else value


class Fields(msgspec.Struct, frozen=True):
    """An object: its fields in order, including duplicates."""

    pairs: tuple[tuple[str, Any], ...]


class NotJsonError(ValueError):
    """Text in which Spark finds no JSON value."""


def _refuse_constant(_: str) -> Any:
    raise NotJsonError


def _number(text: str) -> Number:
    if sum(map(str.isdigit, text)) > _MAX_DIGITS:
        raise NotJsonError
    return Number(text)


def _decoder(*, strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=lambda pairs: Fields(tuple(pairs)),
        parse_int=_number,
        parse_float=_number,
        parse_constant=_refuse_constant,
        strict=strict,
    )


_DECODER, _STRICT_DECODER = _decoder(strict=False), _decoder(strict=True)


def parse(text: str) -> Any:
    """Return the first value in a text.

    Raises:
        NotJsonError: the text has no value.
        SparkOnlyError: the text is nested more deeply than can be read here.
    """
    try:
        return _first_value(text, _DECODER)
    except NotJsonError:
        if "'" not in text:
            raise
        return _first_value(_STRING.sub(_in_double_quotes, text), _DECODER)


def parse_strict(text: str) -> Any:
    """Return the value of a text that every parser reads identically.

    Raises:
        NotJsonError: no Spark parser finds a value.
        SparkOnlyError: some Spark parsers may find a value.
    """
    try:
        value = _first_value(text, _STRICT_DECODER)
    except NotJsonError as error:
        if _UNCLEAR.search(text):
            raise SparkOnlyError(f"{text[:80]!r} may be JSON for Spark") from error
        raise
    if not isinstance(value, Fields | list) and not _is_one_value(text):
        raise SparkOnlyError(f"text after the value in {text[:80]!r}; run it on Spark")
    return value


def _first_value(text: str, decoder: json.JSONDecoder) -> Any:
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        value, end = decoder.raw_decode(text, start)
    except RecursionError as error:
        if text.count("[") + text.count("{") > _DEEPEST:
            raise NotJsonError from error
        raise SparkOnlyError("JSON that is nested too deeply; run it on Spark") from error
    except ValueError as error:
        raise NotJsonError from error
    after = text[end : end + 1]
    if isinstance(value, Number) and after.strip(" \t\r\n"):
        raise NotJsonError
    if (value is None or isinstance(value, bool)) and _WORD_GOES_ON.match(after):
        raise NotJsonError
    return value


def _is_one_value(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _in_double_quotes(match: re.Match[str]) -> str:
    """Return a string of either kind in double quotes, without escaped single quotes."""

    def rewritten(part: re.Match[str]) -> str:
        if part[0] == '"':
            return '\\"'
        return "'" if part[1] == "'" else part[0]

    return '"' + _ESCAPED.sub(rewritten, match[0][1:-1]) + '"'
