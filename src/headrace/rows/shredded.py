"""Reassembles shredded variants.

A shredded variant stores some of its values in typed columns, at every depth. Its bytes are
assembled from those and from the residual value. Arrow splits the columns; only the bytes, whose
shape differs from row to row, are assembled row by row.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from headrace.protocol import variant
from headrace.protocol.variant import Encode
from headrace.rows.plain import storage_array, storage_type

Encoded: TypeAlias = list[bytes | None]
"""The bytes of each entry; None if it has no value."""


class ReadShredded(msgspec.Struct, frozen=True):
    """A shredded variant."""

    type: pa.StructType
    leaf_columns: frozenset[int]

    def read(self, array: pa.StructArray) -> pa.StructArray:
        """Return the assembled variants.

        Raises:
            pa.ArrowInvalid: the parts do not form a variant.
        """
        metadata: list[bytes] = array.field("metadata").to_pylist()
        try:
            whole = _assembled(array, metadata)
        except variant.InvalidVariantError as error:
            raise pa.ArrowInvalid(str(error)) from error
        values = pa.array([variant.NULL if v is None else v for v in whole], pa.binary())
        parts = {"value": values, "metadata": pa.array(metadata, pa.binary())}
        return pa.StructArray.from_arrays(
            [parts[field.name] for field in self.type],
            fields=list(self.type),
            mask=array.is_null() if array.null_count else None,
        )


def is_shreddable(kind: pa.DataType) -> bool:
    """Whether a typed column can be assembled."""
    kind = storage_type(kind)
    if types.is_struct(kind):
        return all(_is_group(field.type) for field in kind)
    if _is_list(kind):
        return _is_group(kind.value_type)
    return _encoder(kind) is not None


def _is_group(kind: pa.DataType) -> bool:
    """Whether a struct has a residual value, a typed column, or both."""
    if not types.is_struct(kind) or not {field.name for field in kind} <= {"value", "typed_value"}:
        return False
    index = kind.get_field_index("typed_value")
    return index < 0 or is_shreddable(kind.field(index).type)


def _assembled(group: pa.StructArray, metadata: Sequence[bytes]) -> Encoded:
    """Assemble the variants of a group: residual values, typed values, or objects of both."""
    residual_column = _member(group, "value")
    residual_values: Encoded = (
        [None] * len(group) if residual_column is None else residual_column.to_pylist()
    )
    typed = _member(group, "typed_value")
    if typed is None:
        return residual_values
    typed = storage_array(typed)
    if types.is_struct(typed.type):
        return _objects(typed, residual_values, metadata)
    values = _arrays(typed, metadata) if _is_list(typed.type) else _scalars(typed)
    return [
        residual if v is None else v for v, residual in zip(values, residual_values, strict=True)
    ]


def _objects(typed: pa.StructArray, residual_values: Encoded, metadata: Sequence[bytes]) -> Encoded:
    columns = [(field.name, _assembled(typed.field(field.name), metadata)) for field in typed.type]
    whole: Encoded = []
    for row, (is_object, residual) in enumerate(
        zip(typed.is_valid().to_pylist(), residual_values, strict=True)
    ):
        if not is_object:
            whole.append(residual)
            continue
        fields = {} if residual is None else variant.object_fields(residual, metadata[row])
        for name, values in columns:
            value = values[row]
            if value is not None:
                fields[name] = value
        whole.append(variant.encode_object(fields, metadata[row]))
    return whole


def _arrays(typed: pa.Array, metadata: Sequence[bytes]) -> Encoded:
    lengths = pc.fill_null(pc.list_value_length(typed), 0).to_numpy(zero_copy_only=False)
    owners = np.repeat(np.arange(len(typed)), lengths).tolist()
    elements = _assembled(typed.flatten(), [metadata[owner] for owner in owners])
    ends = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    whole: Encoded = []
    for is_array, (start, end) in zip(typed.is_valid().to_pylist(), pairwise(ends), strict=True):
        items = [variant.NULL if e is None else e for e in elements[start:end]]
        whole.append(variant.encode_array(items) if is_array else None)
    return whole


def _scalars(typed: pa.Array) -> Encoded:
    encoder = _encoder(typed.type)
    assert encoder is not None
    plain, encode = encoder
    return [None if v is None else encode(v) for v in typed.cast(plain).to_pylist()]


def _encoder(kind: pa.DataType) -> tuple[pa.DataType, Encode] | None:  # noqa: C901, PLR0912
    """Return the type to convert values to before Python reads them, and their encoder."""
    match kind:
        case _ if types.is_boolean(kind):
            return kind, variant.encode_boolean
        case _ if types.is_integer(kind):
            return pa.int64(), variant.encode_integer
        case _ if types.is_float64(kind):
            return kind, variant.fixed(7, "d")
        case _ if types.is_float32(kind):
            return kind, variant.fixed(14, "f")
        case _ if types.is_decimal(kind):
            return kind, variant.encode_decimal
        case _ if types.is_date32(kind):
            return pa.int32(), variant.fixed(11, "i")
        case _ if types.is_timestamp(kind) and kind.unit in ("us", "ns"):
            number = {"us": 12, "ns": 18}[kind.unit] + (kind.tz is None)
            return pa.int64(), variant.fixed(number, "q")
        case _ if types.is_time64(kind) and kind.unit == "us":
            return pa.int64(), variant.fixed(17, "q")
        case _ if types.is_string(kind) or types.is_large_string(kind):
            return kind, variant.encode_text
        case _ if types.is_fixed_size_binary(kind) and kind.byte_width == 16:  # noqa: PLR2004
            return kind, variant.fixed(20, "16s")
        case _ if types.is_binary(kind) or types.is_large_binary(kind):
            return kind, variant.encode_binary
        case _ if types.is_null(kind):
            return kind, variant.encode_null
        case _:
            return None


def _member(group: pa.StructArray, name: str) -> pa.Array | None:
    return group.field(name) if group.type.get_field_index(name) >= 0 else None


def _is_list(kind: pa.DataType) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind))
