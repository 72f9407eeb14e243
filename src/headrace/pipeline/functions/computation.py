"""Calls the bodies of aggregate, window and table functions, in the same way for all runners.

A runner passes the rows of one group or frame, or a list of rows for each. The body receives the
same in both cases: arrays of the declared types, and in an aggregate the same order of rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import InvalidFunctionError
from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.definition import Function, FunctionKind, whole

_NAN = float("nan")


def row_list_type(function: Function, count: int) -> pa.DataType:
    """Return the type of a group's list of rows, for a number of arguments."""
    return pa.list_(pa.struct(list(_fields(function, count))))


def reduce_rows(function: Function, arrays: Sequence[pa.Array]) -> pa.Scalar:
    """Return the value of one group or frame.

    Raises:
        FunctionFailedError: the body raises.
        InvalidFunctionError: the body returns something other than declared.
    """
    kinds = _kinds(function, len(arrays))
    typed = [_typed(array, kind) for array, kind in zip(arrays, kinds, strict=True)]
    if function.kind is FunctionKind.AGGREGATE:
        order = _order(typed)
        typed = [array.take(order) for array in typed]
    return _scalar(function, function.run(*typed))


def reduce_lists(function: Function, lists: pa.Array, count: int) -> pa.Array:
    """Return the value of each group, given the rows of all groups as one array of lists.

    Raises:
        FunctionFailedError, InvalidFunctionError: as for `reduce_rows`.
    """
    rows = pc.list_flatten(lists)
    sizes = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)
    ends = np.cumsum(sizes)
    columns = [
        _typed(pc.struct_field(rows, [place]), field.type)
        for place, field in enumerate(_fields(function, count))
    ]
    if function.kind is FunctionKind.AGGREGATE:
        groups = pa.array(np.repeat(np.arange(len(lists)), sizes))
        order = _order([groups, *columns])
        columns = [column.take(order) for column in columns]
    values = [
        _scalar(function, function.run(*(column.slice(end - size, size) for column in columns)))
        for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)
    ]
    return _array(values, function.signature.returns)


def compute_table(function: Function, values: Sequence[Any]) -> pa.Table:
    """Return the rows of a table function for one value of each argument.

    Raises:
        FunctionFailedError: the body raises.
        InvalidFunctionError: the body returns something other than declared.
    """
    row = function.signature.returns
    schema = pa.schema([row.field(place) for place in range(row.num_fields)])
    result = function.run(*values)
    try:
        return _table(result, schema)
    except (pa.ArrowException, ValueError, TypeError, KeyError) as error:
        reason = f"it declares the columns {type_text(row)}: {error}"
        raise InvalidFunctionError(function=function.name, reason=reason) from error


def _table(result: Any, schema: pa.Schema) -> pa.Table:
    """Convert the result of a body to the declared columns."""
    if isinstance(result, Mapping):
        missing = [name for name in schema.names if name not in result]
        if missing:
            raise ValueError(f"there is no column {missing[0]}")
        columns = [_column(result[field.name], field.type) for field in schema]
        return pa.Table.from_arrays(columns, schema=schema)
    if isinstance(result, pa.RecordBatch):
        result = pa.Table.from_batches([result])
    if not isinstance(result, pa.Table):
        raise TypeError(f"it returned {type(result).__name__}, not a table")
    return result.select(schema.names).cast(schema)


def compute_row_lists(function: Function, arrays: Sequence[pa.Array], length: int) -> pa.Array:
    """Return the rows of a table function for each row of its arguments, as lists.

    Raises:
        FunctionFailedError, InvalidFunctionError: as for `compute_table`.
    """
    kinds = _kinds(function, len(arrays))
    values = [_typed(a, kind).to_pylist() for a, kind in zip(arrays, kinds, strict=True)]
    calls = zip(*values, strict=True) if values else [()] * length
    tables = [compute_table(function, call) for call in calls]
    ends = np.cumsum([0, *(table.num_rows for table in tables)]).astype(np.int32)
    row = function.signature.returns
    if not tables:
        return pa.array([], pa.list_(row))
    rows = whole(pa.concat_tables(tables).to_struct_array()).cast(row)
    return pa.ListArray.from_arrays(pa.array(ends), rows)


def _fields(function: Function, count: int) -> list[pa.Field]:
    """Return the arguments of one row, as fields of a struct."""
    return [pa.field(f"a{place}", kind) for place, kind in enumerate(_kinds(function, count))]


def _kinds(function: Function, count: int) -> tuple[pa.DataType, ...]:
    kinds = function.signature.argument_types(count)
    if kinds is None:
        reason = f"it takes {function.signature}, not {count} arguments"
        raise InvalidFunctionError(function=function.name, reason=reason)
    return kinds


def _typed(array: Any, kind: pa.DataType) -> pa.Array:
    array = whole(array)
    return array if array.type == kind else array.cast(kind)


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _typed(values, kind)
    return pa.array(values, kind)


def _order(arrays: Sequence[pa.Array]) -> pa.Array:
    """Return the order of rows by all their values, nulls first."""
    keys: list[pa.Array] = []
    for array in arrays:
        if not pa.types.is_floating(array.type):
            keys.append(array)
            continue
        # Comparison does not order the two zeros, and NaNs may differ in their bits: order by one
        # NaN, then by bits.
        plain = pc.if_else(pc.is_nan(array), pa.scalar(_NAN, array.type), array)
        bits = pa.int64() if array.type == pa.float64() else pa.int32()
        keys += [plain, plain.view(bits)]
    if len(keys) == 1:
        return pc.array_sort_indices(keys[0], null_placement="at_start")
    names = [str(place) for place in range(len(keys))]
    ascending = [(name, "ascending", "at_start") for name in names]
    return pc.sort_indices(pa.RecordBatch.from_arrays(keys, names), sort_keys=ascending)


def _scalar(function: Function, value: Any) -> pa.Scalar:
    """Convert the result of a body to the declared type."""
    returns = function.signature.returns
    try:
        if isinstance(value, pa.Scalar):
            return value if value.type == returns else value.cast(returns)
        if isinstance(value, float | np.floating) and not pa.types.is_floating(returns):
            return pa.scalar(value).cast(returns)  # raises where digits would be lost
        return pa.scalar(value, returns)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        returned = value.type if isinstance(value, pa.Scalar) else type(value).__name__
        reason = f"it declares {type_text(returns)} and returned {returned}: {error}"
        raise InvalidFunctionError(function=function.name, reason=reason) from error


def _array(values: Sequence[pa.Scalar], kind: pa.DataType) -> pa.Array:
    return pa.array(values, kind) if values else pa.array([], kind)
