"""Downgrade to JSON: writes a checkpoint for readers without Avro, and deletes the states."""

import msgspec

from headrace.commit.staged import Conflict
from headrace.errors import CommitConflictError, DowngradeRefusedError
from headrace.maintain.base import Base, Layout, list_states, read_base, require_base
from headrace.maintain.home import Home
from headrace.maintain.json_checkpoint import JsonCheckpoint, write_json_checkpoint
from headrace.maintain.object_put import ObjectPut
from headrace.maintain.setting import StateFormat, StateSettings
from headrace.maintain.staging import now_ms
from headrace.maintain.version_file import encode_actions
from headrace.maintain.writer import StateWriter
from headrace.storage.store import WritableStore


def checkpoint_as_json(
    store: WritableStore, home: Home, *, settings: StateSettings
) -> JsonCheckpoint:
    """Write the newest version as a JSON checkpoint; later commits are version files.

    If the newest version is a state, readers of JSON do not see it. In that case the next version
    announces that version files follow: first as a state, for other writers of states, then as a
    version file.

    Raises:
        CommitConflictError: another writer committed first; run it again.
    """
    base = require_base(read_base(store, home), table=store.root)
    if base.layout is Layout.STATE and base.version > 0:
        base = _switch_to_version_files(store, home, base, settings)
    return write_json_checkpoint(store, home, base, settings=settings)


def drop_states(store: WritableStore, home: Home, *, dry_run: bool) -> tuple[int, ...]:
    """Delete the states of a log whose version files are complete.

    Raises:
        DowngradeRefusedError: a version file is missing, so data would be lost.
    """
    base = require_base(read_base(store, home), table=store.root)
    existing = {meta.path.rpartition("/")[2] for meta in store.list(home.root)}
    missing = [v for v in range(base.version + 1) if f"{v:020}.json" not in existing]
    if missing:
        shown = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")  # noqa: PLR2004
        reason = f"the version files {shown} are missing; only the states have their changes"
        raise DowngradeRefusedError(table=store.root, reason=reason)
    versions = tuple(list_states(store, home))
    if not dry_run:
        store.delete(home.state_path(version) for version in versions)
        for version in versions:
            store.prune(home.state_path(version).rpartition("/")[0])
        if not any(".checkpoint" in name for name in existing):
            store.delete([home.hint_path])
    return versions


def _switch_to_version_files(
    store: WritableStore, home: Home, base: Base, settings: StateSettings
) -> Base:
    avro = msgspec.structs.replace(settings, format=StateFormat.AVRO)
    writer = StateWriter(store, home=home, settings=avro)
    state = writer.switch_to_version_files(base)
    path = f"{home.root}/{state.state_version:020}.json"
    commit_id = str(state.commit_id)
    information = {"commitId": commit_id, "timestamp": now_ms(), "operation": "DOWNGRADE"}
    put = ObjectPut(store, path, version=state.state_version)
    outcome = put.commit(encode_actions([{"commitInfo": information}]), commit_id=commit_id)
    if isinstance(outcome, Conflict):
        raise CommitConflictError(table=store.root, attempts=1)
    return read_base(store, home)
