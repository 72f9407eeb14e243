"""File changes as Arrow batches, with the same content as `FileChange`.

`FileChange` values enter; a record batch leaves.
"""

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from headrace.scan.arrow_files import TEXT_MAP, VECTOR
from headrace.scan.changes import FileChange

SCHEMA = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("uri", pa.string(), nullable=False),
        pa.field("dv_id", pa.string()),
        pa.field("deletion_vector", VECTOR),
        pa.field("size_bytes", pa.int64()),
        pa.field("partition_values", TEXT_MAP),
        pa.field("data_change", pa.bool_(), nullable=False),
    ]
)


def changes_batch(changes: Sequence[FileChange]) -> pa.RecordBatch:
    """Return changes as one batch.

    Raises:
        UnsafePathError: a path leads outside the table.
    """
    vectors = (change.deletion_vector for change in changes)
    maps = (change.partition_values for change in changes)
    columns = {
        "version": [change.version for change in changes],
        "kind": [change.kind.value for change in changes],
        "path": [change.path for change in changes],
        "uri": [change.uri for change in changes],
        "dv_id": [change.dv_id for change in changes],
        "deletion_vector": [None if v is None else msgspec.structs.asdict(v) for v in vectors],
        "size_bytes": [change.size_bytes for change in changes],
        "partition_values": [None if values is None else list(values.items()) for values in maps],
        "data_change": [change.data_change for change in changes],
    }
    arrays = [pa.array(columns[field.name], field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
