"""Kernels for arrays of structs: zipped arrays, and the entries of maps."""

import numpy as np
import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.ragged import Ragged, arrays_of, check_keys, maps_of


@kernel
def arrays_zip(call: KernelCall, *columns: pa.Array) -> pa.Array:
    """Make structs from the elements at the same position; shorter arrays are padded with nulls."""
    shapes = [Ragged(column) for column in columns]
    valid = np.logical_and.reduce([shape.valid for shape in shapes])
    lengths = np.where(valid, np.maximum.reduce([shape.lengths for shape in shapes]), 0)
    parents = np.repeat(np.arange(len(valid)), lengths)
    positions = np.arange(len(parents)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    parts = []
    for shape, column in zip(shapes, columns, strict=True):
        parts.append(shape.elements_at(column.values, parents, positions))
    structs = pa.StructArray.from_arrays(parts, fields=list(call.gives.value_type))
    return arrays_of(structs, lengths, valid, call.gives)


@kernel
def map_entries(call: KernelCall, maps: pa.Array) -> pa.Array:
    """Return the entries as structs."""
    shape = Ragged(maps)
    parts = [shape.flat(maps.keys), shape.flat(maps.items)]
    structs = pa.StructArray.from_arrays(parts, fields=list(call.gives.value_type))
    return shape.arrays(structs, call.gives)


@kernel
def map_from_entries(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Make a map from structs of two fields; null if one of them is null."""
    shape = Ragged(rows)
    structs = shape.flat(rows.values)
    absent = structs.is_null().to_numpy(zero_copy_only=False)
    valid = shape.valid & (shape.count_where(absent) == 0)
    places = np.flatnonzero(valid[shape.parents])
    keys, items = (part.take(pa.array(places, pa.int64())) for part in structs.flatten())
    check_keys(shape.parents[places], keys)
    return maps_of(keys, items, np.where(valid, shape.lengths, 0), valid, call.gives)
