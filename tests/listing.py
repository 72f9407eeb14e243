"""The files that a snapshot lists, in a form that can be compared with the oracle."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

import headrace
from tests.oracle import Action, Key, canonical, dv_id

COLUMNS = (
    "path",
    "uri",
    "dv_id",
    "deletion_vector",
    "size_bytes",
    "modified_ms",
    "partition_values",
    "typed_partition_values",
    "stats",
    "version",
    "tags",
)
AS_WRITTEN = tuple(name for name in COLUMNS if name != "typed_partition_values")
"""The columns that are known for every file, even if its partition values are malformed."""


def open_snapshot(table: Path, version: int | None = None) -> headrace.Snapshot:
    """Open a snapshot of a local table."""
    return headrace.Table(str(table)).snapshot(version=version)


def by_key(files: Iterable[headrace.LiveFile]) -> dict[Key, headrace.LiveFile]:
    """Return live files by key, and fail on a key that is listed twice."""
    live_files: dict[Key, headrace.LiveFile] = {}
    for file in files:
        key = Key(canonical(file.path), file.dv_id)
        assert key not in live_files, f"{key} was listed twice"
        live_files[key] = file
    return live_files


def keys_of(table: Path, version: int | None = None) -> set[Key]:
    """Return the keys that are live at a version."""
    return set(by_key(open_snapshot(table, version).scan()))


def paths_of(table: Path, version: int | None = None) -> list[str]:
    """Return the paths that are live at a version, as the log spells them, sorted."""
    return sorted(file.path for file in open_snapshot(table, version).scan())


def facts(file: headrace.LiveFile) -> dict[str, Any]:
    """Return the fields of a live file that come from its add action."""
    return {
        "path": file.path,
        "dv_id": file.dv_id,
        "size_bytes": file.size_bytes,
        "modified_ms": file.modified_ms,
        "partition_values": dict(file.partition_values),
        "stats": file.stats,
        "tags": dict(file.tags or {}),
    }


def expected_facts(add: Action) -> dict[str, Any]:
    """Return the same fields, from the add action itself."""
    return {
        "path": add["path"],
        "dv_id": dv_id(add.get("deletionVector")),
        "size_bytes": add["size"],
        "modified_ms": add["modificationTime"],
        "partition_values": add["partitionValues"],
        "stats": add.get("stats"),
        "tags": add.get("tags") or {},
    }


def file_rows(
    files: Iterable[headrace.LiveFile], columns: Sequence[str] = COLUMNS
) -> list[dict[str, Any]]:
    """Return live files as plain values by column, sorted, because leaves are read in any order."""
    return _sorted({name: _plain(getattr(file, name)) for name in columns} for file in files)


def batch_rows(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Return the rows of batches as plain values by column, sorted in the same way."""
    rows = (row for batch in batches for row in batch.to_pylist(maps_as_pydicts="strict"))
    return _sorted({name: _plain(value) for name, value in row.items()} for row in rows)


def _sorted(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["path"], row["dv_id"] or ""))


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return value
