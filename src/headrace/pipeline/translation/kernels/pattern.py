"""Kernels for regular expressions, whose patterns `regular_expression` has proven portable."""

import re
from collections.abc import Iterator
from functools import cache

import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import by_distinct


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.ASCII)


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield every match as Java finds them: after an empty one, it continues at the next character.

    `splits_letters` excludes patterns with which Java would continue inside a character.
    """
    place = 0
    while place <= len(text):
        match = pattern.search(text, place)
        if match is None:
            return
        is_empty = match.start() == match.end()
        place = match.end() + is_empty
        yield match


@kernel
def regexp_like(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return whether a pattern matches anywhere."""
    pattern = _pattern(call.parameters[0])
    return by_distinct(lambda text: pattern.search(text) is not None, call.gives, texts)


@kernel
def regexp_replace(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Replace every match with a text, which may refer to groups."""
    pattern, template = _pattern(call.parameters[0]), call.parameters[1]

    def replaced(text: str) -> str:
        shown, last = "", 0
        for match in _matches(pattern, text):
            shown += text[last : match.start()] + match.expand(template)
            last = match.end()
        return shown + text[last:]

    return by_distinct(replaced, call.gives, texts)


@kernel
def regexp_extract(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return a group of the first match; empty if there is none."""
    pattern, group = _pattern(call.parameters[0]), int(call.parameters[1])

    def extracted(text: str) -> str:
        match = pattern.search(text)
        return (match.group(group) or "") if match else ""

    return by_distinct(extracted, call.gives, texts)


@kernel
def regexp_extract_all(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return a group of every match."""
    pattern, group = _pattern(call.parameters[0]), int(call.parameters[1])
    return by_distinct(
        lambda text: [m.group(group) or "" for m in _matches(pattern, text)], call.gives, texts
    )


@kernel
def regexp_count(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Count the matches."""
    pattern = _pattern(call.parameters[0])
    return by_distinct(lambda text: sum(1 for _ in _matches(pattern, text)), call.gives, texts)


@kernel
def regexp_substr(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return the first match; null if there is none, or if it is empty."""
    pattern = _pattern(call.parameters[0])

    def matched(text: str) -> str | None:
        match = pattern.search(text)
        return (match.group() or None) if match else None

    return by_distinct(matched, call.gives, texts)


@kernel
def regexp_instr(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return the position of the first match, from 1; 0 if there is none."""
    pattern = _pattern(call.parameters[0])

    def place(text: str) -> int:
        match = pattern.search(text)
        return 0 if match is None else match.start() + 1

    return by_distinct(place, call.gives, texts)


@kernel
def split(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Split a text at every match, into at most `limit` parts."""
    pattern, limit = _pattern(call.parameters[0]), int(call.parameters[1])

    def parts(text: str) -> list[str]:
        if text == "":
            return [""]
        pieces: list[str] = []
        last = 0
        for match in _matches(pattern, text):
            if limit > 0 and len(pieces) == limit - 1:
                break
            if match.end() == 0:
                continue
            pieces.append(text[last : match.start()])
            last = match.end()
        return [*pieces, text[last:]]

    return by_distinct(parts, call.gives, texts)
