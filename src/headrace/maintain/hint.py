"""Writes `_last_checkpoint`, where readers start to search: a state enters, a file leaves.

It is only a hint, so failing to write it is harmless.
"""

from contextlib import suppress

import msgspec

from headrace.errors import StorageError
from headrace.log.state_name import state_directory
from headrace.maintain.home import Home
from headrace.maintain.staging import now_ms
from headrace.protocol.state import StateManifest
from headrace.storage.store import PutMode, WritableStore


def hint_of(state: StateManifest) -> dict[str, object]:
    """Return the hint for a state, with the eight fields of the format."""
    return {
        "version": state.state_version,
        "size": state.num_files,
        "sizeInBytes": state.total_bytes,
        "numFiles": state.num_files,
        "createdTime": now_ms(),
        "format": "avro-state",
        "stateDir": state_directory(state.state_version),
        "protocolVersion": state.protocol_version,
    }


def write_hint(store: WritableStore, home: Home, hint: dict[str, object]) -> bool:
    """Write a hint, and return whether that succeeded; no result depends on it."""
    with suppress(StorageError):
        store.put(home.hint_path, msgspec.json.encode(hint), mode=PutMode.OVERWRITE)
        return True
    return False
