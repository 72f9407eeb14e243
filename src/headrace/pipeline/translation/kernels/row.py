"""Runs scalar Python functions over arrays, once for each distinct combination of values.

Kernels that are written for one value use it. Dates and times are passed as numbers.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def by_distinct(
    compute: Callable[..., Any], gives: pa.DataType, *arrays: pa.Array, nulls: bool = False
) -> pa.Array:
    """Apply a function to each distinct combination of values; null arguments return null.

    Args:
        compute: The function, over Python values.
        gives: The type of its results.
        arrays: The arguments.
        nulls: Whether the function receives nulls.
    """
    columns = [plain_values(array) for array in arrays]
    results_by_key: dict[Any, Any] = {}
    results: list[Any] = []
    for row in zip(*columns, strict=True):
        if not nulls and any(value is None for value in row):
            results.append(None)
            continue
        key = repr(row)
        if key not in results_by_key:
            results_by_key[key] = compute(*row)
        results.append(results_by_key[key])
    return pa.array(results, gives)


def plain_values(array: pa.Array) -> list[Any]:
    """Return the values of an array as Python objects, with dates and times as numbers."""
    kind = numbered(array.type)
    return list((array if kind == array.type else array.cast(kind)).to_pylist())


def numbered(kind: pa.DataType) -> pa.DataType:
    """Return a type with numbers for dates and times, which Python has only up to 9999."""
    if pa.types.is_date(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(numbered(kind.value_type)))
    if pa.types.is_map(kind):
        key, item = kind.key_field, kind.item_field
        return pa.map_(key.with_type(numbered(key.type)), item.with_type(numbered(item.type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(numbered(field.type)) for field in kind])
    return kind


def where_valid(result: pa.Array, *arrays: pa.Array) -> pa.Array:
    """Return a result that is null wherever an argument is."""
    for array in arrays:
        if array.null_count:
            result = pc.if_else(pc.is_valid(array), result, pa.scalar(None, result.type))
    return result
