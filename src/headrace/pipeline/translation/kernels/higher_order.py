"""Kernels for functions with lambdas: the body is evaluated once over the elements of all rows.

The first parameter of each kernel is the body. The columns that the body captures are the last
arguments; their values are repeated for each element.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.body import evaluate
from headrace.pipeline.translation.kernels.ragged import Ragged, arrays_of, check_keys, maps_of

_MAX_INSERTED = 31
"""Java sorts longer arrays in several runs."""


class SparkOrderError(ValueError):
    """Spark's result depends on the order in which it reads the values."""


def _over_elements(
    call: KernelCall, rows: pa.Array, captured: tuple[pa.Array, ...], gives: pa.DataType
) -> tuple[Ragged, pa.Array, pa.Array]:
    """Return the shape of the arrays, their elements, and the body over elements and positions."""
    shape = Ragged(rows)
    values = shape.flat(rows.values)
    places = pa.array(shape.positions, pa.int32())
    repeated = [shape.repeat(column) for column in captured]
    return shape, values, evaluate(call.parameters[0], (values, places), repeated, gives)


@kernel
def transform(call: KernelCall, rows: pa.Array, *captured: pa.Array) -> pa.Array:
    """Apply the body to each element."""
    shape, _, results = _over_elements(call, rows, captured, call.gives.value_type)
    return shape.arrays(results, call.gives)


@kernel
def filter_array(call: KernelCall, rows: pa.Array, *captured: pa.Array) -> pa.Array:
    """Keep the elements for which the body is true."""
    shape, values, results = _over_elements(call, rows, captured, pa.bool_())
    keep = _true(results)
    return arrays_of(
        values.filter(pa.array(keep)), shape.count_where(keep), shape.valid, call.gives
    )


@kernel
def exists(call: KernelCall, rows: pa.Array, *captured: pa.Array) -> pa.Array:
    """Return whether the body is true for an element; null if not, but null for one."""
    shape, _, results = _over_elements(call, rows, captured, pa.bool_())
    is_true = shape.count_where(_true(results)) > 0
    unknown = shape.count_where(results.is_null().to_numpy(zero_copy_only=False)) > 0
    return pa.array(is_true, mask=~shape.valid | (unknown & ~is_true))


@kernel
def forall(call: KernelCall, rows: pa.Array, *captured: pa.Array) -> pa.Array:
    """Return whether the body is true for all elements; null if never false, but once null."""
    shape, _, results = _over_elements(call, rows, captured, pa.bool_())
    refuted = shape.count_where(_true(pc.invert(results))) > 0
    unknown = shape.count_where(results.is_null().to_numpy(zero_copy_only=False)) > 0
    return pa.array(~refuted, mask=~shape.valid | (unknown & ~refuted))


def _true(results: pa.Array) -> Any:
    return pc.fill_null(results, False).to_numpy(zero_copy_only=False)


@kernel
def apply(call: KernelCall, values: pa.Array, *captured: pa.Array) -> pa.Array:
    """Apply the body to a value."""
    return evaluate(call.parameters[0], (values,), captured, call.gives)


@kernel
def fold(call: KernelCall, rows: pa.Array, start: pa.Array, *captured: pa.Array) -> pa.Array:
    """Fold the elements into a start value, one element of all rows at a time."""
    shape = Ragged(rows)
    values = shape.flat(rows.values)
    starts = np.cumsum(shape.lengths) - shape.lengths
    total = start.cast(call.gives)
    for step in range(int(shape.lengths.max(initial=0))):
        longer = shape.lengths > step
        longer_rows = pa.array(np.flatnonzero(longer), pa.int64())
        elements = values.take(pa.array(starts[longer] + step, pa.int64()))
        outside = [column.take(longer_rows) for column in captured]
        merged = evaluate(
            call.parameters[0], (total.take(longer_rows), elements), outside, call.gives
        )
        place = np.arange(len(rows))
        place[longer] = len(rows) + np.arange(len(longer_rows))
        total = pa.concat_arrays([total, merged]).take(pa.array(place, pa.int64()))
    return _null_where(total, ~shape.valid)


def _null_where(values: pa.Array, absent: Any) -> pa.Array:
    places = pa.array(np.arange(len(values)), pa.int64(), mask=absent)
    return values.take(places)


