"""Adapts a snapshot of a Delta table for `sync`: its definition, and its live files as columns.

A file that only a checkpoint has does not say when it was added; its entry says that it was added
at the version of the snapshot.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.avro.field import VECTOR
from headrace.engines.arrow.add_columns import add_columns
from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.errors import CorruptCheckpointError
from headrace.maintain.delta_sync import DeltaVersion
from headrace.maintain.entry_columns import ENTRY_COLUMNS, KEY_HASH, PARTITION, key_hashes
from headrace.maintain.partition_code import PartitionCodes
from headrace.maintain.staging import now_ms
from headrace.maintain.statistic_text import with_typed_statistics
from headrace.protocol import light
from headrace.protocol.action import Metadata
from headrace.protocol.action import Protocol as TableProtocol
from headrace.replay.projection import ADD_FIELDS, ROW_FIELDS
from headrace.scan.live_file import FileContext

_FIELDS = (*ADD_FIELDS, *ROW_FIELDS)
_TYPED_STATISTICS = "stats_parsed"
_PLAIN_FIELDS = ("path", "size", "modificationTime", "stats", "tags", *ROW_FIELDS)
"""The fields of an add that an entry has unchanged."""
_REQUIRED = ("path", "size")
_REQUIRED_OF_VECTOR = ("pathOrInlineDv", "sizeInBytes", "cardinality")


class DeltaSnapshot(Protocol):
    """The parts of a snapshot that `sync` needs."""

    @property
    def version(self) -> int:
        """The version of the snapshot."""

    @property
    def metadata(self) -> Metadata:
        """The table's metadata."""

    @property
    def protocol(self) -> TableProtocol:
        """The table's protocol."""

    @property
    def context(self) -> FileContext:
        """The properties that all files share."""

    def scan(self) -> Any:
        """Return the scan of the live files."""


def delta_version(snapshot: DeltaSnapshot) -> DeltaVersion:
    """Convert a snapshot to a `DeltaVersion`; its files are read lazily."""
    columns = snapshot.context.partition_columns
    names = tuple(column.physical_name for column in columns)
    fields = (*_FIELDS, _TYPED_STATISTICS) if _lacks_texts(snapshot.metadata) else _FIELDS

    def batches(partitions: PartitionCodes) -> Iterator[pa.RecordBatch]:
        scan = snapshot.scan()
        files = size_bytes = 0
        with scan.run(projection=fields) as run:
            for batch in run:
                version = batch.source.version
                entries = _entries(
                    add_columns(batch, fields),
                    version=snapshot.version if version is None else version,
                    names=names,
                    partitions=partitions,
                )
                files += entries.num_rows
                size_bytes += pc.sum(entries.column("size")).as_py() or 0
                yield entries
        scan.compare(files, size_bytes)

    return DeltaVersion(
        version=snapshot.version,
        metadata=_encoded("metaData", snapshot.metadata),
        protocol=_encoded("protocol", snapshot.protocol),
        types={column.physical_name: column.type for column in columns},
        batches=batches,
    )


def _lacks_texts(metadata: Metadata) -> bool:
    """Whether checkpoints have statistics as typed columns alone."""
    written = (metadata.configuration or {}).get("delta.checkpoint.writeStatsAsJson") or "true"
    return written.lower() == "false"


def _encoded(name: str, action: msgspec.Struct) -> str:
    return msgspec.json.encode({name: action}).decode()


def _entries(
    adds: ColumnBatch, *, version: int, names: Sequence[str], partitions: PartitionCodes
) -> pa.RecordBatch:
    """Convert adds to entries that were added at `version`.

    Raises:
        CorruptCheckpointError: a field of an add does not follow the protocol.
    """
    try:
        columns = _columns(adds, version=version, names=names, partitions=partitions)
        ordered = [columns[field.name].cast(field.type) for field in ENTRY_COLUMNS]
        return pa.RecordBatch.from_arrays(ordered, schema=ENTRY_COLUMNS)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise CorruptCheckpointError(path=adds.source.path, reason=str(error)) from error


def _columns(
    adds: ColumnBatch, *, version: int, names: Sequence[str], partitions: PartitionCodes
) -> dict[str, pa.Array]:
    size = len(adds)
    columns: dict[str, pa.Array] = {}
    for name in _PLAIN_FIELDS:
        array = adds.field(name)
        columns[name] = pa.nulls(size, ENTRY_COLUMNS.field(name).type) if array is None else array
    for name in _REQUIRED:
        _require(columns[name], name, adds)
    typed_statistics = adds.field(_TYPED_STATISTICS)
    if typed_statistics is not None and columns["stats"].null_count:
        columns["stats"] = with_typed_statistics(columns["stats"], typed_statistics)
    vectors = _vectors(adds)
    zero = light.scalar(0, pa.int64())
    times = pc.fill_null(columns["modificationTime"].cast(pa.int64()), zero)
    is_unknown = pc.equal(times, zero)
    texts = [adds.partition_text(name).cast(pa.string()) for name in names]
    empty, null = light.scalar("", pa.string()), light.null(pa.string())
    values = [pc.if_else(pc.equal(text, empty), null, text) for text in texts]
    return {
        **columns,
        "modificationTime": times,
        "addedAtTimestamp": pc.if_else(is_unknown, light.scalar(now_ms(), pa.int64()), times),
        "addedAtVersion": light.from_numpy(np.full(size, version, np.int64)),
        "deletionVector": vectors,
        PARTITION: light.from_numpy(partitions.encode(values, size=size)),
        KEY_HASH: light.from_numpy(key_hashes(columns["path"], vectors)),
    }


def _vectors(adds: ColumnBatch) -> pa.StructArray:
    if adds.field("deletionVector") is None:
        return pa.nulls(len(adds), VECTOR)
    arrays: dict[str, pa.Array] = {}
    for field in VECTOR:
        array = adds.field("deletionVector", field.name)
        arrays[field.name] = (
            pa.nulls(len(adds), field.type) if array is None else array.cast(field.type)
        )
    # Some writers put a struct of nulls where there is no vector.
    is_absent = arrays["storageType"].is_null()
    for name in _REQUIRED_OF_VECTOR:
        _require(pc.if_else(is_absent, light.TRUE, arrays[name].is_valid()), name, adds)
    return pa.StructArray.from_arrays(list(arrays.values()), fields=list(VECTOR), mask=is_absent)


def _require(values: pa.Array, name: str, adds: ColumnBatch) -> None:
    """Check that a field has no null, or that a condition on it is always true."""
    is_complete = pc.all(values).as_py() if values.type == pa.bool_() else not values.null_count
    if not is_complete:
        raise CorruptCheckpointError(path=adds.source.path, reason=f"an add has no {name}")
