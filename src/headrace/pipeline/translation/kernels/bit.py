"""Kernels for bits: single bits of numbers, Spark's bitmaps, and exact powers."""

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.java_number import SparkOnlyError
from headrace.pipeline.translation.kernel import KernelCall, kernel, partial_kernel
from headrace.pipeline.translation.kernels.number import SparkArithmeticError
from headrace.pipeline.translation.kernels.row import by_distinct

_BUCKET = 32_768
"""The number of bits of one Spark bitmap."""
_MAX_EXPONENT, _MAX_BASE, _DOUBLE_BITS = 64, 1 << 32, 53


@kernel
def bit_at(call: KernelCall, values: pa.Array, places: pa.Array) -> pa.Array:
    """Return a bit of an integer; a position outside of it is an error."""
    width = values.type.bit_width

    def bit(value: int, place: int) -> int:
        if not 0 <= place < width:
            raise SparkArithmeticError(f"there is no bit {place}")
        return (value >> place) & 1

    return by_distinct(bit, call.gives, values, places)


@kernel
def bitmap_place(_: KernelCall, values: pa.Array) -> pa.Array:
    """Return the position of a number in its bitmap."""
    above = pc.greater(values, 0)
    distance = pc.if_else(above, pc.subtract(values, 1), pc.negate(values))
    return pc.subtract(distance, pc.multiply(pc.divide(distance, _BUCKET), _BUCKET))


@kernel
def bitmap_bucket(_: KernelCall, values: pa.Array) -> pa.Array:
    """Return the number of the bitmap that a number belongs to."""
    above = pc.greater(values, 0)
    after = pc.add(pc.divide(pc.subtract(values, 1), _BUCKET), 1)
    return pc.if_else(above, after, pc.divide(values, _BUCKET))


@kernel
def bytes_bit_count(call: KernelCall, values: pa.Array) -> pa.Array:
    """Count the bits that are set in bytes."""
    return by_distinct(lambda v: int.from_bytes(v).bit_count(), call.gives, values)


@partial_kernel
def exact_power(call: KernelCall, bases: pa.Array, exponents: pa.Array) -> pa.Array:
    """Raise integers to integer powers; if a double holds the result, Java returns it."""

    def power(base: int, exponent: int) -> float:
        if exponent == 0:
            return 1.0
        if 0 < exponent <= _MAX_EXPONENT and abs(base) <= _MAX_BASE:
            result = base**exponent
            if result.bit_length() <= _DOUBLE_BITS:
                return float(result)
        raise SparkOnlyError(f"{base} to the power of {exponent} is not exact; run it on Spark")

    return by_distinct(power, call.gives, bases, exponents)


@kernel
def scale_by(call: KernelCall, values: pa.Array) -> pa.Array:
    """Multiply doubles by a constant."""
    return pc.multiply(values, pa.scalar(float(call.parameters[0])))


@kernel
def round_even(_: KernelCall, values: pa.Array) -> pa.Array:
    """Round a double to the nearest integral value; halves round to even."""
    return pc.round(values, round_mode="half_to_even")
