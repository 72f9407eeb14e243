"""Adapts a snapshot of a Delta table for `sync`: its definition, and its live files as entries."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from headrace.maintain.delta_sync import DeltaVersion
from headrace.protocol.action import Metadata
from headrace.protocol.action import Protocol as TableProtocol
from headrace.protocol.state import Entry
from headrace.scan.live_file import FileContext, LiveFile


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
        """Return the live files."""


def delta_version(snapshot: DeltaSnapshot) -> DeltaVersion:
    """Convert a snapshot to a `DeltaVersion`; its files are read lazily."""

    def entries() -> Iterator[Entry]:
        for file in snapshot.scan():
            yield _entry(file, snapshot.version, physical)

    columns = snapshot.context.partition_columns
    physical = {column.name: column.physical_name for column in columns}
    return DeltaVersion(
        version=snapshot.version,
        metadata=_encoded("metaData", snapshot.metadata),
        protocol=_encoded("protocol", snapshot.protocol),
        types={column.physical_name: column.type for column in columns},
        entries=entries,
    )


def _encoded(name: str, action: msgspec.Struct) -> str:
    return msgspec.json.encode({name: action}).decode()


def _entry(file: LiveFile, version: int, physical: Mapping[str, str]) -> Entry:
    """Convert a live file to an entry, added at `version` if the log does not say when."""
    vector = file.deletion_vector
    tags: Mapping[str, str | None] | None = file.tags
    return {
        "path": file.path,
        "partitionValues": {physical[name]: value for name, value in file.partition_values.items()},
        "size": file.size_bytes,
        "modificationTime": file.modified_ms,
        "dataChange": True,
        "stats": file.stats,
        "deletionVector": None if vector is None else msgspec.to_builtins(vector),
        "tags": None if tags is None else dict(tags),
        "addedAtVersion": version if file.version is None else file.version,
        "addedAtTimestamp": file.modified_ms,
    }
