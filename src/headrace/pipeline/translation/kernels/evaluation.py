"""Kernel that has its arguments evaluated, so that those that raise do so."""

import numpy as np
import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel


@kernel
def evaluated(_: KernelCall, *values: pa.Array) -> pa.Array:
    """Return true for every row, whatever the values are."""
    return pa.array(np.ones(len(values[0]), bool))
