"""Catalogue of functions of words and URLs."""

import re
from collections.abc import Sequence

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Build, Entry, by_kernel, by_rule
from headrace.pipeline.translation.kernels.url import PARTS
from headrace.pipeline.translation.typed import Typed, call, literal_text


def _url_part(*, is_try: bool) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        part = arguments[1].value
        key = arguments[2].value if len(arguments) > 2 else None  # noqa: PLR2004
        if part not in PARTS or (key and (part != "QUERY" or not re.fullmatch(r"\w+", key))):
            return None
        parameters: tuple[str, ...] = (part,) if key is None else (part, key)
        kernel = "attempt" if is_try else "url_part"
        parameters = ("url_part", *parameters) if is_try else parameters
        return call(kernel, t.STRING, arguments[0], parameters=parameters, can_fail=True)

    return build


def _nth(casts: Casts, arguments: Sequence[Typed]) -> Typed:
    parameters = () if casts.ansi else ("soft",)
    return call("nth", t.STRING, *arguments, parameters=parameters, can_fail=casts.ansi)


def _edit_distance(_: Casts, arguments: Sequence[Typed]) -> Typed:
    return call("levenshtein_within", t.INT, *arguments)


WORD: list[Entry] = [
    by_kernel("initcap", "STRING", t.STRING, "initial_capitals", can_fail=True),
    by_kernel("quote", "STRING", t.STRING, "quote"),
    by_kernel("luhn_check", "STRING", t.BOOLEAN, "luhn_check", can_fail=True),
    by_rule("elt", "INT STRING...", t.STRING, "kernel nth", _nth),
    by_kernel("concat_ws", "STRING", t.STRING, "join"),
    by_kernel("instr", "STRING STRING INT [INT]", t.INT, "occurrence", can_fail=True),
    by_rule("levenshtein", "STRING STRING INT", t.INT, "kernel levenshtein_within", _edit_distance),
    by_kernel("jaro_winkler_similarity", "STRING STRING", t.DOUBLE, "jaro_winkler"),
    by_rule("collation", "TEXT", t.STRING, "a constant",
            lambda _, __: literal_text("SYSTEM.BUILTIN.UTF8_BINARY")),
    by_rule("parse_url", "STRING STRING! [STRING!]", t.STRING, "kernel url_part",
            _url_part(is_try=False)),
    by_rule("try_parse_url", "STRING STRING! [STRING!]", t.STRING, "kernel url_part, or null",
            _url_part(is_try=True)),
    by_kernel("url_encode", "STRING", t.STRING, "url_encode"),
    by_kernel("url_decode", "STRING", t.STRING, "url_decode", can_fail=True),
    by_kernel("try_url_decode", "STRING", t.STRING, "attempt", "url_decode", can_fail=True),
]  # fmt: skip
