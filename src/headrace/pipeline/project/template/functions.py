"""Functions that the views of this project may call: Python over Arrow arrays."""

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline import function


@function("DECIMAL(12,2)", returns="STRING")
def size_of_order(amounts: pa.Array) -> pa.Array:
    """Whether an order is small, medium or large."""
    large, medium = pc.greater_equal(amounts, 100), pc.greater_equal(amounts, 20)
    return pc.if_else(large, "large", pc.if_else(medium, "medium", "small"))
