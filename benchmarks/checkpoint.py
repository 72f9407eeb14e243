"""Write checkpoints as Parquet: classic, multi-part, or V2 with sidecars, by row group."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.parameter import Layout, Parameters, Values
from benchmarks.synthetic import DAYS, EPOCH_MS, REGIONS, Files, Texts

Batch: TypeAlias = Any
"""A `pyarrow.RecordBatch`."""
Column: TypeAlias = Any
"""A `pyarrow.Array`."""

VERSION = 1000
"""The version of the checkpoint; the commits before it are cleaned up."""
_DELETED_MS = EPOCH_MS + 10**9

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
_ROW_IDS = {"baseRowId": pa.int64(), "defaultRowCommitVersion": pa.int64()}
_ADD = {
    "path": pa.string(),
    "partitionValues": _TEXT_MAP,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "dataChange": pa.bool_(),
    "stats": pa.string(),
    "tags": _TEXT_MAP,
    "deletionVector": _VECTOR,
    **_ROW_IDS,
    "clusteringProvider": pa.string(),
}
_COLUMNS = {
    "id": pa.int64(),
    "ts": pa.timestamp("us", tz="UTC"),
    "amount": pa.float64(),
    "name": pa.string(),
}
_PARSED = {
    "partitionValues_parsed": pa.struct({"date": pa.date32(), "region": pa.string()}),
    "stats_parsed": pa.struct(
        {
            "numRecords": pa.int64(),
            "minValues": pa.struct(_COLUMNS),
            "maxValues": pa.struct(_COLUMNS),
            "nullCount": pa.struct(dict.fromkeys(_COLUMNS, pa.int64())),
        }
    ),
}
_REMOVE = pa.struct(
    {
        "path": pa.string(),
        "deletionTimestamp": pa.int64(),
        "dataChange": pa.bool_(),
        "extendedFileMetadata": pa.bool_(),
        "partitionValues": _TEXT_MAP,
        "size": pa.int64(),
        "deletionVector": _VECTOR,
        **_ROW_IDS,
    }
)
_NAMES = pa.list_(pa.string())
_OTHERS = {
    "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
    "metaData": pa.struct(
        {
            "id": pa.string(),
            "name": pa.string(),
            "description": pa.string(),
            "format": pa.struct({"provider": pa.string(), "options": _TEXT_MAP}),
            "schemaString": pa.string(),
            "partitionColumns": _NAMES,
            "configuration": _TEXT_MAP,
            "createdTime": pa.int64(),
        }
    ),
    "protocol": pa.struct(
        {
            "minReaderVersion": pa.int32(),
            "minWriterVersion": pa.int32(),
            "readerFeatures": _NAMES,
            "writerFeatures": _NAMES,
        }
    ),
    "domainMetadata": pa.struct(
        {"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}
    ),
}
_MANIFEST = {
    "checkpointMetadata": pa.struct({"version": pa.int64(), "tags": _TEXT_MAP}),
    "sidecar": pa.struct(
        {
            "path": pa.string(),
            "sizeInBytes": pa.int64(),
            "modificationTime": pa.int64(),
            "tags": _TEXT_MAP,
        }
    ),
}
_DATES = pa.array([date.fromisoformat(day) for day in DAYS])
_REGIONS = pa.array(REGIONS)


def leaf_schema(parameters: Parameters) -> Any:
    """Return the schema of the file that holds adds; a sidecar holds nothing else."""
    parsed = _PARSED if parameters.values is Values.PARSED else {}
    files = {"add": pa.struct(_ADD | parsed), "remove": _REMOVE}
    return pa.schema(files if parameters.layout is Layout.V2 else files | _OTHERS)


def manifest_schema() -> Any:
    """Return the schema of a V2 checkpoint's manifest."""
    return pa.schema({"add": pa.struct(_ADD), "remove": _REMOVE} | _OTHERS | _MANIFEST)


def other_actions(schema: Any, actions: Iterable[Mapping[str, Any]]) -> Batch:
    """Return actions other than files, one per row."""
    rows = [{name: _as_pairs(value) for name, value in action.items()} for action in actions]
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def add_actions(schema: Any, files: Files, statistics: Texts) -> Batch:
    """Return adds, one per row."""
    columns = {
        "path": files.paths,
        "partitionValues": _partition_values(files),
        "size": pa.array(files.sizes),
        "modificationTime": pa.array(files.modified_ms),
        "dataChange": _repeat(False, len(files)),
        "stats": statistics,
    }
    kind = schema.field("add").type
    if kind.get_field_index("stats_parsed") >= 0:
        columns |= _parsed(files)
    return _rows(schema, "add", _struct(kind, columns, len(files)))


