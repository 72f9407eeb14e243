"""Kernel that checks the row count of a scalar subquery."""

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel


class SparkSubqueryError(ValueError):
    """Spark's error for a scalar subquery with several rows."""


@kernel
def only_row(_: KernelCall, counts: pa.Array, values: pa.Array) -> pa.Array:
    """Return the values; a count of more than one is an error."""
    if pc.any(pc.greater(counts, 1)).as_py():
        raise SparkSubqueryError("a scalar subquery has more than one row")
    return values
