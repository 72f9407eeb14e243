"""Build log actions as plain dicts, as a writer puts them into a commit.

Each function takes the few fields that a test cares about, fills in the rest, and returns one line
of a commit, such as `{"add": {...}}`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Line: TypeAlias = dict[str, dict[str, Any]]

MODIFIED_MS = 1_700_000_000_000
READER_FEATURES = ("deletionVectors", "v2Checkpoint")
PARTITION_COLUMNS = ("part", "n")
COLUMNS = {"id": "long", "part": "string", "n": "integer"}


def add(  # noqa: PLR0913 - one keyword for each field a test may want to set
    path: str,
    *,
    size: int = 1,
    stats: str | None = None,
    partition_values: Mapping[str, str | None] | None = None,
    tags: Mapping[str, str] | None = None,
    vector: Mapping[str, Any] | None = None,
    modified_ms: int = MODIFIED_MS,
) -> Line:
    """Return an add action, for a new file or one that was added before."""
    action: dict[str, Any] = {
        "path": path,
        "partitionValues": dict(partition_values or {}),
        "size": size,
        "modificationTime": modified_ms,
        "dataChange": True,
    }
    optional = {"stats": stats, "tags": tags and dict(tags), "deletionVector": vector}
    return {"add": action | {name: value for name, value in optional.items() if value is not None}}


def remove(path: str, *, vector: Mapping[str, Any] | None = None) -> Line:
    """Return a remove action."""
    action = {"path": path, "deletionTimestamp": MODIFIED_MS, "dataChange": True}
    return {"remove": action | ({} if vector is None else {"deletionVector": vector})}


def vector(name: str, *, storage: str = "u", offset: int | None = 1) -> dict[str, Any]:
    """Return a deletion vector descriptor; inline vectors have no offset."""
    descriptor = {
        "storageType": storage,
        "pathOrInlineDv": name,
        "sizeInBytes": 36,
        "cardinality": 2,
    }
    return descriptor if offset is None else descriptor | {"offset": offset}


def statistics(rows: int, *, low: int = 0, high: int = 9) -> str:
    """Return file statistics for the column `id`, as JSON."""
    bounds = {"minValues": {"id": low}, "maxValues": {"id": high}, "nullCount": {"id": 0}}
    return json.dumps({"numRecords": rows, **bounds})


def protocol(*, reader: int = 3, features: Sequence[str] = READER_FEATURES) -> Line:
    """Return a protocol action; reader versions below 3 have no feature list."""
    if reader != 3:
        return {"protocol": {"minReaderVersion": reader, "minWriterVersion": 2}}
    names = list(features)
    versions = {"minReaderVersion": 3, "minWriterVersion": 7}
    return {"protocol": versions | {"readerFeatures": names, "writerFeatures": names}}


def metadata(
    *,
    columns: Mapping[str, str] | None = None,
    partition_columns: Sequence[str] = PARTITION_COLUMNS,
    properties: Mapping[str, str] | None = None,
) -> Line:
    """Return a metadata action whose schema has flat, nullable columns."""
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (columns or COLUMNS).items()
    ]
    return {
        "metaData": {
            "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": list(partition_columns),
            "configuration": dict(properties or {}),
            "createdTime": MODIFIED_MS,
        }
    }


def txn(app: str, version: int) -> Line:
    """Return a txn action: the last version that an application has committed."""
    return {"txn": {"appId": app, "version": version, "lastUpdated": MODIFIED_MS}}


def domain(name: str, configuration: str = "", *, removed: bool = False) -> Line:
    """Return the configuration of one domain."""
    return {"domainMetadata": {"domain": name, "configuration": configuration, "removed": removed}}


def commit_info(*, timestamp_ms: int | None = None, operation: str = "WRITE") -> Line:
    """Return a commitInfo action, with an in-commit timestamp if `timestamp_ms` is given."""
    info: dict[str, Any] = {"timestamp": MODIFIED_MS, "operation": operation}
    return {
        "commitInfo": info if timestamp_ms is None else info | {"inCommitTimestamp": timestamp_ms}
    }


def opening(**properties: str) -> list[Line]:
    """Return the actions that every log starts with."""
    return [protocol(), metadata(properties=properties)]
