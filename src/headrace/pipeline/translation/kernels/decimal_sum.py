"""Kernels for sums of decimals of up to 38 digits, which overflow exactly where Spark's do.

Over a group, Spark checks the sum after each row. Over all rows, and over a window, it checks only
the result: there the upper and lower halves of the 128 bits are summed separately.
"""

from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel, row_ordered_kernel
from headrace.pipeline.translation.kernels.number import SparkArithmeticError

_WIDE = Context(prec=120)


def _halves(values: pa.Array) -> Any:
    """Return the lower and the upper 64 bits of each value."""
    data = np.frombuffer(values.buffers()[1], np.uint64).reshape(-1, 2)
    return data[values.offset : values.offset + len(values)]


@kernel
def upper_half(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the upper 64 bits of decimals, as signed integers."""
    upper = np.ascontiguousarray(_halves(values)[:, 1]).view(np.int64)
    return pa.array(upper, mask=~_valid(values)).cast(call.gives)


@kernel
def lower_half(call: KernelCall, values: pa.Array) -> pa.Array:
    """Return the lower 64 bits of decimals, as unsigned integers."""
    lower = np.ascontiguousarray(_halves(values)[:, 0])
    return pa.array(lower, mask=~_valid(values)).cast(call.gives)


def _valid(values: pa.Array) -> Any:
    return values.is_valid().to_numpy(zero_copy_only=False)


@kernel
def joined_halves(call: KernelCall, upper: pa.Array, lower: pa.Array) -> pa.Array:
    """Combine sums of halves; a sum with too many digits is an error."""
    totals: list[Decimal | None] = []
    for high, low in zip(upper.to_pylist(), lower.to_pylist(), strict=True):
        total = None if high is None else (int(high) << 64) + int(low)
        totals.append(None if total is None else _checked(total, call.gives))
    return pa.array(totals, call.gives)


def _checked(unscaled: int, kind: pa.DataType) -> Decimal:
    if len(str(abs(unscaled))) > kind.precision:
        raise SparkArithmeticError("the sum of decimals overflows")
    return _WIDE.scaleb(Decimal(unscaled), -kind.scale)


@row_ordered_kernel
def stepwise_sum(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Sum the decimals of each group; too many digits after any of them are an error."""
    totals: list[Decimal | None] = []
    for group in rows.to_pylist():
        total: int | None = None
        for value in group or ():
            if value is not None:
                total = (total or 0) + int(_WIDE.scaleb(value, call.gives.scale))
                _checked(total, call.gives)
        totals.append(None if total is None else _checked(total, call.gives))
    return pa.array(totals, call.gives)
