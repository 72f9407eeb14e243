"""Converts any batch of adds into columns.

Batches of any kind enter; `ColumnBatch` values leave. Batches of a checkpoint pass unchanged; adds
that were decoded one by one become the Arrow columns that a checkpoint would have. Code outside
this engine calls it instead of checking the type of a batch.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa

from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.plan.batch import ActionBatch
from headrace.protocol import light
from headrace.protocol.action import Add

_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_VECTOR_ATTRIBUTES = ["storage_type", "path_or_inline_dv", "offset", "size_in_bytes", "cardinality"]
"""The attributes of a deletion vector, in the order of its columns."""


def add_columns(batch: ActionBatch, fields: Collection[str]) -> ColumnBatch:
    """Return the adds of a batch by column: the path, and at least the requested fields."""
    if isinstance(batch, ColumnBatch):
        return batch
    adds = batch.actions("add")
    arrays = {
        name: make(adds) for name, make in _COLUMNS.items() if name in fields or name == "path"
    }
    struct = pa.StructArray.from_arrays(list(arrays.values()), list(arrays))
    return ColumnBatch(batch.source, pa.RecordBatch.from_arrays([struct], ["add"]))


def _text_maps(maps: Sequence[Mapping[str, str | None] | None]) -> pa.MapArray:
    """Build maps from flat lists of keys and values, much faster than from lists of pairs."""
    sizes = [0 if entries is None else len(entries) for entries in maps]
    offsets = np.zeros(len(maps) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    present = [entries for entries in maps if entries is not None]
    return pa.MapArray.from_arrays(
        light.from_numpy(offsets),
        light.array([key for entries in present for key in entries], pa.string()),
        light.array([value for entries in present for value in entries.values()], pa.string()),
        mask=light.array([entries is None for entries in maps], pa.bool_())
        if len(present) < len(maps)
        else None,
    )


def _vectors(adds: Sequence[Add]) -> pa.StructArray:
    vectors = [add.deletion_vector for add in adds]
    columns = (
        [getattr(vector, attribute, None) for vector in vectors] for attribute in _VECTOR_ATTRIBUTES
    )
    return pa.StructArray.from_arrays(
        [light.array(column, field.type) for column, field in zip(columns, _VECTOR, strict=True)],
        fields=list(_VECTOR),
        mask=light.array([vector is None for vector in vectors], pa.bool_()),
    )


_COLUMNS: dict[str, Callable[[Sequence[Add]], pa.Array]] = {
    "path": lambda adds: light.array([add.path for add in adds], pa.string()),
    "size": lambda adds: light.array([add.size for add in adds], pa.int64()),
    "modificationTime": lambda adds: light.array([a.modification_time for a in adds], pa.int64()),
    "partitionValues": lambda adds: _text_maps([add.partition_values for add in adds]),
    "stats": lambda adds: light.array([add.stats for add in adds], pa.string()),
    "tags": lambda adds: _text_maps([add.tags for add in adds]),
    "deletionVector": _vectors,
    "baseRowId": lambda adds: light.array([add.base_row_id for add in adds], pa.int64()),
    "defaultRowCommitVersion": lambda adds: light.array(
        [add.default_row_commit_version for add in adds], pa.int64()
    ),
    "clusteringProvider": lambda adds: light.array(
        [add.clustering_provider for add in adds], pa.string()
    ),
}
