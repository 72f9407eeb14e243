"""Writes JSON checkpoints, in one file or in parts, for readers that do not know Avro states.

A base enters; the files of a checkpoint and a hint leave.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any
from uuid import uuid4

import msgspec

from headrace.errors import ObjectExistsError
from headrace.maintain.base import Base
from headrace.maintain.hint import write_hint
from headrace.maintain.home import Home, partition_types
from headrace.maintain.live import live_entries
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.replay import replay
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import now_ms
from headrace.maintain.version_file import (
    REGISTRY_PREFIX,
    Action,
    add_of_entry,
    encode_actions,
)
from headrace.storage.store import PutMode, WritableStore

JSON_PROTOCOL_VERSION = 3
"""The newest protocol version that readers without Avro states know."""


class JsonCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON checkpoint that was written."""

    version: int
    num_files: int
    total_bytes: int
    parts: int | None
    """None if it is a single file."""


def write_json_checkpoint(
    store: WritableStore, home: Home, base: Base, *, settings: StateSettings
) -> JsonCheckpoint:
    """Write the checkpoint of a base, in parts if it has more actions than fit into one file.

    The parts are put first, under unique names; the file that lists them completes the checkpoint.
    """
    actions = _actions(store, home, base, settings)
    checkpoint_id = uuid4().hex[:12]
    names: list[str] = []
    counts = {"files": 0, "bytes": 0}
    name = f"{base.version:020}.checkpoint"
    limit = settings.entries_per_manifest
    while chunk := list(islice(actions, limit)):
        for action in chunk:
            if "add" in action:
                counts["files"] += 1
                counts["bytes"] += action["add"]["size"]
        body = encode_actions(chunk)
        if not names and len(chunk) < limit:
            store.put(f"{home.root}/{name}.json", body, mode=PutMode.OVERWRITE)
            break
        names.append(f"{name}.{checkpoint_id}.{len(names) + 1:05}.json")
        store.put(f"{home.root}/{names[-1]}", body, mode=PutMode.CREATE)
    if names:
        manifest = {
            "version": base.version,
            "checkpointId": checkpoint_id,
            "parts": names,
            "createdTime": now_ms(),
            "format": "json",
        }
        content = msgspec.json.encode(manifest)
        try:
            store.put(f"{home.root}/{name}.json", content, mode=PutMode.CREATE)
        except ObjectExistsError:  # another writer's checkpoint of the same version
            store.delete([f"{home.root}/{part}" for part in names])
    hint: dict[str, object] = {
        "version": base.version,
        "size": counts["files"],
        "sizeInBytes": counts["bytes"],
        "numFiles": counts["files"],
        "createdTime": now_ms(),
        "format": "json-multipart" if names else "json",
    }
    if names:
        hint |= {"parts": len(names), "checkpointId": checkpoint_id}
    write_hint(store, home, hint)
    return JsonCheckpoint(
        version=base.version,
        num_files=counts["files"],
        total_bytes=counts["bytes"],
        parts=len(names) or None,
    )


def _actions(
    store: WritableStore, home: Home, base: Base, settings: StateSettings
) -> Iterator[Action]:
    yield {"protocol": _protocol(base)}
    if base.metadata is not None:
        yield {"metaData": _metadata(base)}
    shelf = ManifestShelf(store, home.root, types=partition_types(base.metadata))
    for entry in live_entries(base, home=home, shelf=shelf, parallelism=settings.read_parallelism):
        yield {"add": add_of_entry(entry)}


def _protocol(base: Base) -> dict[str, Any]:
    """Return the protocol of the table, capped at what readers of JSON know."""
    protocol_fields: dict[str, Any] = {}
    if base.protocol is not None:
        protocol_fields = msgspec.json.decode(base.protocol)["protocol"]
    return {
        **protocol_fields,
        "minReaderVersion": min(protocol_fields.get("minReaderVersion", 2), JSON_PROTOCOL_VERSION),
        "minWriterVersion": min(protocol_fields.get("minWriterVersion", 2), JSON_PROTOCOL_VERSION),
    }


def _metadata(base: Base) -> dict[str, Any]:
    """Return the table's metadata, with the schema registry in the place that JSON logs use."""
    decoded: dict[str, Any] = msgspec.json.decode(base.metadata or "{}")
    metadata: dict[str, Any] = dict(decoded.get("metaData") or decoded)
    registry = {} if base.state is None else dict(base.state.schema_registry)
    registry |= replay(base).registry
    configuration = dict(metadata.get("configuration") or {})
    for key, value in registry.items():
        configuration[f"{REGISTRY_PREFIX}{key.removeprefix(REGISTRY_PREFIX)}"] = value
    return metadata | {"configuration": configuration}
