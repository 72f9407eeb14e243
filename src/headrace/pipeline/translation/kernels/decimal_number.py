"""Kernels for decimals: arithmetic and rounding to the precision and scale of Spark's results."""

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.number import SparkArithmeticError
from headrace.pipeline.translation.kernels.row import by_distinct, where_valid

_WIDE = Context(prec=120, rounding=ROUND_HALF_UP)
NEGATED_DIGITS = 34
"""The digits that Spark keeps when it negates a decimal: those of Scala's default context."""
_NEGATING = Context(prec=NEGATED_DIGITS, rounding=ROUND_HALF_EVEN)
_QUOTIENT_SCALE = 39
"""The scale to which Spark divides decimals before it rounds to that of the result."""


@kernel
def decimal_multiply(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Multiply decimals and round the product half up to the scale of the result."""
    scale = call.gives.scale
    return by_distinct(
        lambda a, b: _fit(_WIDE.multiply(a, b), scale, call.gives), call.gives, left, right
    )


@kernel
def decimal_add(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Add decimals and round the sum half up to the scale of the result."""
    scale = call.gives.scale
    return by_distinct(
        lambda a, b: _fit(_WIDE.add(a, b), scale, call.gives), call.gives, left, right
    )


@kernel
def decimal_subtract(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Subtract decimals and round the difference half up to the scale of the result."""
    scale = call.gives.scale
    return by_distinct(
        lambda a, b: _fit(_WIDE.subtract(a, b), scale, call.gives), call.gives, left, right
    )


@kernel
def decimal_divide(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Divide decimals as Spark does: to 39 digits after the point, then to the result's scale."""
    right = where_valid(right, left)
    if pc.any(pc.equal(right, pa.scalar(Decimal(0), right.type))).as_py():
        raise SparkArithmeticError("division by zero")

    def divided(a: Decimal, b: Decimal) -> Decimal:
        sign = -1 if (a < 0) != (b < 0) else 1
        top, bottom = _unscaled(a, left.type.scale), _unscaled(b, right.type.scale)
        shift = _QUOTIENT_SCALE + right.type.scale - left.type.scale
        whole, remainder = divmod(abs(top) * 10**shift, abs(bottom))
        whole += 2 * remainder >= abs(bottom)
        exact = _WIDE.scaleb(Decimal(sign * whole), -_QUOTIENT_SCALE)
        return _fit(exact, call.gives.scale, call.gives)

    return by_distinct(divided, call.gives, left, right)


def _unscaled(value: Decimal, scale: int) -> int:
    return int(_WIDE.scaleb(value, scale))


def _fit(value: Decimal, scale: int, kind: pa.DataType) -> Decimal:
    rounded = _WIDE.quantize(value, Decimal(1).scaleb(-scale))
    if len(rounded.as_tuple().digits) > kind.precision:
        raise SparkArithmeticError(f"{value} does not fit into {kind}")
    return rounded


@kernel
def decimal_negate(call: KernelCall, values: pa.Array) -> pa.Array:
    """Negate decimals as Spark does, rounded half even to 34 digits; this may overflow the type."""
    return by_distinct(
        lambda v: _fit(_NEGATING.minus(v), call.gives.scale, call.gives), call.gives, values
    )


@kernel
def decimal_absolute(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the absolute value; Spark negates negative decimals and leaves others unchanged."""
    return by_distinct(
        lambda v: _fit(_NEGATING.minus(v), call.gives.scale, call.gives) if v < 0 else v,
        call.gives,
        values,
    )


@kernel
def decimal_to_double(_: KernelCall, values: pa.Array) -> pa.Array:
    """Return the double nearest to a decimal."""
    return pc.cast(pc.cast(values, pa.string()), pa.float64())


@kernel
def decimal_round(call: KernelCall, values: pa.Array) -> pa.Array:
    """Round a decimal: half up, half even, up or down, as the parameter says."""
    places, mode = int(call.parameters[0]), call.parameters[1]
    step = Decimal(1).scaleb(-places)

    def rounded(value: Decimal) -> Decimal:
        return _fit(
            value.quantize(step, rounding=mode, context=_WIDE), call.gives.scale, call.gives
        )

    return by_distinct(rounded, call.gives, values)


@kernel
def in_range(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return decimals unchanged; one with more digits than its type is an error."""
    bounds = pc.min_max(values)
    limit = 10**call.gives.precision
    for bound in (bounds["min"].as_py(), bounds["max"].as_py()):
        if bound is not None and abs(_unscaled(bound, values.type.scale)) >= limit:
            raise SparkArithmeticError(f"{bound} does not fit into {call.gives}")
    return values


@kernel
def decimal_remainder(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the remainder of decimals, with the sign of the dividend."""
    right = where_valid(right, left)
    if pc.any(pc.equal(right, pa.scalar(Decimal(0), right.type))).as_py():
        raise SparkArithmeticError("division by zero")
    return by_distinct(
        lambda a, b: _fit(_WIDE.remainder(a, b), call.gives.scale, call.gives),
        call.gives,
        left,
        right,
    )
