"""Kernels for aggregates that need all values of a group at once.

The values of a group enter as an array, or as null if the group has none; one value leaves.
"""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel, row_ordered_kernel
from headrace.pipeline.translation.kernels.higher_order import SparkOrderError
from headrace.pipeline.translation.kernels.ragged import Ragged
from headrace.pipeline.translation.kernels.row import numbered, plain_values

_BITMAP_BYTES = 4096


def _groups(rows: pa.Array) -> list[list[Any]]:
    """Return the values of each group, without nulls."""
    plain = plain_values(rows)
    return [[value for value in group or () if value is not None] for group in plain]


def _sorted(values: list[Any]) -> list[Any]:
    """Sort values in Spark's order: NaN is the greatest."""
    return sorted(values, key=lambda value: (value != value, 0 if value != value else value))  # noqa: PLR0124


@kernel
def percentile(call: KernelCall, rows: pa.Array, shares: pa.Array) -> pa.Array:
    """Return percentiles of the sorted values, interpolated or not as the parameter says."""
    find = _interpolated if call.parameters[0] == "continuous" else _nearest_rank
    results: list[Any] = []
    for group, share in zip(map(_sorted, _groups(rows)), shares.to_pylist(), strict=True):
        if not group:
            results.append(None)
        elif isinstance(share, list):
            results.append([find(group, float(part)) for part in share])
        else:
            results.append(find(group, float(share)))
    return pa.array(results, call.gives)


def _interpolated(values: list[Any], share: float) -> float:
    position = (len(values) - 1) * share
    lower, higher = int(position), -int(-position // 1)
    low, high = values[lower], values[higher]
    if lower == higher or low == high:
        return float(low)
    return float(low) + (position - lower) * (float(high) - float(low))


def _nearest_rank(values: list[Any], share: float) -> float:
    place = -int(-(len(values) * share) // 1) - 1
    return float(values[max(place, 0)])


@kernel
def mode(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Return the most frequent value; the parameter says which one of several."""
    pick = max if call.parameters[0] == "greatest" else min
    results: list[Any] = []
    for group in _groups(rows):
        counts = Counter(group)
        most = max(counts.values(), default=0)
        ties = [value for value, count in counts.items() if count == most]
        results.append(pick(ties) if ties else None)
    return pa.array(results, call.gives)


@row_ordered_kernel
def first_of(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Return the first element of each array, or the first that is not null."""
    shape = Ragged(rows)
    values = shape.flat(rows.values)
    places = np.arange(len(values))
    if call.parameters[0] == "values":
        places = places[values.is_valid().to_numpy(zero_copy_only=False)]
    parents, first = np.unique(shape.parents[places], return_index=True)
    chosen = np.full(len(rows), -1, np.int64)
    chosen[parents] = places[first]
    return values.take(pa.array(chosen, pa.int64(), mask=chosen < 0))


@row_ordered_kernel
def extreme_by(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Return the first part of the last pair with the greatest or least second part."""
    results: list[Any] = []
    for group in _groups(rows):
        pairs = [(pair["c1"], pair["c0"]) for pair in group if pair["c1"] is not None]
        keys = _sorted(list({repr(key): key for key, _ in pairs}.values()))
        chosen = repr(keys[-1 if call.parameters[0] == "greatest" else 0]) if keys else ""
        values = [value for key, value in pairs if repr(key) == chosen]
        results.append(values[-1] if values else None)
    return pa.array(results, numbered(call.gives)).cast(call.gives)


@kernel
def collected(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Return all values that are not null, or each once; an empty array if there are none."""
    groups = _groups(rows)
    if call.parameters:
        groups = [list(dict.fromkeys(group)) for group in groups]
    return pa.array(groups, numbered(call.gives)).cast(call.gives)


@kernel
def joined_texts(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Join sorted strings with a separator; null if there are none."""
    separator, direction = call.parameters
    groups = [sorted(g, key=str.encode, reverse=direction == "down") for g in _groups(rows)]
    return pa.array([separator.join(g) if g else None for g in groups], call.gives)


@kernel
def bitmap_of(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Set the bits at given positions in a bitmap."""
    results = []
    for group in _groups(rows):
        bits = 0
        for place in group:
            if not 0 <= place < 8 * _BITMAP_BYTES:
                raise SparkOrderError(f"{place} is not a position in a bitmap")
            bits |= 1 << place
        results.append(bits.to_bytes(_BITMAP_BYTES, "little"))
    return pa.array(results, call.gives)


@kernel
def bitmap_merge(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Return the union or intersection of bitmaps; the parameter says which."""
    unite = call.parameters[0] == "or"
    full = (1 << 8 * _BITMAP_BYTES) - 1
    results = []
    for group in _groups(rows):
        bits = 0 if unite else full
        for bitmap in group:
            more = int.from_bytes(bitmap[:_BITMAP_BYTES], "little")
            bits = bits | more if unite else bits & more
        results.append(bits.to_bytes(_BITMAP_BYTES, "little"))
    return pa.array(results, call.gives)
