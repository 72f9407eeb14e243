"""The Parquet schema of a checkpoint, for tables with the columns of `tests.lake.action`."""

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

_TEXT_MAP = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    {
        "storageType": pa.string(),
        "pathOrInlineDv": pa.string(),
        "offset": pa.int32(),
        "sizeInBytes": pa.int32(),
        "cardinality": pa.int64(),
    }
)
_BOUNDS = pa.struct({"id": pa.int64()})
_STATISTICS = pa.struct(
    {"numRecords": pa.int64(), "minValues": _BOUNDS, "maxValues": _BOUNDS, "nullCount": _BOUNDS}
)
_ADD = {
    "path": pa.string(),
    "partitionValues": _TEXT_MAP,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "dataChange": pa.bool_(),
    "tags": _TEXT_MAP,
    "deletionVector": _VECTOR,
    "stats": pa.string(),
    "stats_parsed": _STATISTICS,
}
ROW_FIELDS = {
    "baseRowId": pa.int64(),
    "defaultRowCommitVersion": pa.int64(),
    "clusteringProvider": pa.string(),
}
"""The fields of adds in tables with row tracking or clustering."""
_PARTITION = {"part": pa.string(), "n": pa.int32()}
_REMOVE = {
    "path": pa.string(),
    "deletionTimestamp": pa.int64(),
    "dataChange": pa.bool_(),
    "deletionVector": _VECTOR,
}
_METADATA = {
    "id": pa.string(),
    "name": pa.string(),
    "description": pa.string(),
    "format": pa.struct({"provider": pa.string(), "options": _TEXT_MAP}),
    "schemaString": pa.string(),
    "partitionColumns": pa.list_(pa.string()),
    "createdTime": pa.int64(),
    "configuration": _TEXT_MAP,
}
_PROTOCOL = {
    "minReaderVersion": pa.int32(),
    "minWriterVersion": pa.int32(),
    "readerFeatures": pa.list_(pa.string()),
    "writerFeatures": pa.list_(pa.string()),
}
_TXN = {"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}
_DOMAIN = {"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}
_SIDECAR = {"path": pa.string(), "sizeInBytes": pa.int64(), "modificationTime": pa.int64()}

_V1 = {
    "txn": _TXN,
    "add": _ADD,
    "remove": _REMOVE,
    "metaData": _METADATA,
    "protocol": _PROTOCOL,
    "domainMetadata": _DOMAIN,
}
_V2 = _V1 | {"checkpointMetadata": {"version": pa.int64()}, "sidecar": _SIDECAR}


def checkpoint_schema(
    *, v2: bool, typed_values: Sequence[str] = (), row_fields: Collection[str] = ()
) -> pa.Schema:
    """Return the full schema, with typed partition values for the columns in `typed_values`.

    Of the fields in `ROW_FIELDS`, adds have those in `row_fields`.
    """
    columns = _V2 if v2 else _V1
    more = {name: kind for name, kind in ROW_FIELDS.items() if name in row_fields}
    if typed_values:
        more["partitionValues_parsed"] = pa.struct({n: _PARTITION[n] for n in typed_values})
    columns = columns | {"add": _ADD | more}
    return pa.schema({name: pa.struct(fields) for name, fields in columns.items()})


def only_used(schema: pa.Schema, rows: Sequence[dict[str, Any]]) -> pa.Schema:
    """Return the schema with only the columns and fields that have a value in some row."""
    used: dict[str, set[str]] = {}
    for row in rows:
        for column, action in row.items():
            names = {name for name, value in action.items() if value is not None}
            used.setdefault(column, set()).update(names)
    return pa.schema(
        {
            column.name: pa.struct(
                [field for field in column.type if field.name in used[column.name]]
            )
            for column in schema
            if column.name in used
        }
    )
