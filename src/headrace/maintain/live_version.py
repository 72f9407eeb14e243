"""A snapshot of a Delta table as `sync` needs it: its definition, and its live files as entries."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from headrace.maintain.delta_sync import DeltaVersion
from headrace.protocol.action import Metadata
from headrace.protocol.action import Protocol as TableProtocol
from headrace.protocol.state import Entry
from headrace.scan.live_file import FileContext, LiveFile


class DeltaSnapshot(Protocol):
    """What is asked of a snapshot."""

    @property
    def version(self) -> int:
        """Its version."""

    @property
    def metadata(self) -> Metadata:
        """The table's metadata."""

    @property
    def protocol(self) -> TableProtocol:
        """The table's protocol."""

    @property
    def context(self) -> FileContext:
        """What all files share."""

    def scan(self) -> Any:
        """Its live files."""


def delta_version(snapshot: DeltaSnapshot) -> DeltaVersion:
    """The version of a snapshot; its files are read when they are asked for."""

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
    """The entry of a live file; where the log no longer says what added it, the version at hand."""
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
