"""Kernels for numbers: checked arithmetic, rounding, bits, and floats in Spark's order."""

import math
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.java_number import agreed, double_decimals
from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.row import by_distinct, where_valid
from headrace.pipeline.translation.kernels.word import ascii_upper

_WIDE = Context(prec=120, rounding=ROUND_HALF_UP)
_JAVA_INT_BITS = 32


class SparkArithmeticError(ArithmeticError):
    """Spark's ANSI error for arithmetic."""


@kernel
def add(_: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Add integers; an overflow is an error."""
    return pc.add_checked(left, right)


@kernel
def subtract(_: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Subtract integers; an overflow is an error."""
    return pc.subtract_checked(left, right)


@kernel
def multiply(_: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Multiply integers; an overflow is an error."""
    return pc.multiply_checked(left, right)


@kernel
def negate(_: KernelCall, values: pa.Array) -> pa.Array:
    """Negate integers; an overflow is an error."""
    return pc.negate_checked(values)


@kernel
def wrapped_negate(_: KernelCall, values: pa.Array) -> pa.Array:
    """Negate integers; an overflow wraps around."""
    return pc.negate(values)


@kernel
def wrapped_quotient(_: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Divide integers, towards zero; an overflow wraps around, division by zero is an error."""
    is_minus_one = pc.equal(right, pa.scalar(-1, right.type))
    plain = pc.if_else(is_minus_one, pa.scalar(1, right.type), where_valid(right, left))
    quotients = pc.divide_checked(left, plain)
    return pc.if_else(is_minus_one, pc.negate(quotients), quotients)


@kernel
def absolute(_: KernelCall, values: pa.Array) -> pa.Array:
    """Return the absolute value of integers; an overflow is an error."""
    return pc.abs_checked(values)


@kernel
def divide(_: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Divide doubles; division by zero is an error unless the dividend is null."""
    return pc.divide_checked(left, where_valid(right, left))


@kernel
def quotient(_: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Divide integers, towards zero."""
    return pc.divide_checked(left, where_valid(right, left))


@kernel
def remainder(_: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the remainder, with the sign of the dividend; division by zero is an error."""
    right = where_valid(right, left)
    _refuse_zero(right)
    left = where_valid(left, right)
    divisor = np.asarray(pc.fill_null(right, 1))
    dividend = np.asarray(pc.fill_null(left, 0))
    with np.errstate(all="ignore"):
        result = np.fmod(dividend, divisor)
    return where_valid(pa.array(result, left.type, from_pandas=False), left, right)


@kernel
def positive_remainder(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the remainder that is not negative (`pmod`)."""
    plain = remainder(call, left, right)
    # Java adds bytes and shorts as integers, and so they do not wrap.
    is_short = pa.types.is_integer(plain.type) and plain.type.bit_width < _JAVA_INT_BITS
    kind = pa.int32() if is_short else plain.type
    divisor = right.cast(kind)
    wrapped = remainder(call, pc.add(plain.cast(kind), divisor), divisor).cast(plain.type)
    return pc.if_else(pc.less(plain, pa.scalar(0, plain.type)), wrapped, plain)


def _refuse_zero(values: pa.Array) -> None:
    if pc.any(pc.equal(values, pa.scalar(0, values.type))).as_py():
        raise SparkArithmeticError("division by zero")


@kernel
def normal(_: KernelCall, values: pa.Array) -> pa.Array:
    """Normalize floats so that their bits order and group as in Spark: one zero, one NaN."""
    plain = pc.add(values, pa.scalar(0.0, values.type))
    return pc.if_else(pc.is_nan(plain), pa.scalar(float("nan"), values.type), plain)


@kernel
def float_order(_: KernelCall, values: pa.Array) -> pa.Array:
    """Map floats to integers in the same order: NaN is the greatest, and there is one zero."""
    doubles = normal(_, values.cast(pa.float64()))
    bits = np.asarray(pc.fill_null(doubles, 0.0)).view(np.int64)
    ordered = np.where(bits < 0, bits ^ np.int64((1 << 63) - 1), bits)
    return where_valid(pa.array(ordered), values)


@kernel
def float_value(call: KernelCall, orders: pa.Array) -> pa.Array:
    """Return the floats that `float_order` mapped."""
    order = np.asarray(pc.fill_null(orders, 0))
    bits = np.where(order < 0, order ^ np.int64((1 << 63) - 1), order)
    return where_valid(pa.array(bits.view(np.float64)), orders).cast(call.gives)


@kernel
def double_floor(call: KernelCall, values: pa.Array) -> pa.Array:
    """Round down to a BIGINT; a value that does not fit is an error, or saturates."""
    return _saturated(np.floor, values, call)


@kernel
def double_ceil(call: KernelCall, values: pa.Array) -> pa.Array:
    """Round up to a BIGINT; a value that does not fit is an error, or saturates."""
    return _saturated(np.ceil, values, call)


def _saturated(rounded: Any, values: pa.Array, call: KernelCall) -> pa.Array:
    doubles = np.asarray(pc.fill_null(values, 0.0))
    if call.parameters and np.any((doubles < -(2.0**63)) | (doubles >= 2.0**63)):
        raise SparkArithmeticError("a double does not fit into BIGINT")
    finite = np.nan_to_num(np.asarray(pc.fill_null(values, 0.0)), nan=0.0)
    with np.errstate(all="ignore"):
        whole = rounded(finite)
        inside = np.where(np.abs(whole) < 2.0**63, whole, 0.0).astype(np.int64)
    info = np.iinfo(np.int64)
    filled = np.where(whole >= 2.0**63, info.max, np.where(whole < -(2.0**63), info.min, inside))
    return where_valid(pa.array(filled, call.gives), values)


@kernel
def integer_round(call: KernelCall, values: pa.Array) -> pa.Array:
    """Round an integer at a place before the decimal point."""
    places, mode = int(call.parameters[0]), call.parameters[1]
    step = Decimal(1).scaleb(-places)
    return by_distinct(
        lambda v: int(Decimal(v).quantize(step, rounding=mode, context=_WIDE)), call.gives, values
    )


@kernel
def double_round(call: KernelCall, values: pa.Array) -> pa.Array:
    """Round a double by its shortest decimal text, as Spark does."""
    places, mode = int(call.parameters[0]), call.parameters[1]
    step = Decimal(1).scaleb(-places)
    wide = Context(prec=800)

    def rounded(value: float) -> float:
        if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
            return value
        decimals = double_decimals(value)
        return agreed(float(d.quantize(step, rounding=mode, context=wide)) for d in decimals)

    return by_distinct(rounded, call.gives, values)


HALF_UP, HALF_EVEN = ROUND_HALF_UP, ROUND_HALF_EVEN


@kernel
def square_root(_: KernelCall, values: pa.Array) -> pa.Array:
    """Return the square root; NaN for a negative number."""
    return pc.sqrt(values)


@kernel
def sign(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the sign of a double."""
    return pc.cast(pc.sign(values), call.gives)


@kernel
def nan_to(_: KernelCall, values: pa.Array, instead: pa.Array) -> pa.Array:
    """Replace NaN with another value."""
    return pc.if_else(pc.fill_null(pc.is_nan(values), False), instead, values)


@kernel
def is_nan(_: KernelCall, values: pa.Array) -> pa.Array:
    """Return whether a value is NaN; false for null."""
    return pc.fill_null(pc.is_nan(values), False)


@kernel
def bit_count(call: KernelCall, values: pa.Array) -> pa.Array:
    """Count the set bits, in 64 bits."""
    mask = (1 << 64) - 1
    return by_distinct(lambda v: (int(v) & mask).bit_count(), call.gives, values)


@kernel
def shift(call: KernelCall, values: pa.Array, counts: pa.Array) -> pa.Array:
    """Shift bits as Java does: by the count modulo the width."""
    bits = values.type.bit_width
    mask: int = (1 << bits) - 1
    direction = call.parameters[0]

    def shifted(value: int, count: int) -> int:
        count &= bits - 1
        if direction == "left":
            result = (value << count) & mask
        elif direction == "right":
            result = value >> count
        else:
            result = (value & mask) >> count
        result &= mask
        return result - mask - 1 if result >> (bits - 1) else result

    return by_distinct(shifted, call.gives, values, counts)


@kernel
def factorial(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the factorial of 0 to 20; null for other numbers."""
    table = [1]
    for number in range(1, 21):
        table.append(table[-1] * number)
    return by_distinct(lambda v: table[v] if 0 <= v < len(table) else None, call.gives, values)


@kernel
def convert_base(call: KernelCall, texts: pa.Array, old: pa.Array, new: pa.Array) -> pa.Array:
    """Convert a number to another base (`conv`)."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    top = (1 << 64) - 1

    def converted(text: str, source: int, target: int) -> str | None:
        text = text.strip(" ")
        if not (2 <= source <= 36 and 2 <= abs(target) <= 36) or not text:  # noqa: PLR2004
            return None
        negative = text.startswith("-")
        value = 0
        for letter in ascii_upper(text.removeprefix("-")):
            digit = digits.find(letter)
            if not 0 <= digit < source:
                break
            value = value * source + digit
            if value > top:
                raise SparkArithmeticError(f"conv of {text} overflows")
        if negative and target > 0:
            value = (-value) & top
        if target < 0 and value >> 63:
            value, negative = (1 << 64) - value, True
        shown = "0" if value == 0 else ""
        while value:
            value, digit = divmod(value, abs(target))
            shown = digits[digit] + shown
        return f"-{shown}" if negative and target < 0 else shown

    return by_distinct(converted, call.gives, texts, old, new)


@kernel
def width_bucket(
    call: KernelCall, values: pa.Array, low: pa.Array, high: pa.Array, counts: pa.Array
) -> pa.Array:
    """Return the number of the equal-width bucket that a value belongs to."""

    def bucket(value: float, least: float, most: float, count: int) -> int | None:
        bounds = math.isfinite(least) and math.isfinite(most) and least != most
        if not bounds or count <= 0 or count == (1 << 63) - 1 or math.isnan(value):
            return None
        lower, upper = min(least, most), max(least, most)
        if least < most:
            if value < lower:
                return 0
            if value >= upper:
                return count + 1
            return int(count * (value - lower) / (upper - lower)) + 1
        if value > upper:
            return 0
        if value <= lower:
            return count + 1
        return int(count * (upper - value) / (upper - lower)) + 1

    return by_distinct(bucket, call.gives, values, low, high, counts)
