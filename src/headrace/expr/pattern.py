"""LIKE as in Spark: `_` matches one character, `%` any string, and a backslash escapes.

Strings and a pattern enter; a mask leaves. Arrow's own LIKE kernel misses matches where an escaped
backslash is next to a `%`, so this module splits the pattern into tokens and uses the simplest
equivalent kernel.
"""

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from headrace.protocol import light

_TOKEN = re.compile(r"%+|_|(?:[^%_\\]|\\[%_\\])+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_WORD = re.compile(r"\w", re.ASCII)
_ANY, _ONE = "%", "_"


def match_pattern(texts: pa.StringArray, pattern: str) -> pa.BooleanArray:
    """Return whether each string matches the pattern; null for a null string."""
    match list(_tokens(pattern)):
        case []:
            return pc.equal(texts, light.scalar("", texts.type))
        case [(None, plain)]:
            return pc.equal(texts, plain)
        case [(None, plain), (str(kind), _)] if kind == _ANY:
            return pc.starts_with(texts, plain)
        case [(str(kind), _), (None, plain)] if kind == _ANY:
            return pc.ends_with(texts, plain)
        case [(str(first), _), (None, plain), (str(last), _)] if first == last == _ANY:
            return pc.match_substring(texts, plain)
        case tokens:
            return _match_expression(texts, tokens)


def _tokens(pattern: str) -> Iterator[tuple[str | None, str]]:
    """Yield each wildcard as `(wildcard, "")` and the text between them as `(None, text)`."""
    for token in _TOKEN.findall(pattern):
        if token[0] in (_ANY, _ONE):
            yield token[0], ""
        else:
            yield None, _ESCAPED.sub(r"\1", token)


def _match_expression(
    texts: pa.StringArray, tokens: list[tuple[str | None, str]]
) -> pa.BooleanArray:
    parts = {_ANY: ".*", _ONE: "."}
    body = "".join(_quoted(plain) if kind is None else parts[kind] for kind, plain in tokens)
    try:
        return pc.match_substring_regex(texts, rf"(?s)\A{body}\z")
    except pa.ArrowInvalid:  # too large for Arrow to compile
        expression = re.compile(body, re.DOTALL)
        matches = [t if t is None else bool(expression.fullmatch(t)) for t in texts.to_pylist()]
        return light.array(matches, pa.bool_())


def _quoted(plain: str) -> str:
    """Escape text so that RE2 and Python's `re` both match it literally."""
    return "".join(c if _WORD.match(c) or not c.isascii() else rf"\x{ord(c):02x}" for c in plain)
