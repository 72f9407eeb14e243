"""Kernels that are written for one value: computed once for each distinct combination."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def by_distinct(
    compute: Callable[..., Any], gives: pa.DataType, *arrays: pa.Array, nulls: bool = False
) -> pa.Array:
    """Apply a function to each distinct combination of values; null in gives null out.

    Args:
        compute: The function, over Python values.
        gives: The type of its results.
        arrays: The arguments.
        nulls: Whether the function wants to see nulls.
    """
    columns = [array.to_pylist() for array in arrays]
    known: dict[Any, Any] = {}
    results: list[Any] = []
    for row in zip(*columns, strict=True):
        if not nulls and any(value is None for value in row):
            results.append(None)
            continue
        key = repr(row)
        if key not in known:
            known[key] = compute(*row)
        results.append(known[key])
    return pa.array(results, gives)


def where_valid(result: pa.Array, *arrays: pa.Array) -> pa.Array:
    """A result that is null wherever an argument is."""
    for array in arrays:
        if array.null_count:
            result = pc.if_else(pc.is_valid(array), result, pa.scalar(None, result.type))
    return result
