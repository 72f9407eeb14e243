"""Staging: the folders that a run writes files into before a commit references them.

An intent is recorded durably before the first file is written, and deleted once the files are
committed or deleted. However a run ends, the next run finds its folders by the intent, and the log
shows whether a commit references their files. Tasks of a runner outlive a driver that was killed,
and may write files after the next run has deleted the others. So the intent of a dead run is kept
for `LATE_MS` after it was first discovered, and each run until then empties its folders again.
"""

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Protocol
from uuid import uuid4

import msgspec

from headrace.commit.fence import put_fence
from headrace.commit.log import NO_VERSION, committed_paths, newest_version
from headrace.commit.staged import Committed, Staged
from headrace.errors import HeadraceError
from headrace.log.name import LOG_DIRECTORY
from headrace.pipeline.output.note import last_note
from headrace.pipeline.place import Place
from headrace.storage.store import PutMode, WritableStore

_LOGGER = logging.getLogger("headrace.pipeline")
CHANGE_FOLDER = "_change_data"
_FOLDER = "intents"
_SUFFIX = ".json"
_INCOMPLETE = re.compile(r"/\.[^/]+\.json\.[0-9a-f]{32}\.tmp$")
"""The name of an intent that is still being written."""
RUN_FOLDER = re.compile(r"run-.+-[0-9a-f]{8}")
"""The names of the folders below a table that runs write files into."""
LATE_MS = 10 * 60 * 1000
"""How long tasks of a dead run may continue to write. With Spark's default `spark.network.timeout`,
executors notice within two minutes that their driver is gone."""


class Lock(Protocol):
    """The lock that a run must hold to commit."""

    def check(self) -> None:
        """Check that the lock is still held.

        Raises:
            LeaseLostError: another process holds it.
        """


