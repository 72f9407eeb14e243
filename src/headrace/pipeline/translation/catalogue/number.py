"""Catalogue of numeric functions."""

from collections.abc import Sequence

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import (
    Build,
    Entry,
    by_kernel,
    by_rule,
    first_type,
)
from headrace.pipeline.translation.evaluation import null_with
from headrace.pipeline.translation.kernels.decimal_number import NEGATED_DIGITS
from headrace.pipeline.translation.kernels.number import HALF_EVEN, HALF_UP
from headrace.pipeline.translation.typed import Typed, call, native


def round_decimal(value: Typed, places: int, mode: str) -> Typed:
    """Round a decimal to places after the decimal point, or before it if negative."""
    whole = value.type.precision - value.type.scale + 1
    scale = min(value.type.scale, max(places, 0))
    kind = t.decimal(max(whole, -places + 1) + scale, scale)
    if places >= value.type.scale:
        kind = t.decimal(whole + value.type.scale, value.type.scale)
    return call("decimal_round", kind, value, parameters=(str(places), mode), can_fail=True)


def _rounded(mode: str, places: int | None = None) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        value = arguments[0]
        count = places if places is not None else 0
        if len(arguments) > 1:
            count = int(arguments[1].value)
        if abs(count) > t.MOST_DIGITS:
            return None
        parameters = (str(count), mode)
        if t.is_integer(value.type):
            if count >= 0:
                return value
            return call("integer_round", value.type, value, parameters=parameters, can_fail=True)
        if t.is_decimal(value.type):
            return round_decimal(value, count, mode)
        if value.type == t.DOUBLE:
            return call("double_round", value.type, value, parameters=parameters)
        return None

    return build


def _floor(kernel: str, mode: str) -> Build:
    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        value = arguments[0]
        if t.is_integer(value.type):
            return casts.cast(value, t.LONG)
        if t.is_decimal(value.type):
            kind = t.decimal(value.type.precision - value.type.scale + 1, 0)
            return call("decimal_round", kind, value, parameters=("0", mode))
        if value.type == t.DOUBLE:
            if casts.ansi:
                return call(kernel, t.LONG, value, parameters=("checked",), can_fail=True)
            return call(kernel, t.LONG, value)
        return None

    return build


def _positive_modulo(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    kind = t.common_type(arguments[0].type, arguments[1].type)
    if kind is None or not (t.is_integer(kind) or kind == t.DOUBLE) or not casts.ansi:
        return None
    sides = [casts.widen(argument, kind) for argument in arguments]
    if any(side is None for side in sides):
        return None
    return call("positive_remainder", kind, *filter(None, sides), can_fail=True)


def _absolute(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    (value,) = arguments
    if t.is_integer(value.type):
        return call("absolute", value.type, value, can_fail=True) if casts.ansi else None
    if t.is_decimal(value.type) and value.type.precision > NEGATED_DIGITS:
        return null_with(call("decimal_absolute", value.type, value, can_fail=True), value)
    return native("abs({0})", value.type, value)


def _binary_digits(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Return the bits of a fraction without its decimals; too large a number is an error."""
    whole = casts.cast(arguments[0], t.LONG) if casts.ansi else None
    return None if whole is None else call("binary_digits", t.STRING, whole)


def _where_nan(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Return the second argument where the first is NaN; Spark evaluates it only there."""
    return None if arguments[1].can_fail else call("nan_to", t.DOUBLE, *arguments)


NUMBER: list[Entry] = [
    by_rule("abs", "NUMERIC", first_type, "abs, checked", _absolute),
    by_rule("round", "NUMERIC [INT!]", first_type, "kernel *_round, half up", _rounded(HALF_UP)),
    by_rule(
        "bround", "NUMERIC [INT!]", first_type, "kernel *_round, half even", _rounded(HALF_EVEN)
    ),
    by_rule(
        "floor", "NUMERIC", first_type, "kernel, saturating", _floor("double_floor", "ROUND_FLOOR")
    ),
    *(
        by_rule(
            name,
            "NUMERIC",
            first_type,
            "kernel, saturating",
            _floor("double_ceil", "ROUND_CEILING"),
        )
        for name in ("ceil", "ceiling")
    ),
    by_kernel("sqrt", "DOUBLE", t.DOUBLE, "square_root"),
    *(by_kernel(name, "DOUBLE", t.DOUBLE, "sign") for name in ("sign", "signum")),
    *(
        by_rule(name, "NUMERIC NUMERIC", first_type, "kernel positive_remainder", _positive_modulo)
        for name in ("pmod",)
    ),
    by_kernel("isnan", "DOUBLE", t.BOOLEAN, "is_nan"),
    by_rule("nanvl", "DOUBLE DOUBLE", t.DOUBLE, "kernel nan_to", _where_nan),
    by_kernel("bit_count", "INTEGER", t.INT, "bit_count"),
    by_kernel("bit_count", "BOOLEAN", t.INT, "bit_count"),
    *(
        by_kernel(name, f"{kind} INT", gives, "shift", direction)
        for name, direction in (
            ("shiftleft", "left"),
            ("shiftright", "right"),
            ("shiftrightunsigned", "unsigned"),
        )
        for kind, gives in (("INT", t.INT), ("BIGINT", t.LONG))
    ),
    by_kernel("factorial", "INT", t.LONG, "factorial"),
    by_kernel("conv", "STRING INT INT", t.STRING, "convert_base", can_fail=True, ansi_only=True),
    by_kernel("width_bucket", "DOUBLE DOUBLE DOUBLE BIGINT", t.LONG, "width_bucket"),
    by_kernel("bin", "BIGINT", t.STRING, "binary_digits"),
    by_rule("bin", "NUMERIC", t.STRING, "kernel binary_digits", _binary_digits),
]
