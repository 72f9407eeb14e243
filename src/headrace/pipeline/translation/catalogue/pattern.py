"""Catalogue of functions with patterns: regular expressions and LIKE."""

import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Build, Entry, by_rule
from headrace.pipeline.translation.pattern import like_parts
from headrace.pipeline.translation.regular_expression import (
    python_pattern,
    replacement_parts,
    splits_letters,
)
from headrace.pipeline.translation.typed import Typed, call, quoted

_TEXTS = t.array_of(t.STRING)
Parameters = Callable[[Sequence[Typed], str], tuple[str, ...] | None]


_REPEATING = frozenset({"regexp_replace", "regexp_extract_all", "regexp_count"})
"""Kernels that continue after a match."""


def _is_bmp(text: Typed) -> bool:
    """Return whether a text is a literal in which each character is one UTF-16 unit."""
    return text.is_text() and max(text.value, default="") <= "\uffff"


def _no_parameters(_: Sequence[Typed], __: str) -> tuple[str, ...]:
    return ()


def _by_pattern(kernel: str, gives: pa.DataType, more: Parameters = _no_parameters) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        written = arguments[1]
        pattern = python_pattern(written.value) if written.is_text() else None
        parameters = None if pattern is None else more(arguments, pattern)
        if pattern is None or parameters is None:
            return None
        if kernel in _REPEATING and splits_letters(pattern) and not _is_bmp(arguments[0]):
            return None
        return call(kernel, gives, arguments[0], parameters=(pattern, *parameters))

    return build


def _replacement(arguments: Sequence[Typed], pattern: str) -> tuple[str, ...] | None:
    template = replacement_parts(arguments[2].value, re.compile(pattern, re.ASCII).groups)
    return None if template is None else (template,)


def _group(arguments: Sequence[Typed], pattern: str) -> tuple[str, ...] | None:
    group = int(arguments[2].value) if len(arguments) > 2 else 1  # noqa: PLR2004
    return (str(group),) if 0 <= group <= re.compile(pattern, re.ASCII).groups else None


def _limit(arguments: Sequence[Typed], pattern: str) -> tuple[str, ...] | None:
    if re.compile(pattern, re.ASCII).match("") is not None:
        return None  # the runners split differently at empty matches
    return (str(int(arguments[2].value)) if len(arguments) > 2 else "-1",)  # noqa: PLR2004


def like(value: Typed, pattern: Typed, *, escape: str, word: str) -> Typed | None:
    """Compile `value LIKE pattern`, `NOT LIKE` or `ILIKE`; None if the pattern is not plain."""
    parts = like_parts(pattern.value, escape) if pattern.is_text() else None
    if parts is None:
        return None
    text, shown = value.text, quoted(parts)
    if "ILIKE" in word:
        text, shown, word = f"lower({text})", f"lower({shown})", word.replace("ILIKE", "LIKE")
    return Typed(f"({text} {word} {shown})", t.BOOLEAN, can_fail=value.can_fail)


def _like(word: str) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        escape = arguments[2].value if len(arguments) > 2 else "\\"  # noqa: PLR2004
        return like(*arguments[:2], escape=escape, word=word) if len(escape) == 1 else None

    return build


PATTERN: list[Entry] = [
    *(
        by_rule(n, "STRING STRING!", t.BOOLEAN, "kernel regexp_like",
                _by_pattern("regexp_like", t.BOOLEAN))
        for n in ("regexp_like", "regexp", "rlike")
    ),
    by_rule("regexp_replace", "STRING STRING! STRING!", t.STRING, "kernel regexp_replace",
            _by_pattern("regexp_replace", t.STRING, _replacement)),
    by_rule("regexp_extract", "STRING STRING! [INT!]", t.STRING, "kernel regexp_extract",
            _by_pattern("regexp_extract", t.STRING, _group)),
    by_rule("regexp_extract_all", "STRING STRING! [INT!]", _TEXTS, "kernel regexp_extract_all",
            _by_pattern("regexp_extract_all", _TEXTS, _group)),
    by_rule("regexp_count", "STRING STRING!", t.INT, "kernel regexp_count",
            _by_pattern("regexp_count", t.INT)),
    by_rule("regexp_substr", "STRING STRING!", t.STRING, "kernel regexp_substr",
            _by_pattern("regexp_substr", t.STRING)),
    by_rule("regexp_instr", "STRING STRING!", t.INT, "kernel regexp_instr",
            _by_pattern("regexp_instr", t.INT)),
    by_rule("split", "STRING STRING! [INT!]", _TEXTS, "kernel split",
            _by_pattern("split", _TEXTS, _limit)),
    by_rule("like", "STRING STRING! [STRING!]", t.BOOLEAN, "LIKE", _like("LIKE")),
    by_rule("ilike", "STRING STRING! [STRING!]", t.BOOLEAN, "LIKE of lower case", _like("ILIKE")),
]  # fmt: skip
