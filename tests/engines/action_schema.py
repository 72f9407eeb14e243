"""The columns of the actions that a checkpoint has once."""

import pyarrow as pa

NAMES = ("protocol", "metaData")
PROTOCOL = pa.struct(
    [
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("readerFeatures", pa.list_(pa.string())),
    ]
)
METADATA = pa.struct(
    [
        ("schemaString", pa.string()),
        ("id", pa.string()),  # the column it is found by, with columns on both sides
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", pa.map_(pa.string(), pa.string())),
        ("createdTime", pa.int64()),
        (
            "format",
            pa.struct([("provider", pa.string()), ("options", pa.map_(pa.string(), pa.string()))]),
        ),
    ]
)
