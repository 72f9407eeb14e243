"""Converts all string columns to `string`: writers may store dictionaries or large strings.

Code outside this engine can rely on plain `string` columns. The only exception is the partition
values of a leaf, which may stay coded: evaluating codes is much faster.
"""

from functools import lru_cache

import pyarrow as pa

_CODED_TEXT = pa.dictionary(pa.int32(), pa.string())
_TEXT = frozenset({pa.large_string(), pa.string_view(), pa.string()})


def plain_batch(batch: pa.RecordBatch, *, coded: str | None = None) -> pa.RecordBatch:
    """Return the same rows with plain strings, without a copy if they already are.

    The field named `coded` may stay a map of codes.
    """
    schema = _plain_schema(batch.schema, coded)
    return batch if schema is None else batch.cast(schema)


@lru_cache(maxsize=16)
def _plain_schema(schema: pa.Schema, coded: str | None) -> pa.Schema | None:
    """Return the schema with plain strings; None if it has no others."""
    plain = pa.schema([_plain_field(field, coded) for field in schema])
    return None if plain.equals(schema) else plain


def _plain_field(field: pa.Field, coded: str | None) -> pa.Field:
    if field.name == coded and is_coded(field.type):
        return field
    return field.with_type(_plain(field.type, coded))


def is_coded(kind: pa.DataType) -> bool:
    """Return whether a type is a map whose keys and values are dictionary-coded strings."""
    return bool(pa.types.is_map(kind)) and kind.key_type == kind.item_type == _CODED_TEXT


def _plain(kind: pa.DataType, coded: str | None) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type, coded)
    if kind in _TEXT:
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(field, coded) for field in kind])
    if pa.types.is_map(kind):
        item = kind.item_field.with_type(_plain(kind.item_type, coded))
        return pa.map_(_plain(kind.key_type, coded), item)
    return kind
