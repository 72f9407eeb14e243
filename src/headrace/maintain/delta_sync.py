"""Syncs the state next to a Delta log to a version, incrementally or in full.

An incremental sync reads only the commits since the last state. The log is the only source of
truth. A state is derived from the log at one version, and carries an anchor: the commit file of
that version as it was listed. A state whose anchor no longer matches belongs to another log, and
is not reused.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Any
from uuid import uuid4

import msgspec

from headrace.avro.state_file import encode_state
from headrace.commit.log import commit_path
from headrace.commit.staged import Conflict
from headrace.errors import DamageError, HeadraceError, InvalidTableError, ObjectNotFoundError
from headrace.maintain.base import Base, Layout, newest_state
from headrace.maintain.build import Build, Change
from headrace.maintain.cleanup import clean
from headrace.maintain.compaction import Compaction
from headrace.maintain.hint import hint_of, write_hint
from headrace.maintain.home import Home, dv_id
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.outcome import commit_state
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import Stage, StagedEntries
from headrace.maintain.version_file import decode_actions
from headrace.protocol.key import FileKey, canonical_path
from headrace.protocol.schema import DataType
from headrace.protocol.state import Anchor, Entry, StateManifest, decode_anchor
from headrace.storage.store import ObjectMeta, PutMode, Store, WritableStore


class SyncKind(StrEnum):
    """How a state was synced."""

    UNCHANGED = "unchanged"
    INCREMENTAL = "incremental"
    FULL = "full"


class SyncResult(msgspec.Struct, frozen=True, kw_only=True):
    """A state at the table's version."""

    version: int
    kind: SyncKind
    base_version: int | None
    """The version of the state that this one is based on."""
    commits_read: int
    num_files: int
    total_bytes: int
    added: int
    removed: int
    reason: str | None = None
    """Why a full sync was needed although an older state exists."""
    compaction: Compaction | None = None


class DeltaVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a Delta table, as read by a scan."""

    version: int
    metadata: str
    protocol: str
    types: Mapping[str, DataType]
    """The partition columns, by their names in the log."""
    entries: Callable[[], Iterable[Entry]]
    """All live files, streamed."""


class _Rebuild(Exception):  # noqa: N818  (a decision, not an error)
    """The older state cannot be reused."""


class _Net(msgspec.Struct, kw_only=True):
    adds: dict[FileKey, Entry] = msgspec.field(default_factory=dict)
    removes: set[FileKey] = msgspec.field(default_factory=set)
    spellings: set[str] = msgspec.field(default_factory=set)


def sync(
    log: Store,
    store: WritableStore,
    home: Home,
    target: DeltaVersion,
    *,
    settings: StateSettings,
) -> SyncResult:
    """Write the state of a version, unless it exists.

    Args:
        log: The store of the table.
        store: The store of the states; usually the same.
        home: The folder of the states.
        target: The version.
        settings: How states are written.

    Raises:
        InvalidTableError: the commit file of the version is gone, so nothing can anchor a state.
        StorageError: a store failed.
    """
    anchor = _anchor(log, target.version)
    if anchor is None:
        missing = f"the commit file of version {target.version}, which a state needs, is gone"
        raise InvalidTableError(table=log.root, reason=missing)
    reason: str | None = None
    old: StateManifest | None = None
    try:
        old = newest_state(store, home)
        if old is not None:
            return _brought_up(log, store, home, target, old, anchor, settings)
    except _Rebuild as why:
        reason = str(why)
    except DamageError as error:
        reason = f"the older state is damaged: {error}"
    return _write(
        store,
        home,
        target,
        None,
        _Changes(entries=target.entries()),
        anchor,
        settings,
        kind=SyncKind.FULL,
        reason=reason,
        commits=0,
    )


def _brought_up(  # noqa: PLR0913, PLR0917  (what both ways share)
    log: Store,
    store: WritableStore,
    home: Home,
    target: DeltaVersion,
    old: StateManifest,
    anchor: Anchor,
    settings: StateSettings,
) -> SyncResult:
    known = decode_anchor(old.anchor)
    if known is None or known != _anchor(log, old.state_version):
        raise _Rebuild(f"state {old.state_version} belongs to another log, or its commit is gone")
    if old.state_version > target.version:
        raise _Rebuild(f"state {old.state_version} is newer than version {target.version}")
    if old.state_version == target.version:
        return SyncResult(
            version=target.version,
            kind=SyncKind.UNCHANGED,
            base_version=target.version,
            commits_read=0,
            num_files=old.num_files,
            total_bytes=old.total_bytes,
            added=0,
            removed=0,
        )
    if _definition(old) != msgspec.json.decode(target.metadata):
        raise _Rebuild("the table's metadata changed")
    net = _replay(log, range(old.state_version + 1, target.version + 1))
    changes = _Changes(
        entries=net.adds.values(),
        removes=frozenset(net.removes - net.adds.keys()),
        spellings=frozenset(net.spellings),
    )
    return _write(
        store,
        home,
        target,
        old,
        changes,
        anchor,
        settings,
        kind=SyncKind.INCREMENTAL,
        reason=None,
        commits=target.version - old.state_version,
    )


class _Changes(msgspec.Struct, frozen=True, kw_only=True):
    entries: Iterable[Entry]
    removes: frozenset[FileKey] = frozenset()
    spellings: frozenset[str] = frozenset()


def _write(  # noqa: PLR0913, PLR0917  (what both ways share)
    store: WritableStore,
    home: Home,
    target: DeltaVersion,
    old: StateManifest | None,
    changes: _Changes,
    anchor: Anchor,
    settings: StateSettings,
    *,
    kind: SyncKind,
    reason: str | None,
    commits: int,
) -> SyncResult:
    stage = Stage(store, home, settings=settings)
    shelf = ManifestShelf(store, home.root, types=target.types)
    try:
        staged: StagedEntries = stage.put_entries(changes.entries, types=target.types)
        build = Build(
            store,
            home,
            change=Change(
                staged=staged,
                removes=changes.removes,
                spellings=changes.spellings,
                metadata=target.metadata,
                protocol=target.protocol,
                anchor=anchor.encoded(),
            ),
            shelf=shelf,
            types=target.types,
            settings=settings,
            commit_id=uuid4().hex,
        )
        base = Base(version=target.version, state=old, layout=Layout.STATE)
        built = build.state(base, stage, version=target.version)
    except BaseException:
        stage.discard()
        raise
    outcome = commit_state(store, home, built.state)
    if isinstance(outcome, Conflict):
        _settle_conflict(store, home, built.state, stage)
    write_hint(store, home, hint_of(built.state))
    if built.compaction is not None:
        _clean_quietly(store, home, settings)
    return SyncResult(
        version=target.version,
        kind=kind,
        base_version=None if old is None else old.state_version,
        commits_read=commits,
        num_files=built.state.num_files,
        total_bytes=built.state.total_bytes,
        added=staged.count,
        removed=len(changes.removes) - len(built.missed),
        reason=reason,
        compaction=built.compaction,
    )


def _settle_conflict(store: WritableStore, home: Home, state: StateManifest, stage: Stage) -> None:
    """Resolve a state that already exists: keep it if it belongs to this log, else replace it."""
    from_store = None
    try:
        newest = newest_state(store, home)
        if newest is not None and newest.state_version == state.state_version:
            from_store = newest
    except HeadraceError:  # the existing state is damaged
        from_store = None
    if from_store is not None and from_store.anchor == state.anchor:
        stage.discard()
        return
    replace_state(store, home, state)


def replace_state(store: WritableStore, home: Home, state: StateManifest) -> None:
    """Overwrite the state of a version. This is safe: the state only repeats what the log says."""
    store.put(home.state_path(state.state_version), encode_state(state), mode=PutMode.OVERWRITE)


def _clean_quietly(store: WritableStore, home: Home, settings: StateSettings) -> None:
    with suppress(HeadraceError):  # the state is committed; the next clean-up tries again
        clean(store, home, settings=settings, dry_run=False)


def _anchor(log: Store, version: int) -> Anchor | None:
    path = commit_path(version)
    directory, _, name = path.rpartition("/")
    commit: ObjectMeta | None = next(iter(log.list(directory, start_from=name)), None)
    if commit is None or commit.path != path:
        return None
    return Anchor(path=path, size=commit.size_bytes, modified=commit.modified_ms)


def _definition(state: StateManifest) -> Any:
    return None if state.metadata is None else msgspec.json.decode(state.metadata)


def _replay(log: Store, versions: range) -> _Net:
    """Return the net change of commits, read oldest first."""
    net = _Net()
    for version in versions:
        path = commit_path(version)
        try:
            actions = list(decode_actions(log.read(path), path=path))
        except ObjectNotFoundError as error:
            raise _Rebuild(f"commit {version} has been cleaned up") from error
        for action in actions:
            if action.get("remove") is not None:
                key = _key(action["remove"])
                net.adds.pop(key, None)
                net.removes.add(key)
                net.spellings.add(action["remove"]["path"])
        for action in actions:
            if action.get("add") is not None:
                add = action["add"]
                net.adds[_key(add)] = entry_of_delta_add(add, version=version)
                net.spellings.add(add["path"])
            elif action.get("metaData") is not None or action.get("protocol") is not None:
                raise _Rebuild(f"commit {version} changes the table's definition")
    return net


def entry_of_delta_add(add: Mapping[str, Any], *, version: int) -> Entry:
    """Convert an add action of a Delta log to an entry."""
    vector = add.get("deletionVector")
    entry: Entry = {
        "path": add["path"],
        "partitionValues": add.get("partitionValues") or {},
        "size": add["size"],
        "modificationTime": add.get("modificationTime") or 0,
        "dataChange": bool(add.get("dataChange", True)),
        "stats": add.get("stats"),
        "deletionVector": None if vector is None else _vector(vector),
        "tags": add.get("tags"),
        "baseRowId": add.get("baseRowId"),
        "defaultRowCommitVersion": add.get("defaultRowCommitVersion"),
        "clusteringProvider": add.get("clusteringProvider"),
        "addedAtVersion": version,
        "addedAtTimestamp": add.get("modificationTime") or 0,
    }
    return entry


def _vector(vector: Mapping[str, Any]) -> dict[str, Any]:
    names = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
    return {name: vector.get(name) for name in names}


def _key(action: Mapping[str, Any]) -> FileKey:
    vector = action.get("deletionVector")
    return FileKey(canonical_path(action["path"]), None if vector is None else dv_id(vector))
