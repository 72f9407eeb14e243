"""Kernels for generators: an array of structs per row, which DataFusion turns into rows."""

from typing import Any

import numpy as np
import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.ragged import Ragged, arrays_of


class NotToBeRunError(RuntimeError):
    """A plan that only describes what a query reads was run."""


@kernel
def exploded(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Return the elements of an array, the fields of its structs, or the entries of a map.

    The parameters ask for the position of each, or for a row of nulls where there would be none.
    """
    shape = Ragged(rows)
    if pa.types.is_map(rows.type):
        parts = [shape.flat(rows.keys), shape.flat(rows.items)]
    else:
        values = shape.flat(rows.values)
        parts = list(values.flatten()) if "inline" in call.parameters else [values]
    if "pos" in call.parameters:
        parts = [pa.array(shape.positions, pa.int32()), *parts]
    lengths = shape.lengths
    if "outer" in call.parameters:
        lengths = np.maximum(lengths, 1)
        parents = np.repeat(np.arange(len(rows)), lengths)
        absent = shape.lengths[parents] == 0
        places = np.cumsum(~absent) - 1
        parts = [_taken(part, places, absent) for part in parts]
    return _rows(call, parts, lengths)


def _taken(part: pa.Array, places: Any, absent: Any) -> pa.Array:
    return part.take(pa.array(np.maximum(places, 0), pa.int64(), mask=absent))


def _rows(call: KernelCall, parts: list[pa.Array], lengths: Any) -> pa.Array:
    fields = list(call.gives.value_type)
    typed = [part.cast(field.type) for part, field in zip(parts, fields, strict=True)]
    structs = pa.StructArray.from_arrays(typed, fields=fields)
    return arrays_of(structs, lengths, np.ones(len(lengths), bool), call.gives)


@kernel
def stacked(call: KernelCall, *columns: pa.Array) -> pa.Array:
    """Split values into rows of equal length; the last row is padded with nulls."""
    count, width = int(call.parameters[0]), call.gives.value_type.num_fields
    size = len(columns[0])
    parts = []
    for place in range(width):
        kind = call.gives.value_type.field(place).type
        column_parts = [
            columns[n * width + place].cast(kind)
            if n * width + place < len(columns)
            else pa.nulls(size, kind)
            for n in range(count)
        ]
        order = np.arange(count * size).reshape(count, size).T.ravel()
        parts.append(pa.concat_arrays(column_parts).take(pa.array(order, pa.int64())))
    return _rows(call, parts, np.full(size, count))


@kernel
def counted(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Return the integers from one number to another, which is excluded."""
    numbers = np.arange(*map(int, call.parameters), dtype=np.int64)
    values = pa.array(np.tile(numbers, len(rows)), pa.int64())
    return _rows(call, [values], np.full(len(rows), len(numbers)))


@kernel
def one_of(_: KernelCall, rows: pa.Array) -> pa.Array:
    """Represent a generator in a plan that is not run: Substrait cannot express generators."""
    raise NotToBeRunError(f"a plan that only describes a generator was run over {len(rows)} rows")
