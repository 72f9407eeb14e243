"""Catalogue of arithmetic functions: `try_` forms, bits, hashes and rounding to places."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import (
    Build,
    Entry,
    by_kernel,
    by_rule,
    first_type,
)
from headrace.pipeline.translation.catalogue.form import coalesce
from headrace.pipeline.translation.catalogue.number import round_decimal
from headrace.pipeline.translation.operator import (
    BINARY,
    Attempts,
    compare,
    negate,
)
from headrace.pipeline.translation.typed import Typed, call, computed, literal_int, sql_cast


def _attempt(operator: str) -> Build:
    """Return the operator, with null where it would fail."""

    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        left, right = arguments
        if not (t.is_numeric(left.type) and t.is_numeric(right.type)):
            return None
        return Attempts(casts).binary(operator, left, right)

    return build


def _operator(operator: str) -> Build:
    return lambda casts, arguments: BINARY[operator](casts, *arguments)


def _negative(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    return negate(casts, arguments[0])


def _null_if_zero(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    (value,) = arguments
    is_zero = compare(casts, "=", value, literal_int(0))
    if is_zero is None:
        return None
    text = f"CASE WHEN {is_zero.text} THEN NULL ELSE {value.text} END"
    return Typed(text, value.type, can_fail=value.can_fail)


def _zero_if_null(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    return coalesce(casts, [arguments[0], literal_int(0)])


def _to_places(mode: str) -> Build:
    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        value, places = arguments
        if t.is_integer(value.type):
            value = casts.cast(value, t.as_decimal(value.type)) or value
        is_far = abs(int(places.value)) > t.MOST_DIGITS
        if not t.is_decimal(value.type) or not casts.ansi or is_far:
            return None
        return round_decimal(value, int(places.value), mode)

    return build


def _hash(kernel: str, kind: pa.DataType) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        if not all(map(_is_hashable, (a.type for a in arguments))):
            return None
        return call(kernel, kind, *arguments)

    return build


def _is_hashable(kind: pa.DataType) -> bool:
    if t.is_array(kind):
        return _is_hashable(kind.value_type)
    return t.is_orderable(kind)


def _constant(value: float) -> Build:
    text = sql_cast(repr(value), t.DOUBLE)
    return lambda _, __: Typed(text, t.DOUBLE, is_literal=True, value=value)


def _bit_at(_: Casts, arguments: Sequence[Typed]) -> Typed:
    return call("bit_at", t.BYTE, *arguments, can_fail=True)


ARITHMETIC: list[Entry] = [
    *(
        by_rule(name, "NUMERIC NUMERIC", first_type, f"{operator}, or null", _attempt(operator))
        for name, operator in (
            ("try_add", "+"), ("try_subtract", "-"), ("try_multiply", "*"),
            ("try_divide", "/"), ("try_mod", "%"),
        )
    ),
    by_rule("mod", "NUMERIC NUMERIC", first_type, "%", _operator("%")),
    by_rule("negative", "NUMERIC", first_type, "-", _negative),
    by_rule("positive", "NUMERIC", first_type, "the value", lambda _, a: computed(a[0])),
    by_rule("nullifzero", "NUMERIC", first_type, "CASE", _null_if_zero),
    by_rule("zeroifnull", "NUMERIC", first_type, "CASE", _zero_if_null),
    by_rule("zeroifnull", "VOID", t.INT, "CASE", _zero_if_null),
    by_rule("floor", "NUMERIC INT!", first_type, "kernel decimal_round", _to_places(ROUND_FLOOR)),
    *(
        by_rule(name, "NUMERIC INT!", first_type, "kernel decimal_round", _to_places(ROUND_CEILING))
        for name in ("ceil", "ceiling")
    ),
    by_kernel("rint", "DOUBLE", t.DOUBLE, "round_even"),
    by_kernel("degrees", "DOUBLE", t.DOUBLE, "scale_by", repr(math.degrees(1))),
    by_kernel("radians", "DOUBLE", t.DOUBLE, "scale_by", repr(math.radians(1))),
    by_rule("pi", "", t.DOUBLE, "a constant", _constant(math.pi)),
    by_rule("e", "", t.DOUBLE, "a constant", _constant(math.e)),
    *(by_rule(n, "INTEGER INT", t.BYTE, "kernel bit_at", _bit_at) for n in ("bit_get", "getbit")),
    by_kernel("bitmap_bit_position", "BIGINT", t.LONG, "bitmap_place"),
    by_kernel("bitmap_bucket_number", "BIGINT", t.LONG, "bitmap_bucket"),
    by_kernel("bitmap_count", "BYTES", t.LONG, "bytes_bit_count"),
    by_rule("hash", "ANY...", t.INT, "kernel murmur3", _hash("murmur3", t.INT)),
    by_rule("xxhash64", "ANY...", t.LONG, "kernel xxhash64", _hash("xxhash64", t.LONG)),
]  # fmt: skip
