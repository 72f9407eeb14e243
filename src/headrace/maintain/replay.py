"""Replays the version files after a state: a `Base` enters, its net change leaves."""

from typing import Any

import msgspec

from headrace.maintain.base import Base
from headrace.maintain.version_file import entry_of_add, registry_of_add, registry_of_metadata
from headrace.protocol.key import FileKey, canonical_path
from headrace.protocol.state import Entry


class NetChange(msgspec.Struct, frozen=True, kw_only=True):
    """The difference between a state and the newest version."""

    adds: dict[FileKey, Entry]
    removes: frozenset[FileKey]
    """Files of the state that were removed or added again."""
    registry: dict[str, str]
    skips: tuple[dict[str, Any], ...] = ()
    """Notes about files that a merge could not read; they do not take part in replay."""


def replay(base: Base) -> NetChange:
    """Replay the version files of a base, oldest first; of the lines on a path, the last counts."""
    adds: dict[FileKey, Entry] = {}
    removes: set[FileKey] = set()
    registry: dict[str, str] = {}
    skips: list[dict[str, Any]] = []
    for file in base.pending:
        for action in file.actions:
            if action.get("remove") is not None:
                key = FileKey(canonical_path(action["remove"]["path"]))
                adds.pop(key, None)
                removes.add(key)
            elif action.get("add") is not None:
                add = action["add"]
                entry = entry_of_add(add, version=file.version, timestamp_ms=file.modified_ms)
                key = FileKey(canonical_path(add["path"]))
                adds[key] = entry
                removes.add(key)
                registry |= registry_of_add(add)
            elif action.get("metaData") is not None:
                registry |= registry_of_metadata(action["metaData"])
            elif action.get("mergeskip") is not None:
                skips.append(action["mergeskip"])
    return NetChange(adds=adds, removes=frozenset(removes), registry=registry, skips=tuple(skips))
