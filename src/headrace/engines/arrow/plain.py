"""One form for texts: writers may store an Arrow schema that asks for dictionaries or large text.

Everything above this engine may then rely on plain `string` columns.
"""

import pyarrow as pa

_TEXT = frozenset({pa.large_string(), pa.string_view(), pa.string()})


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows with plain texts; nothing is copied where they already are."""
    schema = pa.schema([field.with_type(_plain(field.type)) for field in batch.schema])
    return batch if schema.equals(batch.schema) else batch.cast(schema)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if kind in _TEXT:
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), kind.item_field.with_type(_plain(kind.item_type)))
    return kind
