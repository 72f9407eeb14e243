"""Which of many ranges hold any of a list of values."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_FEW = 8
"""Up to so many values it is faster to look for each of them in turn."""


def any_between(values: pa.Array, *, lower: pa.Array, upper: pa.Array) -> pa.BooleanArray:
    """Whether some value lies in each range; a null end is open. No value may be NaN."""
    if len(values) <= _FEW:
        found = pa.repeat(False, len(lower))
        for value in values:
            above = pc.fill_null(pc.less_equal(lower, value), True)
            below = pc.fill_null(pc.greater_equal(upper, value), True)
            found = pc.or_(found, pc.and_(above, below))
        return found
    ordered = values.take(pc.array_sort_indices(values))
    # The range holds a value if the first one from its lower end on is not beyond its upper end.
    first = ordered.take(_first_at_or_above(lower, ordered))
    return pc.and_(first.is_valid(), pc.fill_null(pc.less_equal(first, upper), True))


def _first_at_or_above(lower: pa.Array, ordered: pa.Array) -> pa.Int64Array:
    """The place of the first value that is not below each lower end; null if there is none."""
    size = len(lower)
    order = pc.array_sort_indices(pa.concat_arrays([lower, ordered])).to_numpy()
    is_value = order >= size
    # The sort is stable and the ends come first, so that an end stands before its equals.
    passed = np.cumsum(is_value)
    places = np.empty(size, dtype=np.int64)
    places[order[~is_value]] = passed[~is_value]
    places[lower.is_null().to_numpy(zero_copy_only=False)] = 0
    return pa.array(places, mask=places == len(ordered))
