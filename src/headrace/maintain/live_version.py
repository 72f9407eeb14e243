"""Adapts a snapshot of a Delta table for `sync`: its definition, and its live files as entries.

A file that only a checkpoint has does not say when it was added; its entry says that it was added
at the version of the snapshot.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import msgspec

from headrace.maintain.delta_sync import DeltaVersion
from headrace.protocol.action import Add, Metadata
from headrace.protocol.action import Protocol as TableProtocol
from headrace.protocol.state import Entry
from headrace.replay.projection import ADD_FIELDS, ROW_FIELDS
from headrace.scan.live_file import FileContext


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

    def entries() -> Iterator[Entry]:
        scan = snapshot.scan()
        files = size_bytes = 0
        with scan.run(projection=(*ADD_FIELDS, *ROW_FIELDS)) as run:
            for batch in run:
                version = batch.source.version
                for add in batch.actions("add"):
                    files += 1
                    size_bytes += add.size
                    yield _entry(add, snapshot.version if version is None else version, names)
        scan.compare(files, size_bytes)

    return DeltaVersion(
        version=snapshot.version,
        metadata=_encoded("metaData", snapshot.metadata),
        protocol=_encoded("protocol", snapshot.protocol),
        types={column.physical_name: column.type for column in columns},
        entries=entries,
    )


def _encoded(name: str, action: msgspec.Struct) -> str:
    return msgspec.json.encode({name: action}).decode()


def _entry(add: Add, version: int, partition_columns: Sequence[str]) -> Entry:
    """Convert an add to an entry that was added at `version`."""
    vector, values = add.deletion_vector, add.partition_values
    return {
        "path": add.path,
        "partitionValues": {name: values.get(name) or None for name in partition_columns},
        "size": add.size,
        "modificationTime": add.modification_time,
        "dataChange": True,
        "stats": add.stats,
        "deletionVector": None if vector is None else msgspec.to_builtins(vector),
        "tags": add.tags,
        "baseRowId": add.base_row_id,
        "defaultRowCommitVersion": add.default_row_commit_version,
        "clusteringProvider": add.clustering_provider,
        "addedAtVersion": version,
        "addedAtTimestamp": add.modification_time,
    }
