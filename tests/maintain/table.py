"""Small tables for tests: metadata, entries, and a log with some files."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headrace.maintain.setting import StateSettings
from headrace.maintain.writer import StateWriter
from tests.maintain.memory import MemoryStore

PLAIN = StateSettings(backoff_ms=0, max_manifests=10_000, tombstone_threshold=1e6)
"""Settings that disable automatic compaction."""


def metadata(
    *, partition_columns: Iterable[str] = ("part",), columns: dict[str, str] | None = None
) -> dict[str, Any]:
    columns = columns or {"id": "long", "part": "string"}
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in columns.items()
    ]
    return {
        "id": "44ce77f3-4052-4d8f-8d3d-4db8da82a512",
        "name": None,
        "description": None,
        "format": {"provider": "indextables", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": list(partition_columns),
        "configuration": {},
        "createdTime": 1_700_000_000_000,
    }


def entry(path: str, *, size: int = 10, part: str | None = "a", **more: Any) -> dict[str, Any]:
    values = {} if part is None else {"part": part}
    return {"path": path, "size": size, "partitionValues": values, **more}


def objects_of(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder, by its path below the folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def writer(store: MemoryStore, settings: StateSettings = PLAIN, **more: Any) -> StateWriter:
    return StateWriter(store, settings=settings, sleep=lambda _: None, **more)


def table(*paths: str, settings: StateSettings = PLAIN) -> MemoryStore:
    """Write a log whose first state has these files."""
    store = MemoryStore()
    writer(store, settings).commit([entry(path) for path in paths], metadata=metadata())
    return store
