"""Where a table is read from: its address, store, engine and caches.

An address and options enter. `pin` runs the phases that find a version; a `TableVersion` leaves.
"""

import warnings
from collections.abc import Mapping
from os import PathLike
from typing import Any

from headrace import wiring
from headrace.errors import InvalidArgumentError, TableNotFoundError
from headrace.log.dialect import DELTA, INDEXTABLES
from headrace.metrics.counts import Counts
from headrace.metrics.reporter import Reporter, log_event
from headrace.phases.phase import Phase
from headrace.phases.snapshot import ReadHint, SnapshotRequest, TableVersion
from headrace.phases.time_travel import ListLogAsOf
from headrace.phases.transaction_log import ListTransactionLog
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.protocol.log_file import LogFile
from headrace.scan.argument import address, whole_number
from headrace.scan.file_list_cache import FileListCache
from headrace.scan.html import facts_html
from headrace.scan.run import Run
from headrace.storage.cache import BoundedCache
from headrace.storage.option import HiddenOptions
from headrace.storage.store import Store


class TableSource:
    """A Delta table at an address, whose log an engine can read."""

    def __init__(  # noqa: PLR0913  (each of its parts can be replaced)
        self,
        uri: str | PathLike[str],
        *,
        storage_options: Mapping[str, Any] | None = None,
        store: Store | None = None,
        executor: Executor | None = None,
        reporter: Reporter = log_event,
        cache_bytes: int = wiring.DEFAULT_CACHE_BYTES,
        state: str | PathLike[str] | None = None,
    ) -> None:
        """Name a table.

        Args:
            uri: The folder that holds `_delta_log`: a local path, or an address such as
                `s3://bucket/events`, `abfss://container@account/events` or `gs://bucket/events`.
            storage_options: Settings of a remote store, such as `region` or `account_key`, under
                the names that deltalake, polars and obstore use. Environment variables apply too.
            store: A custom store whose root is the table; `uri` then only names it.
            executor: A custom engine; by default the embedded one.
            reporter: Receives the events that users should know of; by default they are logged.
            cache_bytes: The memory limit of each cache: that of file lists, and that of checkpoint
                footers. The least recently used are dropped; 0 caches no file list.
            state: The folder that holds the states of a Delta table, if it is not the table's
                `_headrace` folder; an empty string ignores states.

        Raises:
            UnsupportedStoreError: no store is known for the address.
            InvalidArgumentError: `uri` is not the address of a folder, or its name is not UTF-8, or
                `cache_bytes` is not a size.
        """
        cache_bytes = whole_number("cache_bytes", cache_bytes)
        uri = address(uri)
        if store is None:
            store = wiring.open_store(uri, options=storage_options)
        elif storage_options is not None:
            reason = "give them or a store, not both"
            raise InvalidArgumentError(argument="storage_options", reason=reason)
        self.uri = store.root
        self.store = store
        self.storage_options = HiddenOptions(storage_options or {})
        self.data_store: Store = wiring.open_files(store, options=storage_options)
        """Reads the data files: the table's store, and other stores that paths lead to."""
        self.state_root: str | None = DELTA.state_root
        """The folder of the table's states; None ignores states."""
        if state is not None:
            self.state_root = str(state).rstrip("/") or None
        log_store = self.data_store if state else store
        self.executor = executor or wiring.open_executor(log_store, cache_bytes=cache_bytes)
        self._dialect = DELTA
        self.reporter = reporter
        self.file_lists: FileListCache = BoundedCache(cache_bytes)
        """The cached file lists."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r})"

    def _repr_html_(self) -> str:
        return facts_html(type(self).__name__, {"uri": self.uri})

    @property
    def files(self) -> Store:
        """The former name of `data_store`."""
        warnings.warn("use `data_store` instead of `files`", DeprecationWarning, stacklevel=2)
        return self.data_store

    def clear_cache(self) -> None:
        """Drop the cached file lists and footers; the next scan reads them again."""
        self.file_lists.clear()
        self.executor.forget()

    def pin(
        self,
        *,
        counts: Counts,
        version: int | None = None,
        as_of_ms: int | None = None,
        tail: tuple[LogFile, ...] | None = None,
    ) -> TableVersion:
        """Find the newest version, the given one, or the one at a time.

        Raises:
            TableError, DamageError: it cannot be found, or cannot be read.
        """
        try:
            if self._dialect is INDEXTABLES and tail is None:
                return self._pin_transaction_log(counts, version=version, as_of_ms=as_of_ms)
            request = self.request(version=version, tail=tail)
            phase: Phase[TableVersion] = ReadHint(request=request)
            if as_of_ms is not None:
                phase = ListLogAsOf(request=request, timestamp_ms=as_of_ms)
            pinned: TableVersion = self.run(phase, counts)
        except TableNotFoundError as error:
            # Most tables are Delta tables, so only the other tables pay for a second search.
            if tail is not None or self._dialect is INDEXTABLES:
                raise
            try:
                return self._pin_transaction_log(counts, version=version, as_of_ms=as_of_ms)
            except TableNotFoundError:
                raise error from None
        return pinned

    def request(
        self, *, version: int | None = None, tail: tuple[LogFile, ...] | None = None
    ) -> SnapshotRequest:
        """Return a request for a version, which a state may answer in part."""
        root = None if tail is not None else self.state_root
        return SnapshotRequest(table=self.uri, version=version, tail=tail, state_root=root)

    def _pin_transaction_log(
        self, counts: Counts, *, version: int | None, as_of_ms: int | None
    ) -> TableVersion:
        phase = ListTransactionLog(request=self.request(version=version), as_of_ms=as_of_ms)
        pinned: TableVersion = self.run(phase, counts)
        self._dialect = INDEXTABLES
        return pinned

    def run(self, phase: "Phase[Any]", counts: Counts) -> Any:
        """Run phases to the end, and add their cost to `counts`."""
        execution = ExecutionContext()
        run = Run(phase, executor=self.executor, reporter=self.reporter, context=execution)
        try:
            return run.run_to_terminal()
        finally:
            counts.add(execution.meter.counts)
