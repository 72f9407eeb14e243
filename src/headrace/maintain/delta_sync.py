"""Syncs the state next to a Delta log to a version, incrementally or in full.

An incremental sync reads only the commits since the last state. The log is the only source of
truth. A state is derived from the log at one version, and carries an anchor: the commit file of
that version as it was listed. A state whose anchor no longer matches belongs to another log, and
is not reused.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Any
from uuid import uuid4

import msgspec
import pyarrow as pa

from headrace.avro.state_file import encode_state
from headrace.commit.log import commit_path
from headrace.commit.staged import Conflict
from headrace.errors import (
    DamageError,
    HeadraceError,
    InvalidArgumentError,
    InvalidTableError,
)
from headrace.maintain.base import Base, Layout, newest_state, read_hint
from headrace.maintain.build import Build, Built, Change
from headrace.maintain.cleanup import clean
from headrace.maintain.compaction import Compaction
from headrace.maintain.delta_replay import RebuildNeeded, replay_commits
from headrace.maintain.entry_progress import EntryProgress
from headrace.maintain.hint import hint_of, write_hint
from headrace.maintain.home import Home
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.object_put import commit_state
from headrace.maintain.partition_code import PartitionCodes
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import Stage
from headrace.protocol.schema import DataType
from headrace.protocol.state import UNKNOWN_COUNT, Anchor, StateManifest, decode_anchor
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
    batches: Callable[[PartitionCodes], Iterable[pa.RecordBatch]]
    """All live files, streamed as batches of `ENTRY_COLUMNS`."""


def sync(  # noqa: PLR0913  (stores, version and settings)
    log: Store,
    store: WritableStore,
    home: Home,
    target: DeltaVersion,
    *,
    settings: StateSettings,
    progress: EntryProgress | None = None,
) -> SyncResult:
    """Write the state of a version, unless it exists.

    Args:
        log: The store of the table.
        store: The store of the states; usually the same.
        home: The folder of the states.
        target: The version.
        settings: How states are written.
        progress: Counts the entries that are read and written.

    Raises:
        InvalidTableError: the commit file of the version is gone, so nothing can anchor a state;
            or a file is listed twice or has a size that no state can record.
        StorageError: a store failed.
    """
    commit = _commit(log, target.version)
    if commit is None:
        missing = f"the commit file of version {target.version}, which a state needs, is gone"
        raise InvalidTableError(table=log.root, reason=missing)
    anchor = Anchor(
        path=commit.path,
        size=commit.size_bytes,
        modified=commit.modified_ms,
        etag=commit.etag,
    )
    task = _Sync(
        log=log,
        store=store,
        home=home,
        target=target,
        anchor=anchor,
        settings=settings,
        progress=progress or EntryProgress(),
    )
    try:
        return task.write()
    except InvalidArgumentError as error:  # what the log says cannot be recorded
        raise InvalidTableError(table=log.root, reason=error.reason) from error


class _Sync(msgspec.Struct, frozen=True, kw_only=True):
    """One sync: what both ways of writing a state share."""

    log: Store
    store: WritableStore
    home: Home
    target: DeltaVersion
    anchor: Anchor
    settings: StateSettings
    progress: EntryProgress

    def write(self) -> SyncResult:
        """Write the state from an older one if that can be reused, else from all live files."""
        reason: str | None = None
        try:
            old = newest_state(self.store, self.home)
            if old is not None:
                return self.increment(old)
        except RebuildNeeded as why:
            reason = str(why)
        except DamageError as error:
            reason = f"the older state is damaged: {error}"
        return self.full(reason)

    def increment(self, old: StateManifest) -> SyncResult:
        """Write the state from an older one and the commits after it.

        Raises:
            RebuildNeeded: the older state cannot be reused.
        """
        target = self.target
        known = decode_anchor(old.anchor)
        commit = _commit(self.log, old.state_version)
        if known is None or commit is None or not _is_anchor(known, commit):
            reason = f"state {old.state_version} belongs to another log, or its commit is gone"
            raise RebuildNeeded(reason)
        if lost := self._lost_manifest(old):
            raise RebuildNeeded(f"state {old.state_version} lacks its manifest {lost}")
        if old.state_version > target.version:
            raise RebuildNeeded(f"state {old.state_version} is newer than version {target.version}")
        if old.state_version == target.version:
            self._repair_hint(old)
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
            raise RebuildNeeded("the table's metadata changed")
        net = replay_commits(self.log, range(old.state_version + 1, target.version + 1))
        stage = self._stage()
        with _discarding(stage):
            change = Change(
                staged=stage.put_entries(net.adds.values(), types=target.types),
                removes=frozenset(net.removes - net.adds.keys()),
                replaced=frozenset(net.removes & net.adds.keys()),
                spellings=frozenset(net.spellings),
            )
            built = self._build(change, stage, old)
        result = self._commit(built, change, stage)
        return msgspec.structs.replace(
            result,
            kind=SyncKind.INCREMENTAL,
            base_version=old.state_version,
            commits_read=target.version - old.state_version,
        )

    def _lost_manifest(self, state: StateManifest) -> str | None:
        """Return a manifest of a state that is missing or has another length."""
        listed = self.store.list_tree(self.home.root)
        lengths = {meta.path.removeprefix(f"{self.home.root}/"): meta.size_bytes for meta in listed}
        for info in state.manifests:
            if info.path not in lengths:
                return info.path
            if info.length_bytes not in {UNKNOWN_COUNT, lengths[info.path]}:
                return info.path
        return None

    def _repair_hint(self, state: StateManifest) -> None:
        """Write the hint of a state if an interrupted sync did not: scans find states by it."""
        hint = read_hint(self.store, self.home)
        if hint is None or hint.version != state.state_version:
            write_hint(self.store, self.home, hint_of(state))

    def full(self, reason: str | None) -> SyncResult:
        """Write the state from all live files."""
        stage, partitions = self._stage(), PartitionCodes(self.target.types)
        with _discarding(stage):
            batches = self.target.batches(partitions)
            change = Change(staged=stage.put_columns(batches, partitions=partitions))
            built = self._build(change, stage, None)
        result = self._commit(built, change, stage, is_repair=reason is not None)
        return msgspec.structs.replace(result, reason=reason)

    def _stage(self) -> Stage:
        return Stage(self.store, self.home, settings=self.settings, progress=self.progress)

    def _build(self, change: Change, stage: Stage, old: StateManifest | None) -> Built:
        target = self.target
        build = Build(
            self.store,
            self.home,
            change=msgspec.structs.replace(
                change,
                metadata=target.metadata,
                protocol=target.protocol,
                anchor=self.anchor.encoded(),
            ),
            shelf=ManifestShelf(
                self.store,
                self.home.root,
                types=target.types,
                parallelism=self.settings.read_parallelism,
            ),
            types=target.types,
            settings=self.settings,
            commit_id=uuid4().hex,
        )
        base = Base(version=target.version, state=old, layout=Layout.STATE)
        return build.state(base, stage, version=target.version)

    def _commit(
        self, built: Built, change: Change, stage: Stage, *, is_repair: bool = False
    ) -> SyncResult:
        state = built.state
        outcome = commit_state(self.store, self.home, state)
        if isinstance(outcome, Conflict):
            if is_repair:
                replace_state(self.store, self.home, state)
            else:
                _settle_conflict(self.store, self.home, state, stage)
        write_hint(self.store, self.home, hint_of(state))
        if built.compaction is not None:
            _clean_quietly(self.store, self.home, self.settings)
        return SyncResult(
            version=self.target.version,
            kind=SyncKind.FULL,
            base_version=None,
            commits_read=0,
            num_files=state.num_files,
            total_bytes=state.total_bytes,
            added=change.staged.count,
            removed=len(change.removes) - len(built.missed),
            compaction=built.compaction,
        )


@contextmanager
def _discarding(stage: Stage) -> Iterator[None]:
    """Discard the staged manifests on failure: no state can reference them yet."""
    try:
        yield
    except BaseException:
        stage.discard()
        raise


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


def _commit(log: Store, version: int) -> ObjectMeta | None:
    path = commit_path(version)
    directory, _, name = path.rpartition("/")
    commit: ObjectMeta | None = next(iter(log.list(directory, start_from=name)), None)
    return commit if commit is not None and commit.path == path else None


def _is_anchor(anchor: Anchor, commit: ObjectMeta) -> bool:
    return anchor.is_of(
        path=commit.path,
        size_bytes=commit.size_bytes,
        modified_ms=commit.modified_ms,
        etag=commit.etag,
    )


def _definition(state: StateManifest) -> Any:
    try:
        return None if state.metadata is None else msgspec.json.decode(state.metadata)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RebuildNeeded(f"the metadata of state {state.state_version} is damaged") from error
