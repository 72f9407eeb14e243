"""Kernels for VARIANT: values parsed from JSON, stored as the JSON text.

Each function that reads a variant parses it again. Only casts and spellings that are proven to be
Spark's are done here; for others, the run fails with an error that says to run it on Spark.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa

from headrace.pipeline.translation.java_number import SparkOnlyError, double_text
from headrace.pipeline.translation.kernel import KernelCall, partial_kernel
from headrace.pipeline.translation.kernels.json import quoted
from headrace.pipeline.translation.kernels.json_text import (
    Fields,
    NotJsonError,
    Number,
    parse_strict,
)
from headrace.pipeline.translation.kernels.row import by_distinct

_MAX_DIGITS = 38
_INTEGERS = {pa.int32(): 31, pa.int64(): 63}
_WHOLE_TEXT = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NEGATIVE_ZERO = re.compile(r"-0(\.0*)?([eE].*)?")
_UNPROVEN_LETTER = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\U00010000-\U0010ffff]")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SparkVariantError(ValueError):
    """Spark's error for text that is not JSON, or a variant that cannot be cast."""


def _variant(text: str) -> Any:
    """Parse a text into None, bool, str, int, Decimal, float, list, or dict in key order."""
    try:
        return _plain(parse_strict(text))
    except NotJsonError as error:
        raise SparkVariantError(f"{text[:80]!r} is not JSON") from error


def _plain(value: Any) -> Any:
    match value:
        case Number():
            return _number(value)
        case list():
            return [_plain(part) for part in value]
        case Fields():
            names = [name for name, _ in value.pairs]
            if len(set(names)) < len(names):
                raise SparkVariantError("a JSON object has the same key twice")
            if any(_UNPROVEN_LETTER.search(name) for name in names):
                raise SparkOnlyError("unusual characters in a key of a variant; run it on Spark")
            return {name: _plain(part) for name, part in sorted(value.pairs, key=lambda p: p[0])}
        case _:
            return value


def _number(number: Number) -> int | Decimal | float:
    text = number.text
    if _NEGATIVE_ZERO.fullmatch(text):
        raise SparkOnlyError("minus zero in a variant; run it on Spark")
    if set(text) & set("eE"):
        return float(text)
    value = Decimal(text)
    digits = value.as_tuple()
    scale = -int(digits.exponent)
    if number.is_whole and -(1 << 63) <= int(text) < 1 << 63:
        return int(text)
    if max(len(digits.digits), scale) > _MAX_DIGITS:
        raise SparkOnlyError("a number of more than 38 digits in a variant; run it on Spark")
    while scale and value == value.quantize(Decimal(1).scaleb(1 - scale)):
        scale -= 1
        value = value.quantize(Decimal(1).scaleb(-scale))
    return value


def variant_text(value: Any) -> str:
    """Format a value as JSON, as Spark writes a variant."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            if _UNPROVEN_LETTER.search(value):
                raise SparkOnlyError("unusual characters in a variant; run it on Spark")
            return quoted(value, astral="keep")
        case float():
            return double_text(value)
        case Decimal():
            return f"{value:f}"
        case list():
            return f"[{','.join(map(variant_text, value))}]"
        case dict():
            members = (f"{quoted(k, astral='keep')}:{variant_text(v)}" for k, v in value.items())
            return "{" + ",".join(members) + "}"
        case _:
            return str(value)


def _or_null(compute: Callable[[str], Any], *, fails: bool) -> Callable[[str], Any]:
    def computed(text: str) -> Any:
        try:
            return compute(text)
        except SparkVariantError:
            if fails:
                raise
            return None

    return computed


@partial_kernel
def parse_variant(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Check that texts are JSON; with `try` as the parameter, others become null."""
    fails = call.parameters[0] != "try"
    return by_distinct(_or_null(lambda t: (_variant(t), t)[1], fails=fails), call.gives, texts)


