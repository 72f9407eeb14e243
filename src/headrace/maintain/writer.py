"""The writer of an IndexTables log: commits added and removed files as a new version.

Each attempt reads the base again, checks that the files to remove are still live, builds the next
state and puts it. New manifests are written once and shared by all attempts. Nothing that may have
been committed is deleted: a failure leaves unreferenced files, which clean-up deletes later.
"""

import random
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

import msgspec

from headrace.commit.staged import Conflict
from headrace.errors import (
    CommitConflictError,
    CorruptStateError,
    HeadraceError,
    InvalidArgumentError,
    InvalidTableError,
    NotIndexTablesError,
    StateConflictError,
)
from headrace.log.name import MAX_VERSION
from headrace.log.state_name import state_directory
from headrace.maintain.base import NO_VERSION, Base, Layout, VersionFile, read_base
from headrace.maintain.build import Build, Change
from headrace.maintain.cleanup import clean
from headrace.maintain.commit_result import CommitResult
from headrace.maintain.compaction import Compaction
from headrace.maintain.creation import create_log
from headrace.maintain.distribution import RunTasks
from headrace.maintain.entry_progress import EntryProgress
from headrace.maintain.hint import hint_of, write_hint
from headrace.maintain.home import INDEXTABLES_HOME, Home, partition_types
from headrace.maintain.json_checkpoint import write_json_checkpoint
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.object_put import ObjectPut, commit_state
from headrace.maintain.setting import StateFormat, StateSettings
from headrace.maintain.staging import Stage, StagedEntries, now_ms
from headrace.maintain.version_commit import commit_actions
from headrace.maintain.version_file import encode_actions
from headrace.metrics.event import StateWritten
from headrace.metrics.reporter import Reporter
from headrace.protocol.key import FileKey, canonical_path
from headrace.protocol.schema import DataType
from headrace.protocol.state import StateManifest
from headrace.protocol.state_schema import Schema
from headrace.storage.store import WritableStore


