"""LIKE over texts, as Spark has it: `_` is any one character, `%` any text, a backslash escapes.

Arrow has a kernel of that name, which loses matches where an escaped backslash stands beside a
`%`. So a pattern is taken apart here, and becomes the simplest kernel that says the same.
"""

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

_TOKEN = re.compile(r"%+|_|(?:[^%_\\]|\\[%_\\])+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_WORD = re.compile(r"\w", re.ASCII)
_ANY, _ONE = "%", "_"


def match_pattern(texts: pa.StringArray, pattern: str) -> pa.BooleanArray:
    """Whether each text is of a pattern; null where the text is."""
    match list(_tokens(pattern)):
        case []:
            return pc.equal(texts, "")
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
    """The wildcards by their name, and what stands between them."""
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
    except pa.ArrowInvalid:  # larger than Arrow compiles
        expression = re.compile(body, re.DOTALL)
        matches = [t if t is None else bool(expression.fullmatch(t)) for t in texts.to_pylist()]
        return pa.array(matches, pa.bool_())


def _quoted(plain: str) -> str:
    """Characters that stand for themselves in a regular expression, of RE2 and of Python."""
    return "".join(c if _WORD.match(c) or not c.isascii() else rf"\x{ord(c):02x}" for c in plain)
