"""Write tables with rows by hand: Arrow writes the Parquet files, the tests write the log."""

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.lake.action import MODIFIED_MS, Line, add, protocol
from tests.lake.log import write_history
from tests.lake.vector import inline_vector

FEATURES = ("columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint")


def field(
    name: str, kind: Any, *, nullable: bool = True, metadata: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a field of a Delta schema."""
    return {"name": name, "type": kind, "nullable": nullable, "metadata": dict(metadata or {})}


def mapped(name: str, kind: Any, physical: str, column_id: int) -> dict[str, Any]:
    """Return a field with column mapping."""
    names = {"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": column_id}
    return field(name, kind, metadata=names)


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    """Return a Delta struct type."""
    return {"type": "struct", "fields": list(fields)}


def array(element: Any) -> dict[str, Any]:
    """Return a Delta array type."""
    return {"type": "array", "elementType": element, "containsNull": True}


def mapping(key: Any, value: Any) -> dict[str, Any]:
    """Return a Delta map type."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def table_lines(
    fields: Sequence[dict[str, Any]],
    *,
    partition_columns: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> list[Line]:
    """Return the protocol and metadata that a log starts with."""
    metadata = {
        "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(struct(*fields)),
        "partitionColumns": list(partition_columns),
        "configuration": dict(properties or {}),
        "createdTime": MODIFIED_MS,
    }
    return [protocol(features=FEATURES), {"metaData": metadata}]


def write_data(table: Path, name: str, data: pa.Table, **options: Any) -> str:
    """Write a data file, and return its path as the log spells it."""
    path = table / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data, path, **options)
    return quote(name)


def write_table(
    table: Path,
    fields: Sequence[dict[str, Any]],
    files: Sequence[pa.Table],
    *,
    properties: Mapping[str, str] | None = None,
    deleted: Mapping[int, Sequence[int]] | None = None,
    **options: Any,
) -> Path:
    """Write a table without partitions, with one commit per file, in order."""
    history = [table_lines(fields, properties=properties)]
    for number, data in enumerate(files):
        path = write_data(table, f"part-{number}.parquet", data, **options)
        rows = (deleted or {}).get(number)
        vector = None if rows is None else inline_vector(rows)
        history.append([add(path, size=(table / path).stat().st_size, vector=vector)])
    return write_history(table, history)


NUMBER_FIELDS = [field("n", "long")]
"""The fields of a table of numbers."""


def numbers(start: int, count: int) -> pa.Table:
    """Return consecutive numbers, as a table with one column `n`."""
    return pa.table({"n": list(range(start, start + count))})


def running() -> list[str]:
    """Return the names of Headrace's running threads."""
    return [thread.name for thread in threading.enumerate() if "headrace" in thread.name]