class StateWriter:
    """Commits to the log of one table."""

    def __init__(  # noqa: PLR0913  (each has a default)
        self,
        store: WritableStore,
        *,
        home: Home = INDEXTABLES_HOME,
        settings: StateSettings | None = None,
        reporter: Reporter | None = None,
        run_tasks: RunTasks | None = None,
        progress: EntryProgress | None = None,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.store = store
        self.home = home
        self.settings = settings or StateSettings()
        self._reporter = reporter
        self._run_tasks = run_tasks
        self._progress = progress
        self._sleep = sleep
        self._jitter = jitter
        self._staged_at_s = time.monotonic()

    def commit(  # noqa: PLR0913  (what a version may change)
        self,
        adds: Iterable[Mapping[str, Any]] = (),
        removes: Iterable[str] = (),
        *,
        schema_registry: Mapping[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        is_merge: bool = False,
        force_compaction: bool = False,
        entry_schema: Schema | None = None,
    ) -> CommitResult:
        """Commit the next version with files added and removed.

        Args:
            adds: Entries with the field names of the format; `path` and `size` are required. They
                are streamed: only their keys are held in memory.
            removes: The paths of the files to remove. One that is not live is reported as missed.
            schema_registry: Mappings by their hashes, added to those of the table.
            metadata: The table's new metadata; required for a table that does not exist yet.
            is_merge: Whether the removed files were merged into the added ones.
            force_compaction: Whether to compact everything in the same version.
            entry_schema: The schema of the added entries, if they have other fields.

        Raises:
            StateConflictError: another writer removed one of the files during the commit.
            CommitConflictError: other writers committed first in every attempt.
            CommitUnknownError: whether the version was committed is unknown.
            CorruptStateError, CorruptLogError, LogGapError: the log is damaged.
            InvalidArgumentError: a file is given twice, or an entry or a path is not valid.
        """
        started_ns = time.monotonic_ns()
        removed_paths = _paths(removes)
        base = self._existing_base(metadata)
        stage = self._stage()
        types = partition_types(_encoded(metadata) or base.metadata)
        try:
            staged = stage.put_entries(adds, types=types, schema=entry_schema)
            change = Change(
                staged=staged,
                removes=frozenset(FileKey(canonical_path(path)) for path in removed_paths),
                spellings=removed_paths,
                registry=dict(schema_registry or {}),
                metadata=_encoded(metadata),
                is_merge=is_merge,
                force_compaction=force_compaction,
            )
            build = self._build(change, types)
        except BaseException:
            stage.discard()  # no state can reference them
            raise
        self._staged_at_s = time.monotonic()
        result = self._attempts(base, build, stage)
        self._report(result, build, started_ns)
        return result if result.compaction is None else self._cleaned(result)

    def compact(self, *, force: bool = True) -> CommitResult | None:
        """Compact the newest state as a new version; return None if it needs no compaction.

        Raises:
            CommitConflictError, CommitUnknownError, CorruptStateError: as for `commit`.
        """
        base = self._existing_base(None)
        if base.state is not None and not base.pending:
            build = self._build(Change(staged=StagedEntries()), partition_types(base.metadata))
            if build.is_clean(base, force=force):
                return None
        return self.commit(force_compaction=force)

    def _stage(self) -> Stage:
        return Stage(self.store, self.home, settings=self.settings, progress=self._progress)

    def _build(self, change: Change, types: Mapping[str, DataType]) -> Build:
        return Build(
            self.store,
            self.home,
            change=change,
            shelf=ManifestShelf(
                self.store,
                self.home.root,
                types=types,
                parallelism=self.settings.read_parallelism,
            ),
            types=types,
            settings=self.settings,
            commit_id=uuid4().hex,
            run_tasks=self._run_tasks,
        )

    def _cleaned(self, result: CommitResult) -> CommitResult:
        """Clean up after a compaction, with the retention from the settings."""
        try:
            _, cleanup = clean(self.store, self.home, settings=self.settings, dry_run=False)
        except HeadraceError as error:
            return msgspec.structs.replace(result, cleanup_failure=str(error))
        return msgspec.structs.replace(result, cleanup=cleanup)

    def _check_manifests_exist(self, state: StateManifest) -> None:
        """Check that the manifests of a state exist, if a clean-up may have run in the meantime.

        Raises:
            CorruptStateError: a manifest is gone.
        """
        elapsed_s = time.monotonic() - self._staged_at_s
        if elapsed_s * 2 < self.settings.min_manifest_age_hours * 3600:
            return
        listed = {meta.path for meta in self.store.list_tree(self.home.root)}
        for info in state.manifests:
            path = f"{self.home.root}/{info.path}"
            if path not in listed:
                reason = "a clean-up deleted it during this commit; try again"
                raise CorruptStateError(path=path, reason=reason)

    def _existing_base(self, metadata: Mapping[str, Any] | None) -> Base:
        base = read_base(self.store, self.home)
        if base.version != NO_VERSION:
            return base
        if metadata is None:
            raise NotIndexTablesError(table=self.store.root)
        create_log(self.store, self.home, metadata=metadata)
        return read_base(self.store, self.home)

    def _attempts(self, base: Base, build: Build, stage: Stage) -> CommitResult:
        settings = self.settings
        if base.version >= MAX_VERSION:
            stage.discard()
            reason = f"its newest version is {base.version}, so it cannot have another one"
            raise InvalidTableError(table=self.store.root, reason=reason)
        for attempt in range(1, settings.max_attempts + 1):
            if attempt > 1:
                self._sleep(self._backoff_s(attempt))
                base = read_base(self.store, self.home)
            try:
                outcome = self._attempt(base, build, attempt)
            except (StateConflictError, InvalidArgumentError):
                stage.discard()
                raise
            if isinstance(outcome, CommitResult):
                if self._writes_version_files(base):  # these have the entries themselves
                    with suppress(HeadraceError):
                        stage.discard()
                return outcome
        stage.discard()  # another writer won every attempt
        raise CommitConflictError(table=self.store.root, attempts=settings.max_attempts)

    def _writes_version_files(self, base: Base) -> bool:
        return base.layout is Layout.VERSIONS or self.settings.format is StateFormat.JSON

    def _attempt(self, base: Base, build: Build, attempt: int) -> CommitResult | Conflict:
        if self._writes_version_files(base):
            return self._attempt_version(base, build, attempt)
        attempt_stage = self._stage()
        try:
            built = build.state(base, attempt_stage)
        except BaseException:
            attempt_stage.discard()
            raise
        self._check_manifests_exist(built.state)
        outcome = commit_state(self.store, self.home, built.state)
        if isinstance(outcome, Conflict):
            attempt_stage.discard()
            return outcome
        write_hint(self.store, self.home, hint_of(built.state))
        return self._result(built.state, build, attempt, built.missed, built.compaction)

    def _attempt_version(self, base: Base, build: Build, attempt: int) -> CommitResult | Conflict:
        """Commit with a version file, followed by a state or a checkpoint if one is due."""
        version = base.version + 1
        if base.layout is Layout.STATE and base.version > 0:
            reason = (
                "this log has no version files to continue from; write a JSON checkpoint first, "
                "with CHECKPOINT and the same setting"
            )
            raise InvalidArgumentError(argument="format", reason=reason)
        removed_paths, missed = build.validated(base)
        actions = commit_actions(
            build.change, removed_paths, build.staged_entries(), commit_id=build.commit_id
        )
        put = ObjectPut(self.store, f"{self.home.root}/{version:020}.json", version=version)
        outcome = put.commit(encode_actions(actions), commit_id=build.commit_id)
        if isinstance(outcome, Conflict):
            return outcome
        is_due = version % self.settings.checkpoint_interval == 0
        committed = read_base(self.store, self.home)
        if self.settings.format is StateFormat.JSON:
            if is_due and committed.version == version:
                write_json_checkpoint(self.store, self.home, committed, settings=self.settings)
        elif (is_due or base.state is not None) and committed.version == version:
            state = self._write_state_of(committed, build.for_checkpoint())
            if state is not None:
                return self._result(state, build, attempt, missed, None)
        # Other versions may already follow, so what was committed is not what was just read.
        own = VersionFile(version=version, modified_ms=now_ms(), actions=tuple(actions))
        files, total = build.totals(msgspec.structs.replace(base, pending=(*base.pending, own)))
        return CommitResult(
            version=version,
            state_dir=None,
            attempts=attempt,
            commit_id=build.commit_id,
            num_files=files,
            total_bytes=total,
            added=build.change.staged.count,
            removed=len(build.change.removes) - len(missed),
            missed=missed,
        )

    def checkpoint(self, *, force_compaction: bool = False) -> StateManifest | None:
        """Write the state of the newest version if a version file made it; None if not written.

        Raises:
            CorruptStateError, CorruptLogError, LogGapError: the log is damaged.
        """
        base = self._existing_base(None)
        change = Change(staged=StagedEntries(), force_compaction=force_compaction)
        return self._write_state_of(base, self._build(change, partition_types(base.metadata)))

    def switch_to_version_files(self, base: Base) -> StateManifest:
        """Commit a state that changes nothing but announces that version files follow.

        Raises:
            CommitConflictError: another writer committed first.
        """
        build = self._build(Change(staged=StagedEntries()), partition_types(base.metadata))
        attempt_stage = self._stage()
        built = build.state(base, attempt_stage)
        state = msgspec.structs.replace(built.state, layout=str(Layout.VERSIONS))
        outcome = commit_state(self.store, self.home, state)
        if isinstance(outcome, Conflict):
            attempt_stage.discard()
            raise CommitConflictError(table=self.store.root, attempts=1)
        return state

    def _write_state_of(self, base: Base, build: Build) -> StateManifest | None:
        """Write the state of a version that exists; another writer's state is equally good."""
        attempt_stage = self._stage()
        built = build.state(base, attempt_stage, version=base.version)
        outcome = commit_state(self.store, self.home, built.state)
        if isinstance(outcome, Conflict):
            attempt_stage.discard()
            return None
        write_hint(self.store, self.home, hint_of(built.state))
        return built.state

    def _result(
        self,
        state: StateManifest,
        build: Build,
        attempt: int,
        missed: tuple[str, ...],
        compaction: Compaction | None,
    ) -> CommitResult:
        return CommitResult(
            version=state.state_version,
            state_dir=state_directory(state.state_version),
            attempts=attempt,
            commit_id=build.commit_id,
            num_files=state.num_files,
            total_bytes=state.total_bytes,
            added=build.change.staged.count,
            removed=len(build.change.removes) - len(missed),
            missed=missed,
            compaction=compaction,
        )

    def _backoff_s(self, attempt: int) -> float:
        longest = min(
            self.settings.backoff_ms << min(attempt - 2, 20), self.settings.backoff_limit_ms
        )
        return longest * (1 + self._jitter()) / 2000

    def _report(self, result: CommitResult, build: Build, started_ns: int) -> None:
        if self._reporter is not None:
            self._reporter(
                StateWritten(
                    table=self.store.root,
                    version=result.version,
                    duration_ns=time.monotonic_ns() - started_ns,
                    compacted=result.compaction is not None,
                    tombstone_count=build.tombstone_count,
                    num_files=result.num_files,
                )
            )


def _paths(paths: Iterable[str]) -> frozenset[str]:
    removed_paths = None if isinstance(paths, str) else list(paths)
    if removed_paths is None or not all(isinstance(path, str) for path in removed_paths):
        raise InvalidArgumentError(argument="removes", reason="give a list of paths")
    return frozenset(removed_paths)


def _encoded(metadata: Mapping[str, Any] | None) -> str | None:
    if metadata is None:
        return None
    return msgspec.json.encode({"metaData": dict(metadata)}).decode()