@partial_kernel
def is_variant_null(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return whether a variant is JSON null; false for a missing variant."""
    return by_distinct(
        lambda text: text is not None and _variant(text) is None, call.gives, texts, nulls=True
    )


@partial_kernel
def variant_get(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return the value at a path, cast to a type or as a variant; null if there is none.

    The parameters are the path, `try` for null instead of an error, and `variant` or `cast`.
    """
    path, mode, form = call.parameters
    steps = json.loads(path)

    def find(text: str) -> Any:
        value = _variant(text)
        for step in steps:
            is_element = isinstance(step, int) and isinstance(value, list) and step < len(value)
            is_member = isinstance(step, str) and isinstance(value, dict) and step in value
            if not is_element and not is_member:
                return None
            value = value[step]
        return variant_text(value) if form == "variant" else _cast(value, call.gives)

    return by_distinct(_or_null(find, fails=mode != "try"), call.gives, texts)


def _cast(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if kind == pa.string():
        return value if isinstance(value, str) else variant_text(value)
    if isinstance(value, list | dict):
        raise SparkVariantError(f"{variant_text(value)[:80]} cannot be cast to {kind}")
    if kind in _INTEGERS and isinstance(value, bool | int | Decimal):
        return _in_range(int(value), kind)
    if kind in _INTEGERS and isinstance(value, str) and _WHOLE_TEXT.fullmatch(value):
        return _in_range(int(value), kind)
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if kind == pa.float64() and is_number:
        return float(value)
    if kind == pa.bool_() and isinstance(value, bool):
        return value
    if isinstance(value, str) and kind in _INTEGERS and not re.search(r"\d", value):
        raise SparkVariantError(f"{value[:80]!r} cannot be cast to {kind}")
    raise SparkOnlyError(f"a variant {variant_text(value)[:80]} as {kind}; run it on Spark")


def _in_range(value: int, kind: pa.DataType) -> int:
    limit = 1 << _INTEGERS[kind]
    if not -limit <= value < limit:
        raise SparkVariantError(f"{value} is out of the range of {kind}")
    return value


@partial_kernel
def variant_schema(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Return the type of each variant, as Spark writes it."""
    return by_distinct(lambda text: _type_text(_type(_variant(text))), call.gives, texts)


@partial_kernel
def variant_schemas(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Return the common type of the variants of each group."""
    results = []
    for group in rows.to_pylist():
        types = [_type(_variant(text)) for text in group or () if text is not None]
        results.append(_type_text(reduce(_common, types, "VOID")))
    return pa.array(results, call.gives)


_BIGINT_DIGITS = (20, 0)


def _type(value: Any) -> Any:
    """Return a name, a decimal's precision and scale, a one-element list, or a dict of fields."""
    match value:
        case None:
            return "VOID"
        case bool():
            return "BOOLEAN"
        case str():
            return "STRING"
        case int():
            return "BIGINT"
        case float():
            return "DOUBLE"
        case Decimal():
            parts = value.as_tuple()
            scale = -int(parts.exponent)
            return max(len(parts.digits), scale), scale
        case list():
            return [reduce(_common, map(_type, value), "VOID")]
        case _:
            return {name: _type(part) for name, part in value.items()}


def _common(left: Any, right: Any) -> Any:
    if right in (left, "VOID"):
        return left
    if left == "VOID":
        return right
    if isinstance(left, list) and isinstance(right, list):
        return [_common(left[0], right[0])]
    if isinstance(left, dict) and isinstance(right, dict):
        names = sorted({*left, *right})
        return {n: _common(left.get(n, "VOID"), right.get(n, "VOID")) for n in names}
    sides = [_BIGINT_DIGITS if side == "BIGINT" else side for side in (left, right)]
    if all(isinstance(side, tuple) for side in sides):
        (left_digits, left_scale), (right_digits, right_scale) = sides
        scale = max(left_scale, right_scale)
        digits = max(left_digits - left_scale, right_digits - right_scale) + scale
        if digits > _MAX_DIGITS:
            raise SparkOnlyError("the type of several decimals in a variant; run it on Spark")
        return digits, scale
    if all(side == "DOUBLE" or isinstance(side, tuple) for side in sides):
        return "DOUBLE"
    return "VARIANT"


def _type_text(kind: Any) -> str:
    match kind:
        case (digits, scale):
            return f"DECIMAL({digits},{scale})"
        case [element]:
            return f"ARRAY<{_type_text(element)}>"
        case dict():
            if not all(map(_PLAIN_NAME.fullmatch, kind)):
                raise SparkOnlyError("unusual names of fields in a variant; run it on Spark")
            return f"OBJECT<{', '.join(f'{n}: {_type_text(k)}' for n, k in kind.items())}>"
        case _:
            return str(kind)
