"""Kernels for JSON: the value at a path, objects as structs, and values as JSON."""

import base64
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headrace.pipeline.translation.java_number import SparkOnlyError, double_text, float_text
from headrace.pipeline.translation.kernel import KernelCall, kernel, partial_kernel
from headrace.pipeline.translation.kernels.json_text import (
    Fields,
    NotJsonError,
    Number,
    parse,
    parse_strict,
)
from headrace.pipeline.translation.kernels.row import by_distinct
from headrace.pipeline.translation.kernels.time_text import date_text

Path = Sequence[str | int]
WILDCARD = "*"
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def _by_text(compute: Callable[[Any], Any], call: KernelCall, texts: pa.Array) -> pa.Array:
    def computed(text: str) -> Any:
        try:
            return compute(parse(text))
        except NotJsonError:
            return None
        except RecursionError as error:
            raise SparkOnlyError("JSON that is nested too deeply; run it on Spark") from error

    return by_distinct(computed, call.gives, texts)


@kernel
def json_array_length(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Count the elements of the outermost array; null if there is none."""
    return _by_text(lambda v: len(v) if isinstance(v, list) else None, call, texts)


@kernel
def json_object_keys(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return the names of the outermost object; null if there is none."""
    return _by_text(
        lambda v: [_SURROGATE.sub("?", n) for n, _ in v.pairs] if isinstance(v, Fields) else None,
        call,
        texts,
    )


@kernel
def json_value(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return the value at a path: a string without quotes, everything else as JSON."""
    path = json.loads(call.parameters[0])
    return _by_text(lambda value: _at(value, path), call, texts)


def _at(value: Any, path: Path) -> str | None:
    if WILDCARD in path:
        place = path.index(WILDCARD)
        return _each(value, path[:place], path[place + 1 :])
    match = _follow(value, path)
    if match is None:
        return None
    return _checked(match[0]) if isinstance(match[0], str) else written(match[0], astral="escape")


def _follow(value: Any, path: Path) -> tuple[Any] | None:
    """Return the value at a path as a 1-tuple; a null that a name leads to counts as missing."""
    if not path:
        return (value,)
    step, *further = path
    if isinstance(step, int):
        is_element = isinstance(value, list) and step < len(value)
        return _follow(value[step], further) if is_element else None
    if not isinstance(value, Fields):
        return None
    for name, inner in value.pairs:
        match = None if name != step or inner is None else _follow(inner, further)
        if match is not None:
            return match
    return None


def _each(value: Any, before: Path, after: Path) -> str | None:
    """Return the values at a path in each element of an array; a single one has no brackets."""
    outer = _follow(value, before)
    if outer is None or not isinstance(outer[0], list):
        return None
    matches = [part for part in (_follow(element, after) for element in outer[0]) if part]
    shown = [written(part[0], astral="keep") for part in matches]
    if len(shown) > 1:
        return f"[{','.join(shown)}]"
    return shown[0] if shown else None


def _checked(text: str) -> str:
    """Return a string; one with a lone surrogate becomes null in the result."""
    if _SURROGATE.search(text):
        raise NotJsonError
    return text


def quoted(text: str, *, astral: str) -> str:
    """Quote a string as JSON; `astral` is `escape` or `keep`, for characters beyond the BMP."""
    shown = ""
    for letter in text if astral == "escape" else _checked(text):
        if letter in _SHORT:
            shown += _SHORT[letter]
        elif letter < " " or (astral == "escape" and _SURROGATE.match(letter)):
            shown += f"\\u{ord(letter):04X}"
        elif letter > "\uffff" and astral == "escape":
            units = letter.encode("utf-16-be").hex().upper()
            shown += f"\\u{units[:4]}\\u{units[4:]}"
        else:
            shown += letter
    return f'"{shown}"'


def written(value: Any, *, astral: str) -> str:
    """Write a parsed value again without blanks."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Number():
            return value.shown()
        case str():
            return quoted(value, astral=astral)
        case list():
            return "[" + ",".join(written(part, astral=astral) for part in value) + "]"
        case _:
            pairs = value.pairs
            parts = (f"{quoted(n, astral=astral)}:{written(v, astral=astral)}" for n, v in pairs)
            return "{" + ",".join(parts) + "}"


@partial_kernel
def json_read(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Parse an object into a struct: a missing value, or one of another type, is null."""
    names = [field.name for field in call.gives]

    def read(text: str) -> dict[str, Any] | None:
        if not text.strip():
            if text:
                raise SparkOnlyError("blank text as JSON; run it on Spark")
            return None
        try:
            value = parse_strict(text)
        except NotJsonError as error:
            if re.search("NaN|Inf|INF", text):
                raise SparkOnlyError("JSON with NaN or Infinity; run it on Spark") from error
            return dict.fromkeys(names)
        if not isinstance(value, Fields):
            raise SparkOnlyError("JSON that is not an object; run it on Spark")
        return _struct(value, call.gives, is_outermost=True)

    return by_distinct(read, call.gives, texts)


def _struct(value: Fields, kind: pa.DataType, *, is_outermost: bool) -> dict[str, Any]:
    members = dict(value.pairs)
    row = {}
    for field in kind:
        part = members.get(field.name)
        converted = _converted(part, field.type)
        if converted is None and part is not None and not is_outermost:
            raise SparkOnlyError("a nested JSON value of another type; run it on Spark")
        row[field.name] = converted
    return row


def _converted(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if kind == pa.string():
        return _checked(value) if isinstance(value, str) else written(value, astral="escape")
    if kind == pa.bool_():
        return value if isinstance(value, bool) else None
    if isinstance(value, Number) and pa.types.is_integer(kind) and value.is_whole:
        limit = 1 << (kind.bit_width - 1)
        return int(value.text) if -limit <= int(value.text) < limit else None
    if isinstance(value, Number) and kind == pa.float64():
        return float(value.text)
    if isinstance(value, str) and kind == pa.float64():
        raise SparkOnlyError("a JSON string as DOUBLE; run it on Spark")
    if pa.types.is_list(kind) and isinstance(value, list):
        parts = [_converted(part, kind.value_type) for part in value]
        if any(p is None and v is not None for p, v in zip(parts, value, strict=True)):
            raise SparkOnlyError("a nested JSON value of another type; run it on Spark")
        return parts
    if pa.types.is_struct(kind) and isinstance(value, Fields):
        return _struct(value, kind, is_outermost=False)
    return None


@kernel
def json_write(call: KernelCall, values: pa.Array) -> pa.Array:
    """Write a value as JSON; null fields of a struct are omitted."""
    kind = call.takes[0]
    return by_distinct(lambda value: _shown(value, kind), call.gives, plain_days(values))


def plain_days(values: pa.Array) -> pa.Array:
    """Return values with dates as numbers of days, since Python's own end at 9999."""
    return values.cast(_without_dates(values.type))


def _without_dates(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_date(kind):
        return pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _without_dates(f.type)) for f in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field(kind.value_field.name, _without_dates(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field, _without_dates(kind.item_type))
    return kind


def _shown(value: Any, kind: pa.DataType) -> str:
    if value is None:
        return "null"
    if pa.types.is_struct(kind):
        parts = [(f.name, value[f.name], f.type) for f in kind if value[f.name] is not None]
        return "{" + ",".join(_member(*part) for part in parts) + "}"
    if pa.types.is_map(kind):
        return "{" + ",".join(_member(str(k), v, kind.item_type) for k, v in value) + "}"
    if pa.types.is_list(kind):
        return "[" + ",".join(_shown(part, kind.value_type) for part in value) + "]"
    return _shown_scalar(value, kind)


def _member(name: str, value: Any, kind: pa.DataType) -> str:
    return f"{quoted(name, astral='keep')}:{_shown(value, kind)}"


def _shown_scalar(value: Any, kind: pa.DataType) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value, astral="keep")
        case bytes():
            return f'"{base64.b64encode(value).decode()}"'
        case Decimal():
            return str(value)
        case float():
            text = float_text(value) if kind == pa.float32() else double_text(value)
            return f'"{text}"' if text[-1].isalpha() else text
        case _ if pa.types.is_date(kind):
            return f'"{date_text(value)}"'
        case _:
            return str(value)