@kernel
def zip_with(call: KernelCall, left: pa.Array, right: pa.Array, *captured: pa.Array) -> pa.Array:
    """Apply the body to elements at the same position; the shorter array is padded with nulls."""
    sides = Ragged(left), Ragged(right)
    valid = sides[0].valid & sides[1].valid
    lengths = np.where(valid, np.maximum(sides[0].lengths, sides[1].lengths), 0)
    parents = np.repeat(np.arange(len(left)), lengths)
    positions = np.arange(len(parents)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    variables = []
    for side, rows in zip(sides, (left, right), strict=True):
        variables.append(side.elements_at(rows.values, parents, positions))
    repeated = [column.take(pa.array(parents, pa.int64())) for column in captured]
    results = evaluate(call.parameters[0], variables, repeated, call.gives.value_type)
    return arrays_of(results, lengths, valid, call.gives)


@kernel
def array_sort_by(call: KernelCall, rows: pa.Array, *captured: pa.Array) -> pa.Array:
    """Sort by a comparison, which must order the elements of each array consistently."""
    shape = Ragged(rows)
    values = shape.flat(rows.values)
    counts = shape.lengths * shape.lengths
    parents = np.repeat(np.arange(len(rows)), counts)
    pairs = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = (np.cumsum(shape.lengths) - shape.lengths)[parents]
    first, second = np.divmod(pairs, np.maximum(shape.lengths[parents], 1))
    sides = [values.take(pa.array(starts + side, pa.int64())) for side in (first, second)]
    repeated = [column.take(pa.array(parents, pa.int64())) for column in captured]
    compared = evaluate(call.parameters[0], sides, repeated, pa.int32())
    order = _orders(compared, shape.lengths)
    return shape.arrays(values.take(pa.array(order, pa.int64())), call.gives)


def _orders(compared: pa.Array, lengths: Any) -> Any:
    """Return the old position of each sorted element; each row's comparisons form a square."""
    absent = compared.is_null().to_numpy(zero_copy_only=False)
    signs = np.sign(compared.fill_null(0).to_numpy(zero_copy_only=False))
    orders, start, base = [np.array([], np.int64)], 0, 0
    for length in lengths.tolist():
        end = start + length * length
        square = signs[start:end].reshape(length, length)
        missing = absent[start:end].reshape(length, length)
        ranks = (square > 0).sum(axis=1)
        if missing.any() or not np.array_equal(square, np.sign(ranks[:, None] - ranks[None, :])):
            order = _java_order(square, missing)
        else:
            order = np.argsort(ranks, kind="stable")
        orders.append(base + order)
        start, base = end, base + length
    return np.concatenate(orders)


def _java_order(square: Any, missing: Any) -> Any:
    """Return the order of Java's sort of short arrays for comparisons that contradict each other.

    It takes the initial run, reversed if it descends, and inserts the other elements one by one by
    binary search.
    """
    if len(square) > _MAX_INSERTED:
        raise SparkOrderError("the comparison does not define one order of the elements")

    def is_less(first: int, second: int) -> bool:
        if missing[first, second]:
            raise SparkOrderError("the comparison of two elements is null")
        return bool(square[first, second] < 0)

    if len(square) == 1:
        return np.array([0], np.int64)
    falls = is_less(1, 0)
    run = 2
    while run < len(square) and is_less(run, run - 1) == falls:
        run += 1
    order = list(range(run))[:: -1 if falls else 1]
    for element in range(run, len(square)):
        low, high = 0, len(order)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if is_less(element, order[middle]) else (middle + 1, high)
        order.insert(low, element)
    return np.array(order, np.int64)


def _over_entries(
    call: KernelCall, maps: pa.Array, captured: tuple[pa.Array, ...], gives: pa.DataType
) -> tuple[Ragged, pa.Array, pa.Array, pa.Array]:
    """Return the shape of the maps, their keys and values, and the body over these."""
    shape = Ragged(maps)
    keys, items = shape.flat(maps.keys), shape.flat(maps.items)
    repeated = [shape.repeat(column) for column in captured]
    return shape, keys, items, evaluate(call.parameters[0], (keys, items), repeated, gives)


@kernel
def transform_values(call: KernelCall, maps: pa.Array, *captured: pa.Array) -> pa.Array:
    """Replace each value with the body applied to its entry."""
    shape, keys, _, results = _over_entries(call, maps, captured, call.gives.item_type)
    return maps_of(keys, results, shape.lengths, shape.valid, call.gives)


@kernel
def transform_keys(call: KernelCall, maps: pa.Array, *captured: pa.Array) -> pa.Array:
    """Replace each key with the body applied to its entry; a null or duplicate key is an error."""
    shape, _, items, results = _over_entries(call, maps, captured, call.gives.key_type)
    check_keys(shape.parents, results)
    return maps_of(results, items, shape.lengths, shape.valid, call.gives)


@kernel
def map_filter(call: KernelCall, maps: pa.Array, *captured: pa.Array) -> pa.Array:
    """Keep the entries for which the body is true."""
    shape, keys, items, results = _over_entries(call, maps, captured, pa.bool_())
    keep = _true(results)
    chosen = pa.array(keep)
    lengths = shape.count_where(keep)
    return maps_of(keys.filter(chosen), items.filter(chosen), lengths, shape.valid, call.gives)


@kernel
def map_zip_with(
    call: KernelCall, left: pa.Array, right: pa.Array, *captured: pa.Array
) -> pa.Array:
    """Apply the body to the values of the same key; a map that lacks a key has a null there."""
    sides = Ragged(left), Ragged(right)
    valid = sides[0].valid & sides[1].valid
    keys = pa.concat_arrays([s.flat(m.keys) for s, m in zip(sides, (left, right), strict=True)])
    codes = keys.dictionary_encode().indices.to_numpy()
    parents = np.concatenate([side.parents for side in sides])
    selected = valid[parents]
    # Entries by row, then in the order of the first occurrence of their keys.
    places_by_key: dict[tuple[int, int], list[int]] = {}
    split = len(sides[0].parents)
    for place in np.flatnonzero(selected).tolist():
        entry = places_by_key.setdefault((int(parents[place]), int(codes[place])), [-1, -1])
        entry[place >= split] = place
    entries = sorted(places_by_key.items(), key=lambda pair: pair[0][0])
    rows = np.array([row for (row, _), _ in entries], np.int64)
    places = np.array([pair for _, pair in entries], np.int64).reshape(len(entries), 2)
    first = _taken(sides[0].flat(left.items), places[:, 0])
    second = _taken(sides[1].flat(right.items), places[:, 1] - split)
    shown = keys.take(pa.array(places.max(axis=1, initial=0), pa.int64()))
    repeated = [column.take(pa.array(rows)) for column in captured]
    results = evaluate(call.parameters[0], (shown, first, second), repeated, call.gives.item_type)
    lengths = np.bincount(rows, minlength=len(left))
    return maps_of(shown, results, lengths, valid, call.gives)


def _taken(values: pa.Array, places: Any) -> pa.Array:
    """Return values by position; null where the position is negative."""
    return values.take(pa.array(np.maximum(places, 0), pa.int64(), mask=places < 0))
