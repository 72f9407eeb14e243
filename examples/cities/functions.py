"""The functions of this project; Spark and DataFusion run the same code, over Arrow arrays."""

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline import function

LARGE = 75.0


@function("DOUBLE", returns="STRING")
def size_of(amounts: pa.Array) -> pa.Array:
    """Whether a sale is large or small."""
    return pc.if_else(pc.greater_equal(amounts, LARGE), "large", "small")
