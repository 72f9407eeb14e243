"""Kernel for sums of doubles in row order, as one Spark task adds them.

The sum of doubles depends on the order of addition; a vectorized sum returns different last digits.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, row_ordered_kernel
from headrace.pipeline.translation.kernels.ragged import Ragged


def _groups(rows: pa.Array) -> list[Any]:
    """Return the doubles of each group, without nulls, in order."""
    shape = Ragged(rows)
    values = shape.flat(rows.values)
    present = values.is_valid().to_numpy(zero_copy_only=False)
    ends = np.cumsum(shape.count_where(present))[:-1]
    return np.split(values.drop_null().to_numpy(zero_copy_only=False), ends)


@row_ordered_kernel
def double_sum(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Sum doubles one by one, or average them; null if there are none."""
    average = bool(call.parameters)
    results: list[float | None] = []
    with np.errstate(all="ignore"):
        for group in _groups(rows):
            if not len(group):
                results.append(None)
                continue
            total = float(np.cumsum(group)[-1])  # `cumsum` adds one by one; `sum` does not
            results.append(total / len(group) if average else total)
    return pa.array(results, call.gives)
