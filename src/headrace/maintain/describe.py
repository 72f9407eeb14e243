"""Describes a state for people: takes a base, returns its properties, its rows and advice."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from headrace.maintain.base import Base, Layout
from headrace.maintain.compaction import Trigger, find_trigger
from headrace.maintain.draft import draft_of
from headrace.maintain.home import Home, partition_types
from headrace.maintain.live import live_entries
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.replay import replay
from headrace.maintain.setting import StateSettings
from headrace.storage.store import WritableStore

_ADVICE = {
    Trigger.TOMBSTONES: "many files are tombstones: COMPACT drops them",
    Trigger.SMALL_MANIFESTS: "there are many small manifests: COMPACT merges them",
    Trigger.EMPTY: "no file is live: COMPACT drops the manifests",
}


class StateDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The nine properties of a state, and advice."""

    format: str
    version: int
    num_files: int
    total_bytes: int
    num_manifests: int
    num_tombstones: int
    created_at_ms: int | None
    protocol_version: int
    advice: tuple[str, ...] = ()

    @property
    def tombstone_ratio(self) -> float:
        """The number of tombstones per live file."""
        return self.num_tombstones / self.num_files if self.num_files else 0.0

    def properties(self) -> list[tuple[str, str]]:
        """Return the nine properties as text, in the order of the format."""
        created = "" if self.created_at_ms is None else _shown_time(self.created_at_ms)
        return [
            ("format", self.format),
            ("version", str(self.version)),
            ("numFiles", str(self.num_files)),
            ("totalBytes", str(self.total_bytes)),
            ("numManifests", str(self.num_manifests)),
            ("numTombstones", str(self.num_tombstones)),
            ("tombstoneRatio", f"{self.tombstone_ratio:.2%}"),
            ("createdAt", created),
            ("protocolVersion", str(self.protocol_version)),
        ]


def describe(
    store: WritableStore, home: Home, base: Base, *, settings: StateSettings
) -> StateDescription:
    """Describe the newest version of a log."""
    shelf = ManifestShelf(store, home.root, types=partition_types(base.metadata))
    state = base.state
    if state is None or base.pending:
        sizes = [entry["size"] for entry in live_entries(base, home=home, shelf=shelf)]
        files, total = len(sizes), sum(sizes)
    else:
        files, total = state.num_files, state.total_bytes
    advice = list(_advice(base, home, shelf, settings))
    is_avro = state is not None
    return StateDescription(
        format="avro-state" if is_avro else base.format,
        version=base.version,
        num_files=files,
        total_bytes=total,
        num_manifests=0 if state is None else len(state.manifests),
        num_tombstones=0
        if state is None
        else max(len(state.tombstones), len(state.tombstone_entries)),
        created_at_ms=None if state is None else state.created_at,
        protocol_version=_protocol_version(base),
        advice=tuple(advice),
    )


def log_rows(
    store: WritableStore, home: Home, base: Base
) -> Iterator[tuple[int, str, str | None, int | None, dict[str, Any] | None, int | None]]:
    """Yield the actions of the newest state and of the version files after it, one row each."""
    shelf = ManifestShelf(store, home.root, types=partition_types(base.metadata))
    state = base.state
    if state is not None:
        unchanged = msgspec.structs.replace(base, pending=(), version=state.state_version)
        for entry in live_entries(unchanged, home=home, shelf=shelf):
            yield (
                entry["addedAtVersion"] or state.state_version,
                "add",
                entry["path"],
                entry["size"],
                entry["partitionValues"],
                entry["addedAtTimestamp"],
            )
        for tombstone in state.tombstones:
            yield state.state_version, "remove", tombstone, None, None, state.created_at
    for file in base.pending:
        for action in file.actions:
            yield from _action_rows(file.version, action, file.modified_ms)


def _action_rows(
    version: int, action: dict[str, Any], modified_ms: int
) -> Iterator[tuple[int, str, str | None, int | None, dict[str, Any] | None, int | None]]:
    for name, body in action.items():
        fields = body if isinstance(body, dict) else {}
        time_ms = fields.get("modificationTime") or fields.get("deletionTimestamp") or modified_ms
        path, size = fields.get("path"), fields.get("size")
        yield version, name, path, size, fields.get("partitionValues"), time_ms


def _advice(base: Base, home: Home, shelf: ManifestShelf, settings: StateSettings) -> Iterator[str]:
    if base.state is None:
        yield "the log has no Avro state: CHECKPOINT writes one, which is faster to read"
        return
    if base.pending:
        yield f"{len(base.pending)} versions follow the state: CHECKPOINT merges them into it"
    trigger = find_trigger(draft_of(base.state, home=home, shelf=shelf), settings)
    if trigger in _ADVICE:
        yield _ADVICE[trigger]
    if any(info.sha256 is None for info in base.state.manifests):
        yield "manifests from another writer lack a digest and a block index: COMPACT adds both"
    if base.layout is Layout.VERSIONS and replay(base).skips:
        yield "files were skipped by merges; see DESCRIBE TRANSACTION LOG"


def _protocol_version(base: Base) -> int:
    if base.state is not None:
        return base.state.protocol_version
    if base.protocol is None:
        return 0
    version: int = msgspec.json.decode(base.protocol)["protocol"].get("minReaderVersion", 0)
    return version


def _shown_time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