class Unlocked:
    """A lock that is always held, for a table with one writer."""

    def check(self) -> None:
        """Do nothing."""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """The folders below a table that a run writes files into, for one commit."""

    run: str
    view: str
    table: str
    folder: str
    """The absolute address of the folder. No two stagings share one, even in the same run."""
    started_ms: int = 0
    commit_id: str | None = None
    """None in intents of older releases, whose commits have no id."""
    base_version: int = NO_VERSION
    """The newest version of the table when the staging was opened."""
    home: str | None = None
    """The journal that recorded it: a copy of a project also has the intents of the original, whose
    files it must not delete. None in intents of older releases."""
    found_dead_ms: int | None = None
    """When a later run first noticed that no commit references its files; None before that."""

    @property
    def is_well_formed(self) -> bool:
        """Whether its folder is one that a run creates below its table."""
        table, _, name = self.folder.rstrip("/").rpartition("/")
        return table == self.table.rstrip("/") and name.startswith("run-") and ".." not in name

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders below the table that only this staging writes to."""
        name = self.folder.rstrip("/").rpartition("/")[2]
        return name, f"{CHANGE_FOLDER}/{name}"


class Staging:
    """An open staging: a runner writes files into its folder, which are then committed."""

    def __init__(self, intent: Intent, table: Place, *, lock: Lock | None = None) -> None:
        """Take a recorded intent, its table, and the lock that its commit needs."""
        self.intent, self.table = intent, table
        self.store = table.open()
        self._lock = lock or Unlocked()
        self._staged: Staged | None = None
        self.had_uncommitted_files = False
        """Whether settling it deleted uncommitted files: tasks may still write more."""

    @property
    def name(self) -> str:
        """The folder of the staging, as a path below the table."""
        return self.intent.folders[0]

    @property
    def change_folder(self) -> str:
        """The folder of change data feed files, as a path below the table."""
        return self.intent.folders[1]

    @property
    def folder(self) -> Place:
        """The folder of the staging, for the runner that writes there."""
        return self.table / self.name

    def stage(self, paths: tuple[str, ...]) -> Staged:
        """Stage the files that a commit will reference, by their paths below the table.

        Call it after reading the version that the commit builds on: see `headrace.commit.fence`.

        Raises:
            LeaseLostError: another process has taken over the lock.
        """
        commit_id = self.intent.commit_id
        assert commit_id is not None, "only intents of older releases have none"
        self._lock.check()
        if self._staged is None or self._staged.paths != paths:
            self._staged = Staged(self.store, paths=paths, commit_id=commit_id)
        return self._staged

    @property
    def referenced(self) -> frozenset[str]:
        """The files that the last commit attempt references; empty before the first."""
        return frozenset(() if self._staged is None else self._staged.paths)

    def discard_unused(self, referenced: frozenset[str]) -> None:
        """Delete files of the staging that its commit does not reference."""
        paths = set(self._paths())
        if referenced <= paths:  # else the listing is incomplete or spells paths differently
            self.store.delete(sorted(paths - referenced))
            self._prune()

    def settle(self) -> Committed | None:
        """Delete the files that no commit references, and return the commit if there is one.

        Raises:
            LogGapError: the log no longer shows whether there is a commit; no file is deleted.
        """
        intent = self.intent
        if intent.commit_id is None:
            return self._settle_without_commit_id()
        staged = Staged(self.store, paths=tuple(self._paths()), commit_id=intent.commit_id)
        committed = staged.abandon(after=intent.base_version)
        self.had_uncommitted_files = committed is None and bool(staged.paths)
        if committed is not None:
            self.discard_unused(committed_paths(self.store, committed.version))
        self._prune()
        return committed

    def _settle_without_commit_id(self) -> Committed | None:
        """Settle an intent of an older release; the note of its run identifies its commit."""
        noted = last_note(self.table)
        if noted is not None and noted.note.run == self.intent.run:
            return Committed(version=noted.version, commit_id=noted.commit_id or "")
        self.store.delete(list(self._paths()))
        self._prune()
        return None

    def _prune(self) -> None:
        for folder in self.intent.folders:
            self.store.prune(folder)

    def _paths(self) -> Iterator[str]:
        for folder in self.intent.folders:
            assert LOG_DIRECTORY not in folder, "a staging is never in the log"
            for file in self.store.list_tree(folder):
                yield file.path


class Journal:
    """The recorded intents of a project, one object each."""

    def __init__(
        self,
        store: WritableStore,
        *,
        lock: Lock | None = None,
        clock_ms: Callable[[], int] | None = None,
    ) -> None:
        """Open the journal of a project.

        Args:
            store: The store of the project's state folder.
            lock: The lock of the run; each commit checks it.
            clock_ms: Returns the current time; by default the machine's.
        """
        self._store, self._lock = store, lock
        self._clock_ms = clock_ms or _now_ms

    @contextmanager
    def open(self, table: Place | str | PathLike[str], *, run: str, view: str) -> Iterator[Staging]:
        """Open a staging for one commit; if the block fails, uncommitted files are deleted.

        Raises:
            StorageError: the intent cannot be recorded; nothing has been written.
        """
        table = Place.of(table)
        commit_id = str(uuid4())
        intent = Intent(
            run=run,
            view=view,
            table=str(table),
            folder=str(table / _run_folder(run, commit_id)),
            commit_id=commit_id,
            base_version=newest_version(table.open()),
            home=self._store.root,
        )
        content = msgspec.json.encode(intent)
        self._store.put(_intent_path(intent), content, mode=PutMode.CREATE)
        staging = Staging(intent, table, lock=self._lock)
        try:
            yield staging
        except BaseException:
            self._settle_failed(staging)
            raise
        self._close(staging)

    def fence(self, *, folders: Sequence[Place]) -> None:
        """Keep a run that lost its lock from committing what it has staged.

        Call it after taking over the lock, before `recover`.

        Args:
            folders: The current folders of the project's tables.

        Raises:
            StorageError: a store failed; the run may still commit.
        """
        temporary = f"{self._store.root}/"  # staging tables need no fence
        tables = {
            intent.table
            for _, intent in self._read_intents()
            if intent.found_dead_ms is None and not intent.table.startswith(temporary)
        }
        for uri in sorted(tables):
            put_fence(_table_place(uri, folders).open())

    def recover(self, *, folders: Sequence[Place]) -> list[Intent]:
        """Settle the intents of earlier runs; return those that were never committed.

        Call it only while no other run of the project can commit.

        Args:
            folders: The current folders of the project's tables, which may have been moved.
        """
        uncommitted = []
        for path, recorded in list(self._read_intents()):
            intent = self._relocate(recorded, folders)
            if intent is None:
                _LOGGER.warning(
                    "files of run %s in %s belong to another copy of this project and are kept",
                    *(recorded.run, recorded.folder),
                )
                self._forget(path)
                continue
            try:
                committed = Staging(intent, _table_place(intent.table, folders)).settle()
            except HeadraceError as error:
                _warn(intent, error)
                uncommitted.append(intent)
                continue
            if committed is None:
                uncommitted.append(intent)
            if committed is not None or self._has_expired(path, recorded):
                self._forget(path)
        return uncommitted

    def _has_expired(self, path: str, intent: Intent) -> bool:
        """Return whether tasks of a dead run can no longer write; record when it was first seen."""
        now_ms = self._clock_ms()
        if intent.found_dead_ms is not None:
            return now_ms - intent.found_dead_ms >= LATE_MS
        dated = msgspec.structs.replace(intent, found_dead_ms=now_ms)
        try:
            self._store.put(path, msgspec.json.encode(dated), mode=PutMode.OVERWRITE)
        except HeadraceError as error:
            _warn(intent, error)
        return False

    def _relocate(self, intent: Intent, folders: Sequence[Place]) -> Intent | None:
        """Return the intent with its current folder; None if another project has its files."""
        if intent.home in {None, self._store.root}:
            return intent
        for table in (folder / intent.view for folder in folders):
            if str(table) != intent.table and _has_files(table, intent.folders):
                folder = str(table / intent.folders[0])
                return msgspec.structs.replace(intent, table=str(table), folder=folder)
        return None

    def _close(self, staging: Staging) -> None:
        """Clean up after a commit; if that fails, the next run does so."""
        try:
            staging.discard_unused(staging.referenced)
        except HeadraceError as error:
            _warn(staging.intent, error)
            return
        self._forget(_intent_path(staging.intent))

    def _settle_failed(self, staging: Staging) -> None:
        """Settle a staging whose block failed; if it had files, later runs settle it again."""
        try:
            staging.settle()
        except HeadraceError as error:
            _warn(staging.intent, error)
            return
        if not staging.had_uncommitted_files:
            self._forget(_intent_path(staging.intent))

    def _forget(self, path: str) -> None:
        """Delete a settled intent; if that fails, the next run settles it again."""
        try:
            self._store.delete([path])
        except HeadraceError as error:
            _LOGGER.warning("intent %s cannot be deleted: %s", path, error)

    def _read_intents(self) -> Iterator[tuple[str, Intent]]:
        """Yield the recorded intents; delete half-written ones, and leave other files alone."""
        for entry in self._store.list(_FOLDER):
            if _INCOMPLETE.search(entry.path):  # left by a process that was killed
                self._store.delete([entry.path])
            if not entry.path.endswith(_SUFFIX):
                continue
            try:
                intent = msgspec.json.decode(self._store.read(entry.path), type=Intent)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            if intent.is_well_formed:
                yield entry.path, intent


def _run_folder(run: str, commit_id: str) -> str:
    return f"run-{run}-{commit_id[:8]}"


def _table_place(uri: str, folders: Sequence[Place]) -> Place:
    """Return the folder of a table; all folders of a project have the same options."""
    return folders[0].at(uri) if folders else Place(uri)


def _has_files(table: Place, folders: Sequence[str]) -> bool:
    if table.is_local:
        return any((table.path / folder).is_dir() for folder in folders)
    store = table.open()
    return any(next(store.list_tree(folder), None) is not None for folder in folders)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _warn(intent: Intent, error: HeadraceError) -> None:
    _LOGGER.warning(
        "view %s: files of run %s in %s are kept for now: %s",
        *(intent.view, intent.run, intent.folder, error),
    )


def _intent_path(intent: Intent) -> str:
    return f"{_FOLDER}/{intent.run}-{intent.view}-{intent.commit_id}{_SUFFIX}"
