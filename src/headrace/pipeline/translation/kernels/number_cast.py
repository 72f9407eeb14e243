"""Kernels for casts between numbers, and of numbers to strings, as in Java.

If a value does not fit, the parameter decides the result: `cut` keeps the low bits or the nearest
bound, `null` and `soft` return null, `raise` is an error.
"""

import math
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.java_number import (
    agreed,
    double_decimals,
    double_text,
    float_text,
)
from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.cast import nearest_float
from headrace.pipeline.translation.kernels.number import SparkArithmeticError
from headrace.pipeline.translation.kernels.row import by_distinct

_WIDE = Context(prec=400)
_JAVA_DIGITS = Context(prec=34)
"""The number of digits with which Spark converts a double to a decimal."""
_INT_BITS = 32


@kernel
def float_to_text(call: KernelCall, values: pa.Array) -> pa.Array:
    """Format a float or a double."""
    written = float_text if values.type == pa.float32() else double_text
    return by_distinct(written, call.gives, values)


@kernel
def decimal_to_text(call: KernelCall, values: pa.Array) -> pa.Array:
    """Format a decimal, with an exponent if it is small."""
    return by_distinct(str, call.gives, values)


def _wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def _fits(value: int, bits: int) -> bool:
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


@kernel
def integer_to_integer(call: KernelCall, values: pa.Array) -> pa.Array:
    """Cast to a narrower integer."""
    bits, keep = call.gives.bit_width, call.parameters[0] == "cut"

    def cast(value: int) -> int | None:
        return _wrapped(value, bits) if keep or _fits(value, bits) else None

    return by_distinct(cast, call.gives, values)


@kernel
def decimal_to_integer(call: KernelCall, values: pa.Array) -> pa.Array:
    """Truncate a decimal."""
    bits, keep = call.gives.bit_width, call.parameters[0] == "cut"

    def cast(value: Decimal) -> int | None:
        whole = int(value)
        return _wrapped(whole, bits) if keep or _fits(whole, bits) else None

    return by_distinct(cast, call.gives, values)


@kernel
def float_to_integer(call: KernelCall, values: pa.Array) -> pa.Array:
    """Truncate a float."""
    bits, mode = call.gives.bit_width, call.parameters[0]
    low, high = -float(1 << (bits - 1)), float((1 << (bits - 1)) - 1)
    wide = max(bits, _INT_BITS)
    most = (1 << (wide - 1)) - 1

    def cast(value: float) -> int | None:
        is_inside = math.isfinite(value) and math.floor(value) <= high and math.ceil(value) >= low
        if not is_inside and mode != "cut":
            if mode == "raise":
                raise SparkArithmeticError(f"{value} does not fit into {call.gives}")
            return None
        if math.isnan(value):
            return 0
        whole = most if value >= most else -most - 1 if value <= -most - 1 else int(value)
        return _wrapped(whole, bits)

    return by_distinct(cast, call.gives, values)


@kernel
def number_to_decimal(call: KernelCall, values: pa.Array) -> pa.Array:
    """Round a number half up to a decimal; a value that does not fit is an error, or null.

    NaN and infinities are null.
    """
    step = Decimal(1).scaleb(-call.gives.scale)

    def cast(value: float | Decimal) -> Decimal | None:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if isinstance(value, float):
            candidates = [_JAVA_DIGITS.plus(d) for d in double_decimals(value)]
            rounded = agreed(_rounded(d, step) for d in candidates)
        else:
            rounded = _rounded(Decimal(value), step)
        if len(rounded.as_tuple().digits) <= call.gives.precision:
            return rounded
        if call.parameters:
            return None
        raise SparkArithmeticError(f"{value} does not fit into {call.gives}")

    return by_distinct(cast, call.gives, values)


def _rounded(value: Decimal, step: Decimal) -> Decimal:
    return value.quantize(step, rounding=ROUND_HALF_UP, context=_WIDE)


@kernel
def decimal_to_float(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the 32-bit float nearest to a decimal."""
    return by_distinct(lambda value: nearest_float(str(value)), call.gives, values)


@kernel
def double_to_float(_: KernelCall, values: pa.Array) -> pa.Array:
    """Return the 32-bit float nearest to a double."""
    return pc.cast(values, pa.float32(), safe=False)


@kernel
def boolean_to_number(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return 1 for true and 0 for false."""
    true_value, false_value = (
        pa.scalar(number, pa.int32()).cast(pa.float64()) for number in (1, 0)
    )
    return pc.if_else(values, true_value, false_value).cast(call.gives)


@kernel
def number_to_boolean(_: KernelCall, values: pa.Array) -> pa.Array:
    """Return whether a number is not zero; NaN is not."""
    zero = Decimal(0) if pa.types.is_decimal(values.type) else 0
    return pc.not_equal(values, pa.scalar(zero, values.type))
