"""Converts Arrow types that compute kernels do not support to plain types.

A writer stores its Arrow schema in the footer, and Arrow restores it: string views, list views.
Few kernels support these, so they are converted before anything is computed. Nested arrays are
rebuilt part by part, because Arrow's casts between list types are not reliable.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from headrace.protocol import light

_TEXTS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return the same columns in plain types."""
    return pa.schema(map(_plain_field, schema))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the plain type for a type, at every depth, or the type itself if it is plain."""
    match kind:
        case pa.BaseExtensionType():
            plain = plain_type(kind.storage_type)
            return kind if plain == kind.storage_type else plain
        case _ if types.is_run_end_encoded(kind):
            return plain_type(kind.value_type)
        case _ if types.is_struct(kind):
            return pa.struct(list(map(_plain_field, kind)))
        case _ if types.is_map(kind):
            return pa.map_(_plain_field(kind.key_field), _plain_field(kind.item_field))
        case _ if types.is_fixed_size_list(kind):
            return pa.list_(_plain_field(kind.value_field), kind.list_size)
        case _ if types.is_list_view(kind) or types.is_large_list_view(kind):
            return pa.list_(_plain_field(kind.value_field))
        case _ if types.is_list(kind):
            return pa.list_(_plain_field(kind.value_field))
        case _ if types.is_large_list(kind):
            return pa.large_list(_plain_field(kind.value_field))
        case _:
            return _TEXTS.get(kind, kind)


def plain_array(array: pa.Array) -> pa.Array:
    """Return the same values in the plain type, or the array itself if it is plain."""
    kind, target = array.type, plain_type(array.type)
    if target == kind:
        return array
    if isinstance(array, pa.ExtensionArray):
        return plain_array(array.storage)
    mask = array.is_null() if array.null_count else None
    if types.is_struct(kind):
        members = [plain_array(array.field(index)) for index in range(kind.num_fields)]
        return pa.StructArray.from_arrays(members, fields=list(target), mask=mask)
    if types.is_map(kind):
        lists = as_lists(array)
        entries = lists.flatten()
        key, value = (plain_array(entries.field(index)) for index in (0, 1))
        return pa.MapArray.from_arrays(list_offsets(lists), key, value, type=target, mask=mask)
    if types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(
            plain_array(
                array.values[array.offset * kind.list_size :][: len(array) * kind.list_size]
            ),
            type=target,
            mask=mask,
        )
    if types.is_list(target) or types.is_large_list(target):
        kinds = pa.ListArray if types.is_list(target) else pa.LargeListArray
        offsets = list_offsets(array).cast(pa.int32() if kinds is pa.ListArray else pa.int64())
        return kinds.from_arrays(offsets, plain_array(array.flatten()), type=target, mask=mask)
    return array.cast(target)


def as_lists(array: pa.MapArray) -> pa.ListArray:
    """Return maps as lists of entries, as kernels support only lists."""
    return array.cast(pa.list_(array.type.field(0)))


def storage_type(kind: pa.DataType) -> pa.DataType:
    """Return the storage type of an extension type, or the type itself."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def storage_array(array: pa.Array) -> pa.Array:
    """Return the storage of an extension array, or the array itself."""
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def list_offsets(array: pa.Array) -> pa.Int32Array:
    """Return the offset of each list in the flattened elements of all non-null lists."""
    lengths = pc.list_value_length(array)
    lengths = pc.fill_null(lengths, light.scalar(0, lengths.type))
    offsets = np.zeros(len(array) + 1, np.int32)
    np.cumsum(light.to_numpy(lengths), out=offsets[1:])
    return light.from_numpy(offsets)


def _plain_field(field: pa.Field) -> pa.Field:
    plain = plain_type(field.type)
    return field if plain == field.type else field.with_type(plain)
