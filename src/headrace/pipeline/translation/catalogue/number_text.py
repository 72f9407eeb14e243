"""Catalogue of functions that format or parse numbers."""

import re
from collections.abc import Sequence

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Build, Entry, by_kernel, by_rule
from headrace.pipeline.translation.kernels.number_text import SPECIFIER
from headrace.pipeline.translation.number_format import parse_number_format
from headrace.pipeline.translation.typed import Typed, call

_PLAIN_PATTERN = re.compile(r"#+\.(#{1,15})")
_SHOWN = (t.STRING, t.BOOLEAN, t.DOUBLE, t.FLOAT)


def _decimal(_: Sequence[pa.DataType]) -> pa.DataType:
    return pa.decimal128(t.MOST_DIGITS, 0)


def _write(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    value, form = arguments
    if t.is_float(value.type) or parse_number_format(form.value) is None:
        return None
    return call("number_to_format", t.STRING, value, parameters=(form.value,), can_fail=True)


def _read(*, is_try: bool) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        text, form = arguments
        number_format = parse_number_format(form.value)
        if number_format is None or number_format.precision > t.MOST_DIGITS:
            return None
        kind = pa.decimal128(number_format.precision, number_format.scale)
        if is_try:
            parameters = ("format_to_number", form.value)
            return call("attempt", kind, text, parameters=parameters, can_fail=True)
        return call("format_to_number", kind, text, parameters=(form.value,), can_fail=True)

    return build


def _by_pattern(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    value, pattern = arguments
    match = _PLAIN_PATTERN.fullmatch(pattern.value)
    if match is None:
        return None
    parameters = (str(len(match[1])),)
    return call("format_pattern", t.STRING, value, parameters=parameters, can_fail=True)


def _fill(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    form, *values = arguments
    plain_text = SPECIFIER.sub("", form.value)
    kinds = [m["kind"] for m in SPECIFIER.finditer(form.value) if m["kind"]]
    zeros = [m for m in SPECIFIER.finditer(form.value) if m["flag"]]
    is_unproven = any(not m["width"] or (m["flag"] == "0" and m["kind"] != "d") for m in zeros)
    if "%" in plain_text or is_unproven or len(kinds) != len(values) or not values:
        return None
    for kind, value in zip(kinds, values, strict=True):
        if not (t.is_integer(value.type) or (kind == "s" and value.type in _SHOWN)):
            return None
    fails = any(t.is_float(value.type) for value in values)
    return call("format_string", t.STRING, *values, parameters=(form.value,), can_fail=fails)


NUMBER_TEXT: list[Entry] = [
    *(
        by_rule(name, "NUMERIC STRING!", t.STRING, "kernel number_to_format", _write)
        for name in ("to_char", "to_varchar")
    ),
    by_rule("to_number", "STRING STRING!", _decimal, "kernel format_to_number",
            _read(is_try=False)),
    by_rule("try_to_number", "STRING STRING!", _decimal, "kernel format_to_number, or null",
            _read(is_try=True)),
    by_kernel("format_number", "NUMERIC INT", t.STRING, "format_number", can_fail=True),
    by_rule("format_number", "NUMERIC TEXT!", t.STRING, "kernel format_pattern", _by_pattern),
    *(
        by_rule(name, "STRING! ANY...", t.STRING, "kernel format_string", _fill)
        for name in ("format_string", "printf")
    ),
]  # fmt: skip
