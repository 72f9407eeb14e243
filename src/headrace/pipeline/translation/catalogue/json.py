"""Catalogue of JSON functions."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headrace.pipeline.arrow_ddl import parse_schema, parse_type
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Entry, by_kernel, by_rule
from headrace.pipeline.translation.java_number import SparkOnlyError
from headrace.pipeline.translation.kernels.json import WILDCARD
from headrace.pipeline.translation.kernels.json_text import NotJsonError, Number, parse_strict
from headrace.pipeline.translation.typed import Typed, call, literal_text

_STEP = re.compile(r"\.([A-Za-z0-9_]+)|\['([A-Za-z0-9_ ]+)'\]|\[(\d{1,6})\]|\[(\*)\]")
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_WRITABLE = (
    t.BOOLEAN,
    t.BYTE,
    t.SHORT,
    t.INT,
    t.LONG,
    t.FLOAT,
    t.DOUBLE,
    t.STRING,
    t.BINARY,
    t.DATE,
)
_READABLE = (t.BOOLEAN, t.INT, t.LONG, t.DOUBLE, t.STRING)
_MAX_PLAIN_SCALE = 6


def json_path(written: str) -> list[str | int] | None:
    """Return the steps of a path; None unless it has names, indexes, and at most one wildcard."""
    if not written.startswith("$"):
        return None
    steps: list[str | int] = []
    place = 1
    while place < len(written):
        match = _STEP.match(written, place)
        if match is None:
            return None
        name, quoted, index, wildcard = match.groups()
        steps.append(int(index) if index else name or quoted or wildcard)
        place = match.end()
    wild = [i for i, step in enumerate(steps) if step == WILDCARD]
    is_plain = not wild or (len(wild) == 1 and not isinstance(steps[wild[0] - 1], int))
    return steps if is_plain or wild == [0] else None


def _value(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    path = json_path(arguments[1].value)
    if path is None:
        return None
    return call("json_value", t.STRING, arguments[0], parameters=(json.dumps(path),))


def _read(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    kind = struct_type(arguments[1].value)
    if kind is None or not all(_is_readable(field.type) for field in kind):
        return None
    return call("json_read", kind, arguments[0])


def struct_type(written: str) -> pa.DataType | None:
    """Return the struct that a DDL schema or a type describes; None if it is unclear."""
    try:
        if written.strip().upper().startswith("STRUCT"):
            kind = parse_type(written.strip())
        else:
            kind = pa.struct(list(parse_schema(written)))
    except (ValueError, KeyError):
        return None
    is_plain = pa.types.is_struct(kind) and all(field.nullable for field in kind)
    return kind if is_plain else None


def _is_readable(kind: pa.DataType) -> bool:
    if t.is_array(kind):
        return _is_readable(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_is_readable(field.type) for field in kind)
    return kind in _READABLE


def _schema(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Infer the schema of a literal when the view is planned."""
    try:
        kind = _inferred(parse_strict(arguments[0].value))
    except (NotJsonError, SparkOnlyError):
        return None
    return None if kind is None else literal_text(kind)


def _inferred(value: Any) -> str | None:
    """Return the type that Spark infers; None where it would have to merge different ones."""
    match value:
        case None | str():
            return "STRING"
        case bool():
            return "BOOLEAN"
        case Number():
            if not value.is_whole:
                return "DOUBLE"
            return "BIGINT" if abs(int(value.text)) < 1 << 63 else None
        case list():
            kinds = {_inferred(part) for part in value if part is not None} or {"STRING"}
            kind = kinds.pop()
            return None if kinds or kind is None else f"ARRAY<{kind}>"
        case _:
            pairs = sorted(value.pairs, key=lambda pair: pair[0])
            fields = {name: _inferred(part) for name, part in pairs}
            plain = all(kind and _NAME.fullmatch(name) for name, kind in fields.items())
            if not plain or not fields or len(fields) < len(value.pairs):
                return None
            return f"STRUCT<{', '.join(f'{name}: {kind}' for name, kind in fields.items())}>"


def _write(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    (value,) = arguments
    if not pa.types.is_nested(value.type) or not _is_writable(value.type):
        return None
    return call("json_write", t.STRING, value, can_fail=t.has_float(value.type))


def _is_writable(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        is_plain_key = kind.key_type == t.STRING or t.is_integer(kind.key_type)
        return is_plain_key and _is_writable(kind.item_type)
    if t.is_array(kind):
        return _is_writable(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_is_writable(field.type) for field in kind)
    if t.is_decimal(kind):
        return int(kind.scale) <= _MAX_PLAIN_SCALE
    return kind in _WRITABLE


JSON: list[Entry] = [
    by_rule("get_json_object", "STRING STRING!", t.STRING, "kernel json_value", _value),
    by_kernel("json_array_length", "STRING", t.INT, "json_array_length"),
    by_kernel("json_object_keys", "STRING", t.array_of(t.STRING), "json_object_keys"),
    by_rule("from_json", "STRING STRING!", lambda types: types[0], "kernel json_read", _read),
    by_rule("schema_of_json", "STRING!", t.STRING, "a constant", _schema),
    by_rule("to_json", "ANY", t.STRING, "kernel json_write", _write),
]
