"""The public interface to the states of one table: sync, describe, compact, clean, verify, commit.

A table with a `_transaction_log` is an IndexTables table, whose states are its commits. Any other
table is a Delta table, whose states accelerate its log.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from headrace.errors import InvalidArgumentError, NotIndexTablesError, TableNotFoundError
from headrace.log.name import LOG_DIRECTORY
from headrace.maintain.base import Base, Layout, newest_state, read_base, require_base
from headrace.maintain.build import Build, Change
from headrace.maintain.cleanup import CleanupPlan, CleanupResult, clean
from headrace.maintain.commit_result import CommitResult
from headrace.maintain.delta_sync import DeltaVersion, SyncResult, replace_state, sync
from headrace.maintain.describe import StateDescription, describe
from headrace.maintain.entry_progress import EntryProgress
from headrace.maintain.hint import hint_of, write_hint
from headrace.maintain.home import INDEXTABLES_HOME, Home, HomeKind, partition_types
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import Stage, StagedEntries
from headrace.maintain.verification import Verification, verify
from headrace.maintain.writer import StateWriter
from headrace.metrics.reporter import Reporter
from headrace.storage.store import Store, WritableStore


class StateKeeper:
    """Manages the states of a table; get it from `Table.state`."""

    def __init__(  # noqa: PLR0913  (the parts of a table)
        self,
        log: Store,
        store: WritableStore,
        *,
        delta_home: Home,
        newest: Callable[[], DeltaVersion],
        settings: StateSettings | None = None,
        reporter: Reporter | None = None,
        progress: EntryProgress | None = None,
    ) -> None:
        """Take the stores of the log and of the states; `newest` finds the newest version."""
        self._log = log
        self._store = store
        self._delta_home = delta_home
        self._newest = newest
        self.settings = settings or StateSettings()
        self._reporter = reporter
        self.progress = progress or EntryProgress()
        """Counts entries while this keeper works; a display may read it from another thread."""

    @cached_property
    def home(self) -> Home:
        """The folder of the states, and their role in the table."""
        is_indextables = next(iter(self._log.list_tree(INDEXTABLES_HOME.root)), None) is not None
        return INDEXTABLES_HOME if is_indextables else self._delta_home

    def with_settings(self, settings: StateSettings) -> "StateKeeper":
        """Return a keeper with other settings."""
        return StateKeeper(
            self._log,
            self._store,
            delta_home=self._delta_home,
            newest=self._newest,
            settings=settings,
            reporter=self._reporter,
            progress=self.progress,
        )

    def sync(self) -> SyncResult:
        """Sync the state of a Delta table to its newest version, from the commits since the last.

        Raises:
            InvalidTableError: the newest commit file is gone.
            InvalidArgumentError: it is an IndexTables table, whose states are its log.
        """
        if self.home.kind is HomeKind.INDEXTABLES:
            reason = f"{self._log.root} is an IndexTables table: run CHECKPOINT INDEXTABLES instead"
            raise InvalidArgumentError(argument="table", reason=reason)
        return sync(
            self._log,
            self._store,
            self._delta_home,
            self._newest(),
            settings=self.settings,
            progress=self.progress,
        )

    def commit(
        self,
        adds: Iterable[Mapping[str, Any]] = (),
        removes: Iterable[str] = (),
        *,
        schema_registry: Mapping[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        is_merge: bool = False,
    ) -> CommitResult:
        """Commit the next version of an IndexTables table; see `StateWriter.commit`.

        Raises:
            NotIndexTablesError: the table is a Delta table, to which other writers commit.
        """
        if self.home.kind is HomeKind.DELTA and (metadata is None or self._has_delta_log()):
            # A second log in the same folder would hide the files of the first one.
            raise NotIndexTablesError(table=self._log.root)
        return self._writer().commit(
            adds,
            removes,
            schema_registry=schema_registry,
            metadata=metadata,
            is_merge=is_merge,
        )

    def describe(self) -> StateDescription:
        """Return the properties of the newest state, and advice.

        Raises:
            NotIndexTablesError: there is no state.
            TableNotFoundError: there is neither a state nor a log.
        """
        return describe(self._store, self.home, self._base(), settings=self.settings)

    def compact(self) -> CommitResult | None:
        """Compact the newest state; return None if it needs no compaction.

        For an IndexTables table, the compaction is a new version. The state of a Delta table is
        replaced by an equivalent one.

        Raises:
            NotIndexTablesError: there is no state.
            TableNotFoundError: there is neither a state nor a log.
        """
        if self.home.kind is HomeKind.INDEXTABLES:
            return self._writer().compact()
        return self._compact_accelerator()

    def clean(self, *, dry_run: bool = True) -> tuple[CleanupPlan, CleanupResult]:
        """Delete expired states and unreferenced manifests; by default, only plan it.

        Raises:
            CleanupRefusedError: a state cannot be read; nothing was deleted.
            TableNotFoundError: there is neither a state nor a log.
        """
        if not any(True for _ in self._store.list_tree(self.home.root)):
            self._require_delta_log()
        return clean(self._store, self.home, settings=self.settings, dry_run=dry_run)

    def verify(self) -> Verification:
        """Read everything that the newest state references, and check it against the state."""
        return verify(
            self._store,
            self.home,
            self._base(),
            progress=self.progress,
            parallelism=self.settings.read_parallelism,
        )

    def _has_delta_log(self) -> bool:
        return next(iter(self._log.list(LOG_DIRECTORY)), None) is not None

    def _require_delta_log(self) -> None:
        if not self._has_delta_log():
            raise TableNotFoundError(table=self._log.root)

    def _writer(self) -> StateWriter:
        return StateWriter(
            self._store,
            home=INDEXTABLES_HOME,
            settings=self.settings,
            reporter=self._reporter,
            progress=self.progress,
        )

    def _base(self) -> Base:
        if self.home.kind is HomeKind.INDEXTABLES:
            return require_base(read_base(self._store, self.home), table=self._store.root)
        state = newest_state(self._store, self.home)
        if state is None:
            self._require_delta_log()
            raise NotIndexTablesError(table=self._log.root, has_delta_log=True)
        return Base(
            version=state.state_version,
            state=state,
            layout=Layout.STATE,
            metadata=state.metadata,
            protocol=state.protocol,
        )

    def _compact_accelerator(self) -> CommitResult | None:
        base = self._base()
        assert base.state is not None
        types = partition_types(base.metadata, protocol=base.protocol)
        build = Build(
            self._store,
            self.home,
            change=Change(
                staged=StagedEntries(),
                force_compaction=True,
                protocol=base.protocol,
                anchor=base.state.anchor,
            ),
            shelf=ManifestShelf(
                self._store,
                self.home.root,
                types=types,
                parallelism=self.settings.read_parallelism,
            ),
            types=types,
            settings=self.settings,
            commit_id=base.state.commit_id or "",
        )
        if build.is_clean(base, force=True):
            return None
        stage = Stage(self._store, self.home, settings=self.settings, progress=self.progress)
        built = build.state(base, stage, version=base.version)
        replace_state(self._store, self.home, built.state)
        write_hint(self._store, self.home, hint_of(built.state))
        return CommitResult(
            version=base.version,
            state_dir=None,
            attempts=1,
            commit_id=build.commit_id,
            num_files=built.state.num_files,
            total_bytes=built.state.total_bytes,
            added=0,
            removed=0,
            compaction=built.compaction,
        )
