"""Kernels for formatted numbers: `to_char`, `to_number`, `format_number`, `format_string`."""

import math
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import pyarrow as pa

from headrace.pipeline.translation.java_number import (
    agreed,
    double_decimals,
    double_text,
    float_text,
)
from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.cast import SparkCastError
from headrace.pipeline.translation.kernels.row import by_distinct
from headrace.pipeline.translation.number_format import NumberFormat, parse_number_format

_MAX_PLACES = 340
"""The most digits after the decimal point that Java writes for a double."""


def _format(call: KernelCall) -> NumberFormat:
    number_format = parse_number_format(call.parameters[0])
    assert number_format is not None
    return number_format


@kernel
def number_to_format(call: KernelCall, values: pa.Array) -> pa.Array:
    """Format a number in one of Spark's formats."""
    form = _format(call)
    return by_distinct(lambda v: form.write(Decimal(v)), call.gives, values)


@kernel
def format_to_number(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Parse a number in one of Spark's formats; other text is an error."""
    form = _format(call)

    def read(text: str) -> Decimal:
        value = form.read(text)
        if value is None:
            raise SparkCastError(f"{text!r} is not of the format {call.parameters[0]}")
        return value

    return by_distinct(read, call.gives, texts)


@kernel
def format_number(call: KernelCall, values: pa.Array, places: pa.Array) -> pa.Array:
    """Format a number with commas and a number of decimal places, rounded half even."""

    def shown(value: Any, count: int) -> str | None:
        if count < 0:
            return None
        if isinstance(value, float):
            if not math.isfinite(value):
                return _not_finite(value)
            count = min(count, _MAX_PLACES)
        return f"{_rounded(value, count):,f}"

    return by_distinct(shown, call.gives, values, places)


@kernel
def format_pattern(call: KernelCall, values: pa.Array) -> pa.Array:
    """Format a number without commas, with at most the given number of decimal places."""
    count = int(call.parameters[0])

    def shown(value: Any) -> str:
        if isinstance(value, float) and not math.isfinite(value):
            return _not_finite(value)
        text = f"{_rounded(value, count):f}"
        return text.rstrip("0").rstrip(".") if "." in text else text

    return by_distinct(shown, call.gives, values)


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"


def _rounded(value: Any, places: int) -> Decimal:
    """Round half even; for a double, Java only knows the digits that it writes."""
    step = Decimal((0, (1,), -places))
    wide = Context(prec=800 + places)

    def rounded(number: Decimal) -> Decimal:
        return number.quantize(step, rounding=ROUND_HALF_EVEN, context=wide)

    if not isinstance(value, float):
        return rounded(Decimal(value))
    exact = rounded(Decimal(value))
    digits = (rounded(d) if rounded(d) == d else exact for d in double_decimals(value))
    return agreed(number.copy_sign(exact) for number in digits)


SPECIFIER = re.compile(r"%(?P<flag>[-0]?)(?P<width>[1-9]\d{0,2})?(?P<kind>[sd])|%%")


@kernel
def format_string(call: KernelCall, *arrays: pa.Array) -> pa.Array:
    """Fill a Java format string with values."""
    written = call.parameters[0]
    kinds = [array.type for array in arrays]

    def filled(*values: Any) -> str:
        waiting = iter(zip(values, kinds, strict=True))

        def fill(match: re.Match[str]) -> str:
            if match["kind"] is None:
                return "%"
            value, kind = next(waiting)
            text = _java_text(value, kind)
            width = int(match["width"] or 0)
            if match["flag"] == "0" and value is not None:
                return f"{value:0{width}d}"
            padding = " " * (width - len(text.encode("utf-16-le")) // 2)
            return text + padding if match["flag"] == "-" else padding + text

        return SPECIFIER.sub(fill, written)

    return by_distinct(filled, call.gives, *arrays, nulls=True)


def _java_text(value: Any, kind: pa.DataType) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value) if kind == pa.float32() else double_text(value)
    return str(value)
