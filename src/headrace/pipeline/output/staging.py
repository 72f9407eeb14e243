"""Staging: the folders a run writes files into before a commit names them.

An intent is recorded durably before the first file is written, and forgotten once the files are
committed or deleted. So whatever ends a run, the next one knows which folders it left, and the log
says whether a commit names their files. Tasks of an engine outlive a driver that was killed, and
may still write files after the next run has deleted the others: the intent of a dead run is kept
for `LATE_MS` after it was first found, and its folders are emptied by each run until then.
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
_HALF = re.compile(r"/\.[^/]+\.json\.[0-9a-f]{32}\.tmp$")
"""What a store calls an intent before it is whole."""
RUN_FOLDER = re.compile(r"run-.+-[0-9a-f]{8}")
"""The folders below a table that runs write files into."""
LATE_MS = 10 * 60 * 1000
"""How long tasks of a dead run may go on writing. Executors notice within two minutes by Spark's
default settings (`spark.network.timeout`) that their driver is gone."""


class Lock(Protocol):
    """What a run holds while it may commit."""

    def check(self) -> None:
        """Make sure that the lock is still held.

        Raises:
            LeaseLostError: another process holds it.
        """


class Unlocked:
    """Stands for a lock where nobody competes."""

    def check(self) -> None:
        """Do nothing."""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """The folders below a table that a run writes files into, for one commit."""

    run: str
    view: str
    table: str
    folder: str
    """Absolute. No two stagings share one, not even those of one run."""
    started_ms: int = 0
    commit_id: str | None = None
    """None in intents of older releases, which did not number their commits."""
    base_version: int = NO_VERSION
    """The newest version of the table before anything was staged."""
    home: str | None = None
    """The journal that it was recorded in. A copy of a project has the intents of the original,
    whose files are not its own. None in intents of older releases."""
    found_dead_ms: int | None = None
    """When a later run first found that no commit names its files; None while none has."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders below the table whose files are this staging's own."""
        name = self.folder.rstrip("/").rpartition("/")[2]
        return name, f"{CHANGE_FOLDER}/{name}"


class Staging:
    """An open staging: an engine writes files into its folder, which are then committed."""

    def __init__(self, intent: Intent, table: Place, *, lock: Lock | None = None) -> None:
        """Take the intent that is on record, its table, and the lock that its commit needs."""
        self.intent, self.table = intent, table
        self.store = table.open()
        self._lock = lock or Unlocked()
        self._staged: Staged | None = None
        self.has_left_files = False
        """Whether files were deleted when it was settled, so that more may come."""

    @property
    def name(self) -> str:
        """The folder of the staging, as a path below the table."""
        return self.intent.folders[0]

    @property
    def change_folder(self) -> str:
        """Where files for readers of the change data feed go, as a path below the table."""
        return self.intent.folders[1]

    @property
    def folder(self) -> Place:
        """The folder of the staging, for engines that write there."""
        return self.table / self.name

    def stage(self, paths: tuple[str, ...]) -> Staged:
        """Take the files that a commit is to name, by their paths below the table.

        Call it after reading the version that the commit builds on: see `headrace.commit.fence`.

        Raises:
            LeaseLostError: another process has taken over the lock of this run.
        """
        commit_id = self.intent.commit_id
        assert commit_id is not None, "only intents of older releases have none"
        self._lock.check()
        if self._staged is None or self._staged.paths != paths:
            self._staged = Staged(self.store, paths=paths, commit_id=commit_id)
        return self._staged

    @property
    def used(self) -> frozenset[str]:
        """The files that the commit names, once there is one."""
        return frozenset(() if self._staged is None else self._staged.paths)

    def discard_unused(self, used: frozenset[str]) -> None:
        """Delete files of the staging that its commit does not name."""
        paths = set(self._paths())
        if used <= paths:  # else the listing is not whole, or names files otherwise
            self.store.delete(sorted(paths - used))
            self._prune()

    def settle(self) -> Committed | None:
        """Delete the files that no commit names: all, or those that our commit did not need.

        Raises:
            LogGapError: the log no longer says whether there is such a commit; all files stay.
        """
        intent = self.intent
        if intent.commit_id is None:
            return self._settle_unnumbered()
        staged = Staged(self.store, paths=tuple(self._paths()), commit_id=intent.commit_id)
        committed = staged.abandon(after=intent.base_version)
        self.has_left_files = committed is None and bool(staged.paths)
        if committed is not None:
            self.discard_unused(committed_paths(self.store, committed.version))
        self._prune()
        return committed

    def _settle_unnumbered(self) -> Committed | None:
        """The same for an intent of an older release: its commit is known by the run's note."""
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
            assert LOG_DIRECTORY not in folder, "a staging never lies in the log"
            for file in self.store.list_tree(folder):
                yield file.path


