"""Kernel of the `try_` functions: another kernel, with null where Spark raises in ANSI mode."""

import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.cast import SparkCastError
from headrace.pipeline.translation.kernels.number import SparkArithmeticError

_RAISED = (SparkArithmeticError, SparkCastError, pa.ArrowInvalid)


@kernel
def attempt(call: KernelCall, *arrays: pa.Array) -> pa.Array:
    """Compute the kernel that the first parameter names; row by row only if a row fails."""
    name, *parameters = call.parameters
    inner = KernelCall(name, tuple(parameters), call.takes, call.gives)
    try:
        return inner.compute(*arrays)
    except _RAISED:
        rows = [
            _row_or_null(inner, [array.slice(i, 1) for array in arrays])
            for i in range(len(arrays[0]))
        ]
        return pa.concat_arrays(rows) if rows else pa.nulls(0, call.gives)


def _row_or_null(inner: KernelCall, arrays: list[pa.Array]) -> pa.Array:
    try:
        return inner.compute(*arrays)
    except _RAISED:
        return pa.nulls(1, inner.gives)
