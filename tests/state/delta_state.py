"""Write states for Delta logs by hand from the oracle, without Headrace's own sync."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from headrace.avro.manifest import ManifestWriter
from headrace.avro.state_file import encode_state
from headrace.log.state_name import manifest_path, state_path
from headrace.protocol.schema import DataType, PrimitiveType
from headrace.protocol.state import Anchor, Entry, StateManifest, Tombstone
from headrace.protocol.state_schema import DELTA_ENTRY_SCHEMA
from tests.lake.action import add, metadata, protocol, remove
from tests.lake.log import History, commit_path, state_at
from tests.oracle import Action, Key, dv_id, key_of

ROOT = "_headrace"
PARTITIONS: Mapping[str, DataType] = {
    "part": PrimitiveType("string"),
    "n": PrimitiveType("integer"),
}

HISTORY: History = [
    [
        protocol(),
        metadata(),
        add("a", partition_values={"part": "x", "n": "1"}),
        add("b", partition_values={"part": "y", "n": "2"}),
    ],
    [add("c", partition_values={"part": "x", "n": "3"}), remove("a")],
    [add("d", partition_values={"part": None, "n": "10"})],
    [remove("b"), add("e", partition_values={"part": "y", "n": "9"})],
]
"""A log with a null partition value and files that are removed again."""


def entry_of(add: Action, *, version: int) -> Entry:
    """Return an add as an entry."""
    vector = add.get("deletionVector")
    values = add["partitionValues"].items()
    return {
        "path": add["path"],
        "partitionValues": {name: value for name, value in values if value is not None},
        "size": add["size"],
        "modificationTime": add["modificationTime"],
        "dataChange": add["dataChange"],
        "stats": add.get("stats"),
        "addedAtVersion": version,
        "addedAtTimestamp": 1_700_000_000_000 + version,
        "deletionVector": None if vector is None else {"offset": None, **vector},
        "tags": add.get("tags"),
    }


def _gone(history: History, version: int) -> Iterator[tuple[Entry, Tombstone]]:
    """Yield files that were added and removed again up to a version, with their tombstones."""
    known: dict[Key, tuple[Action, int]] = {}
    for number, lines in enumerate(history[: version + 1]):
        for line in lines:
            for name, action in line.items():
                if name == "remove" and (key := key_of(action)) in known:
                    add, added_at = known.pop(key)
                    yield (
                        entry_of(add, version=added_at),
                        Tombstone(
                            path=action["path"],
                            dv_id=dv_id(action.get("deletionVector")),
                            removed_at_version=number,
                        ),
                    )
        for line in lines:
            if "add" in line:
                known[key_of(line["add"])] = (line["add"], number)


def _added_at(history: History, version: int) -> dict[Key, int]:
    return {
        key_of(line["add"]): number
        for number, lines in enumerate(history[: version + 1])
        for line in lines
        if "add" in line
    }


def write_state(  # noqa: PLR0913  (what a test may want to set)
    table: Path,
    history: History,
    version: int,
    *,
    manifests: int = 2,
    with_ghosts: bool = False,
    block_entries: int = 2,
    root: Path | None = None,
) -> Path:
    """Write the state of a version, and the hint; return the path of the state."""
    folder = table / ROOT if root is None else root
    truth, added_at = state_at(history, version), _added_at(history, version)
    entries = [entry_of(add, version=added_at[key]) for key, add in truth.live.items()]
    ghosts = list(_gone(history, version)) if with_ghosts else []
    entries += [ghost for ghost, _ in ghosts]
    infos = []
    for number in range(manifests):
        writer = ManifestWriter(
            schema=DELTA_ENTRY_SCHEMA, partition_types=PARTITIONS, block_entries=block_entries
        )
        writer.append(entries[number::manifests])
        written = writer.finish()
        path = manifest_path(f"{version:08x}{number:08x}")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(written.content())
        infos.append(msgspec.structs.replace(written.info, path=path))
    commit = commit_path(table, version)
    anchor = Anchor(
        path=str(commit.relative_to(table)),
        size=commit.stat().st_size,
        modified=commit.stat().st_mtime_ns // 1_000_000,
    )
    state = StateManifest(
        state_version=version,
        created_at=1,
        num_files=len(truth.live),
        total_bytes=sum(add["size"] for add in truth.live.values()),
        manifests=tuple(infos),
        tombstone_entries=tuple(tombstone for _, tombstone in ghosts),
        metadata=json.dumps({"metaData": truth.metadata}),
        protocol=json.dumps({"protocol": truth.protocol}),
        anchor=anchor.encoded(),
    )
    return put_state(folder, state)


def put_state(folder: Path, state: StateManifest, *, content: bytes | None = None) -> Path:
    """Write a state and its hint."""
    place = Path(state_path(str(folder), state.state_version))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(encode_state(state) if content is None else content)
    hint: dict[str, Any] = {"version": state.state_version, "format": "avro-state"}
    (folder / "_last_checkpoint").write_text(json.dumps(hint))
    return place
