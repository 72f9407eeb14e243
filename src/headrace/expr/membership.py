"""Test which of many ranges contain any of a list of values.

Values, and arrays of lower and upper ends, enter; a mask leaves, for predicates with IN.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.protocol import light

_FEW = 8
"""Up to this many values, testing each one in turn is faster than sorting."""


def any_between(values: pa.Array, *, lower: pa.Array, upper: pa.Array) -> pa.BooleanArray:
    """Return whether each range contains a value; a null end is unbounded. No value may be NaN."""
    if len(values) <= _FEW:
        contains = pa.repeat(light.FALSE, len(lower))
        for value in values:
            above = pc.fill_null(pc.less_equal(lower, value), light.TRUE)
            below = pc.fill_null(pc.greater_equal(upper, value), light.TRUE)
            contains = pc.or_(contains, pc.and_(above, below))
        return contains
    ordered = values.take(pc.array_sort_indices(values))
    # A range contains a value if the first value at or above its lower end is within its upper end.
    first = ordered.take(_first_at_or_above(lower, ordered))
    return pc.and_(first.is_valid(), pc.fill_null(pc.less_equal(first, upper), light.TRUE))


def _first_at_or_above(lower: pa.Array, ordered: pa.Array) -> pa.Int64Array:
    """Return the index of the first value at or above each lower end; null if there is none."""
    size = len(lower)
    order = light.to_numpy(pc.array_sort_indices(pa.concat_arrays([lower, ordered])))
    is_value = order >= size
    # The sort is stable and the ends come first, so an end precedes the values equal to it.
    passed = np.cumsum(is_value)
    indices = np.empty(size, dtype=np.int64)
    indices[order[~is_value]] = passed[~is_value]
    indices[light.to_numpy(lower.is_null())] = 0
    return light.from_numpy(indices, is_null=indices == len(ordered))