class Journal:
    """The intents of a project, each a small object."""

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
            lock: What the run holds; each commit checks it.
            clock_ms: A clock, if it is not the machine's.
        """
        self._store, self._lock = store, lock
        self._clock_ms = clock_ms or _now_ms

    @contextmanager
    def open(self, table: Place | str | PathLike[str], *, run: str, view: str) -> Iterator[Staging]:
        """Open a staging for one commit; if the block fails, uncommitted files are deleted.

        Raises:
            StorageError: the intent cannot be recorded; nothing has been written then.
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
        self._store.put(_path(intent), content, mode=PutMode.CREATE)
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
            folders: Where the project has its tables now.

        Raises:
            StorageError: a store failed; the run may still commit.
        """
        temporary = f"{self._store.root}/"  # tables that last as long as a run need no fence
        tables = {
            intent.table
            for _, intent in self._recorded()
            if intent.found_dead_ms is None and not intent.table.startswith(temporary)
        }
        for uri in sorted(tables):
            put_fence(_place(uri, folders).open())

    def recover(self, *, folders: Sequence[Place]) -> list[Intent]:
        """Settle what earlier runs left open; returns the intents that were never committed.

        Call it only while no other run of the project can commit.

        Args:
            folders: Where the project has its tables now: it may have been moved or copied.
        """
        lost = []
        for path, recorded in list(self._recorded()):
            intent = self._relocate(recorded, folders)
            if intent is None:
                _LOGGER.warning(
                    "files of run %s in %s were staged by another copy of this project: they stay",
                    *(recorded.run, recorded.folder),
                )
                self._forget(path)
                continue
            try:
                committed = Staging(intent, _place(intent.table, folders)).settle()
            except HeadraceError as error:
                _warn(intent, error)
                lost.append(intent)
                continue
            if committed is None:
                lost.append(intent)
            if committed is not None or self._is_over(path, recorded):
                self._forget(path)
        return lost

    def _is_over(self, path: str, intent: Intent) -> bool:
        """Whether tasks of a dead run cannot write any more; note when it was found dead."""
        now_ms = self._clock_ms()
        if intent.found_dead_ms is not None:
            return now_ms - intent.found_dead_ms >= LATE_MS
        found = msgspec.structs.replace(intent, found_dead_ms=now_ms)
        try:
            self._store.put(path, msgspec.json.encode(found), mode=PutMode.OVERWRITE)
        except HeadraceError as error:
            _warn(intent, error)
        return False

    def _relocate(self, intent: Intent, folders: Sequence[Place]) -> Intent | None:
        """The intent as it applies to this project; None if its files are another one's."""
        if intent.home in {None, self._store.root}:
            return intent
        for table in (folder / intent.view for folder in folders):
            if str(table) != intent.table and _has_files(table, intent.folders):
                folder = str(table / intent.folders[0])
                return msgspec.structs.replace(intent, table=str(table), folder=folder)
        return None

    def _close(self, staging: Staging) -> None:
        """Clean up after a commit; if that fails, the next run does it."""
        try:
            staging.discard_unused(staging.used)
        except HeadraceError as error:
            _warn(staging.intent, error)
            return
        self._forget(_path(staging.intent))

    def _settle_failed(self, staging: Staging) -> None:
        """Settle a staging whose block failed; later runs do so again if files were left."""
        try:
            staging.settle()
        except HeadraceError as error:
            _warn(staging.intent, error)
            return
        if not staging.has_left_files:
            self._forget(_path(staging.intent))

    def _forget(self, path: str) -> None:
        """Drop an intent that is settled; one that cannot be dropped is settled again later."""
        try:
            self._store.delete([path])
        except HeadraceError as error:
            _LOGGER.warning("intent %s cannot be dropped: %s", path, error)

    def _recorded(self) -> Iterator[tuple[str, Intent]]:
        """Yield the recorded intents; delete half-written ones, and leave other files alone."""
        for listed in self._store.list(_FOLDER):
            if _HALF.search(listed.path):  # of a process that was killed
                self._store.delete([listed.path])
            if not listed.path.endswith(_SUFFIX):
                continue
            try:
                content = self._store.read(listed.path)
                yield listed.path, msgspec.json.decode(content, type=Intent)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue


def _run_folder(run: str, commit_id: str) -> str:
    return f"run-{run}-{commit_id[:8]}"


def _place(uri: str, folders: Sequence[Place]) -> Place:
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
        "view %s: files of run %s in %s stay for now: %s",
        *(intent.view, intent.run, intent.folder, error),
    )


def _path(intent: Intent) -> str:
    return f"{_FOLDER}/{intent.run}-{intent.view}-{intent.commit_id}{_SUFFIX}"