def remove_actions(schema: Any, files: Files) -> Batch:
    """Return tombstones, one per row."""
    columns = {
        "path": files.paths,
        "deletionTimestamp": _repeat(_DELETED_MS, len(files)),
        "dataChange": _repeat(True, len(files)),
        "extendedFileMetadata": _repeat(True, len(files)),
        "partitionValues": _partition_values(files),
        "size": pa.array(files.sizes),
    }
    return _rows(schema, "remove", _struct(_REMOVE, columns, len(files)))


def write_parquet(path: Path, schema: Any, batches: Iterable[Batch], like: Parameters) -> int:
    """Write one file, with all row groups full except the last; return its number of rows."""
    rows = 0
    # Other writers store no Arrow schema in the footer, so this one does not either.
    with pq.ParquetWriter(path, schema, compression=like.codec, store_schema=False) as writer:
        for group in _regrouped(batches, like.row_group_rows):
            writer.write_table(group, row_group_size=like.row_group_rows)
            rows += group.num_rows
    return rows


def leaf_names(parameters: Parameters) -> list[str]:
    """Return the names of the files that hold adds, below the log."""
    head = f"{VERSION:020d}.checkpoint"
    parts = parameters.parts
    match parameters.layout:
        case Layout.CLASSIC:
            return [f"{head}.parquet"]
        case Layout.MULTI_PART:
            return [f"{head}.{part + 1:010d}.{parts:010d}.parquet" for part in range(parts)]
        case Layout.V2:
            return [f"_sidecars/{_uuid(parameters, part)}.parquet" for part in range(parts)]


def manifest_name(parameters: Parameters) -> str:
    """Return the name of a V2 checkpoint's manifest, below the log."""
    return f"{VERSION:020d}.checkpoint.{_uuid(parameters, parameters.parts)}.parquet"


def _uuid(parameters: Parameters, index: int) -> uuid.UUID:
    return uuid.UUID(bytes=np.random.default_rng([parameters.seed, index]).bytes(16))


def _regrouped(batches: Iterable[Batch], rows: int) -> Iterator[Any]:
    held: list[Batch] = []
    for batch in batches:
        held.append(batch)
        while sum(map(len, held)) >= rows:
            table = pa.Table.from_batches(held)
            yield table.slice(0, rows)
            held = table.slice(rows).to_batches()
    if held:
        yield pa.Table.from_batches(held)


def _rows(schema: Any, name: str, column: Column) -> Batch:
    columns = [column if f.name == name else pa.nulls(len(column), f.type) for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _struct(kind: Any, arrays: Mapping[str, Column], size: int) -> Column:
    columns = [arrays[f.name] if f.name in arrays else pa.nulls(size, f.type) for f in kind]
    return pa.StructArray.from_arrays(columns, fields=list(kind))


def _partition_values(files: Files) -> Column:
    size = len(files)
    words = pa.array(["date", "region", *DAYS, *REGIONS])
    keys = words.take(pa.array(np.tile(np.array([0, 1]), size)))
    places = np.stack([files.days + 2, files.regions + 2 + len(DAYS)], axis=1).ravel()
    offsets = pa.array(np.arange(0, 2 * size + 1, 2, dtype=np.int32))
    return pa.MapArray.from_arrays(offsets, keys, words.take(pa.array(places)))


def _parsed(files: Files) -> dict[str, Column]:
    size, bounds = len(files), files.bounds()
    partition = {
        "date": _DATES.take(pa.array(files.days)),
        "region": _REGIONS.take(pa.array(files.regions)),
    }
    statistics: dict[str, Column] = {"numRecords": pa.array(files.records)}
    for field, side in (("minValues", 0), ("maxValues", 1)):
        values = {name: bounds[name][side].cast(kind) for name, kind in _COLUMNS.items()}
        statistics[field] = _struct(pa.struct(_COLUMNS), values, size)
    none = _repeat(0, size)
    nulls = {"id": none, "ts": none, "amount": _repeat(12, size)}
    nulls["name"] = pa.array(files.null_names())
    kinds = _PARSED["stats_parsed"]
    statistics["nullCount"] = _struct(kinds.field("nullCount").type, nulls, size)
    return {
        "partitionValues_parsed": _struct(_PARSED["partitionValues_parsed"], partition, size),
        "stats_parsed": _struct(kinds, statistics, size),
    }


def _repeat(value: bool | int, size: int) -> Column:  # noqa: FBT001  (a value, not a mode)
    return pa.repeat(pa.scalar(value), size)


def _as_pairs(value: Any) -> Any:
    """Convert dicts that are maps in Parquet to lists of pairs."""
    if not isinstance(value, Mapping):
        return value
    below = {name: members for name, members in value.items() if isinstance(members, Mapping)}
    maps = {"options", "configuration", "tags"} & below.keys()
    inner = {name: _as_pairs(members) for name, members in below.items()}
    return {**value, **inner, **{name: list(below[name].items()) for name in maps}}
