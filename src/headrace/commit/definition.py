"""Build a table's protocol and metadata, and check whether we may write to it.

A schema and properties enter; the protocol and metadata of a new or changed table leave. A table
that requires something of its writers that we do not support is refused with the reason.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from deltalake import Schema

from headrace.commit.action import TableFormat, TableMetadata, TableProtocol
from headrace.errors import UnwritableTableError
from headrace.protocol.action import Metadata, Protocol

CHANGE_FEED = "delta.enableChangeDataFeed"
_APPEND_ONLY = "delta.appendOnly"
_MAPPING_MODE = "delta.columnMapping.mode"
_CONSTRAINT = "delta.constraints."
_COLUMN_RULES = ('"delta.invariants"', '"delta.generationExpression"', '"delta.identity.')
_FEATURE_WRITER = 7
_CHANGE_FEED_WRITER = 4
_HARMLESS_FEATURES = frozenset(
    {
        *("appendOnly", "invariants", "changeDataFeed", "timestampNtz", "deletionVectors"),
        *("v2Checkpoint", "vacuumProtocolCheck", "domainMetadata", "columnMapping"),
        *("checkConstraints", "generatedColumns", "identityColumns", "clustering"),
        *("typeWidening", "typeWidening-preview", "allowColumnDefaults"),
    }
)
"""Writer features that do not affect our commits, or that `check_writable` checks itself."""


def schema_string(schema: Any) -> str:
    """Return an Arrow schema as the JSON text of the log, including column comments."""
    return Schema.from_arrow(schema).to_json()


def new_protocol(schema_text: str, *, change_feed: bool) -> TableProtocol:
    """Return the lowest protocol that supports a table with these columns."""
    if '"timestamp_ntz"' in schema_text:
        writer = ["timestampNtz", *(["changeDataFeed"] if change_feed else [])]
        return TableProtocol(
            min_reader_version=3,
            min_writer_version=_FEATURE_WRITER,
            reader_features=["timestampNtz"],
            writer_features=writer,
        )
    return TableProtocol(
        min_reader_version=1, min_writer_version=_CHANGE_FEED_WRITER if change_feed else 2
    )


def raised_protocol(now: Protocol, needed: TableProtocol) -> TableProtocol | None:
    """Return the protocol upgraded to support `needed`; None if it supports it already.

    A protocol is only ever raised. Versions before feature lists imply features, which must be
    listed explicitly after an upgrade to feature lists.
    """
    needs_feed = _CHANGE_FEED_WRITER <= needed.min_writer_version < _FEATURE_WRITER
    needed_writer_features = {
        *(needed.writer_features or ()),
        *(["changeDataFeed"] if needs_feed else ()),
    }
    needed_reader_features = {*(needed.reader_features or ())}
    writer_features = {*_implied_writer(now), *(now.writer_features or ())}
    reader_features = {*_implied_reader(now), *(now.reader_features or ())}
    if needed_writer_features <= writer_features and needed_reader_features <= reader_features:
        return None
    if _FEATURE_WRITER not in {now.min_writer_version, needed.min_writer_version}:
        return TableProtocol(
            min_reader_version=max(now.min_reader_version, needed.min_reader_version),
            min_writer_version=max(now.min_writer_version, needed.min_writer_version),
        )
    lists_reader = bool(needed_reader_features) or now.reader_features is not None
    return TableProtocol(
        min_reader_version=3 if lists_reader else now.min_reader_version,
        min_writer_version=_FEATURE_WRITER,
        reader_features=sorted(reader_features | needed_reader_features) if lists_reader else None,
        writer_features=sorted(
            writer_features | needed_writer_features | (reader_features if lists_reader else set())
        ),
    )


def new_metadata(
    schema_text: str,
    *,
    name: str | None,
    description: str | None,
    partition_columns: Sequence[str],
    configuration: Mapping[str, str],
) -> TableMetadata:
    """Return the metadata of a new table."""
    return TableMetadata(
        id=str(uuid4()),
        schema_string=schema_text,
        partition_columns=list(partition_columns),
        configuration=dict(configuration),
        format=TableFormat(provider="parquet", options={}),
        created_time=time.time_ns() // 1_000_000,
        name=name,
        description=description,
    )


def check_writable(
    protocol: Protocol, metadata: Metadata, *, table: str, removes_files: bool
) -> None:
    """Check that a table requires nothing of its writers that we do not support.

    Raises:
        UnwritableTableError: the table does.
    """
    for reason in _obstacles(protocol, metadata, removes_files=removes_files):
        raise UnwritableTableError(table=table, reason=reason)


def _obstacles(protocol: Protocol, metadata: Metadata, *, removes_files: bool) -> list[str]:
    configuration = metadata.configuration
    obstacles = []
    if protocol.min_writer_version > _FEATURE_WRITER:
        obstacles.append(f"it needs writer version {protocol.min_writer_version}")
    unknown = sorted({*(protocol.writer_features or ())} - _HARMLESS_FEATURES)
    if unknown:
        obstacles.append(f"it needs the writer features {', '.join(unknown)}")
    if removes_files and configuration.get(_APPEND_ONLY) == "true":
        obstacles.append(f"{_APPEND_ONLY} is true, and rows are to be replaced")
    if (configuration.get(_MAPPING_MODE) or "none") != "none":
        obstacles.append("its columns are mapped to other names in the files")
    if any(name.startswith(_CONSTRAINT) for name in configuration):
        obstacles.append("it has CHECK constraints")
    if any(rule in (metadata.schema_string or "") for rule in _COLUMN_RULES):
        obstacles.append("it has invariants, generated columns or identity columns")
    return obstacles


def _implied_writer(protocol: Protocol) -> set[str]:
    if protocol.min_writer_version >= _FEATURE_WRITER:
        return set()
    implied = {
        2: ("appendOnly", "invariants"),
        3: ("checkConstraints",),
        4: ("changeDataFeed", "generatedColumns"),
        5: ("columnMapping",),
        6: ("identityColumns",),
    }
    return {
        feature
        for version, features in implied.items()
        if version <= protocol.min_writer_version
        for feature in features
    }


def _implied_reader(protocol: Protocol) -> set[str]:
    return {"columnMapping"} if protocol.min_reader_version == 2 else set()  # noqa: PLR2004
