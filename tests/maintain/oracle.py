"""Read a state in the simplest way: with fastavro alone, sharing no code with Headrace."""

import gzip
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import fastavro

ROOT = "_transaction_log"


@dataclass(frozen=True)
class Read:
    version: int
    files: dict[str, int]
    """The sizes of the live files, by path."""
    record: dict[str, Any]
    entries: list[dict[str, Any]]


def states(objects: Mapping[str, bytes], root: str = ROOT) -> list[int]:
    prefix = f"{root}/state-v"
    return sorted(
        int(path[len(prefix) : len(prefix) + 20])
        for path in objects
        if path.startswith(prefix) and path.endswith("/_manifest.avro")
    )


def record_of(objects: Mapping[str, bytes], version: int, root: str = ROOT) -> dict[str, Any]:
    content = objects[f"{root}/state-v{version:020}/_manifest.avro"]
    (record,) = fastavro.reader(io.BytesIO(content))
    return dict(record)  # type: ignore[arg-type]


def read(objects: Mapping[str, bytes], version: int | None = None, root: str = ROOT) -> Read:
    """Read a state like a reader that only knows plain tombstones."""
    version = states(objects, root)[-1] if version is None else version
    record = record_of(objects, version, root)
    hidden = set(record["tombstones"])
    entries: list[dict[str, Any]] = []
    for info in record["manifests"]:
        path = info["path"]
        if "/" not in path:
            path = f"state-v{version:020}/{path}"
        records = _records(objects[f"{root}/{path}"])
        assert len(records) == info["numEntries"], (
            "a manifest has the entries that its state counts"
        )
        entries += records
    live = [entry for entry in entries if entry["path"] not in hidden]
    files = {entry["path"]: entry["size"] for entry in live}
    assert len(files) == len(live), "no path is live twice"
    assert record["numFiles"] == len(files), "the count of files is exact"
    assert record["totalBytes"] == sum(files.values()), "the size of files is exact"
    return Read(version=version, files=files, record=record, entries=entries)


@lru_cache(maxsize=4096)
def _records(content: bytes) -> tuple[dict[str, Any], ...]:
    """Return the records of a manifest; states share manifests, so each is decoded once."""
    return tuple(fastavro.reader(io.BytesIO(content)))  # type: ignore[arg-type]


def actions(content: bytes) -> list[dict[str, Any]]:
    if content[2:4] == b"\x1f\x8b":
        content = content[2:]
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    return [json.loads(line) for line in content.splitlines() if line.strip()]


def replay_json(objects: Mapping[str, bytes], root: str = ROOT) -> dict[str, int]:
    """Return a log's live files, using only its version files and JSON checkpoints."""
    names = sorted(path.rpartition("/")[2] for path in objects if path.startswith(f"{root}/"))
    checkpoints = [name for name in names if name.endswith(".checkpoint.json")]
    files: dict[str, int] = {}
    start = -1
    if checkpoints:
        start = int(checkpoints[-1][:20])
        lines = actions(objects[f"{root}/{checkpoints[-1]}"])
        if "checkpointId" in lines[0]:
            lines = [a for part in lines[0]["parts"] for a in actions(objects[f"{root}/{part}"])]
        _apply(files, lines)
    for name in names:
        if len(name) == 25 and name[:20].isdigit() and int(name[:20]) > start:
            _apply(files, actions(objects[f"{root}/{name}"]))
    return files


def _apply(files: dict[str, int], lines: list[dict[str, Any]]) -> None:
    for line in lines:
        if "remove" in line:
            files.pop(line["remove"]["path"], None)
    for line in lines:
        if "add" in line:
            files[line["add"]["path"]] = line["add"]["size"]
