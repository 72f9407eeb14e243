"""Where a table is read from: its address, its store, its engine, and what is remembered of it."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

from headrace import wiring
from headrace.metrics.counts import Counts
from headrace.metrics.reporter import Reporter, log_event
from headrace.phases.phase import Phase
from headrace.phases.snapshot import ReadHint, SnapshotRequest, TableVersion
from headrace.phases.time_travel import ListCommitTimes
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.protocol.log_file import LogFile
from headrace.scan.argument import address, whole_number
from headrace.scan.html import facts_html
from headrace.scan.listing import ListingCache
from headrace.scan.run import Run
from headrace.storage.cache import BoundedCache


class TableSource:
    """A Delta table at an address, as far as its log can be run through an engine."""

    def __init__(
        self,
        uri: str | PathLike[str],
        *,
        storage_options: Mapping[str, str] | None = None,
        executor: Executor | None = None,
        reporter: Reporter = log_event,
        cache_bytes: int = wiring.DEFAULT_CACHE_BYTES,
    ) -> None:
        """Name a table.

        Args:
            uri: The folder that holds `_delta_log`: a local path or a `file://` address.
            storage_options: Settings of the store; local disk has none.
            executor: An engine of your own; by default the embedded one.
            reporter: Takes the events of which one should hear; by default they are logged.
            cache_bytes: How much memory listings that were read may take, and the footers of
                checkpoints again. The ones used last are kept; 0 keeps no listing.

        Raises:
            UnsupportedStoreError: no store is known for the address.
            InvalidArgumentError: `uri` is no address of a folder, or its name is not UTF-8, or
                `cache_bytes` is no size.
        """
        cache_bytes = whole_number("cache_bytes", cache_bytes)
        store = wiring.open_store(address(uri), options=storage_options)
        self.uri = store.root
        self.files = wiring.open_files(store, options=storage_options)
        self.executor = executor or wiring.open_executor(store, cache_bytes=cache_bytes)
        self.reporter = reporter
        self.listings: ListingCache = BoundedCache(cache_bytes)
        """The listings of files that are remembered."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r})"

    def _repr_html_(self) -> str:
        return facts_html(type(self).__name__, {"uri": self.uri})

    def clear_cache(self) -> None:
        """Let go of the listings and footers that are remembered; the next scan reads anew."""
        self.listings.clear()
        self.executor.forget()

    def pin(
        self,
        *,
        counts: Counts,
        version: int | None = None,
        as_of_ms: int | None = None,
        tail: tuple[LogFile, ...] | None = None,
    ) -> TableVersion:
        """Find the newest version, a given one, or that of a time.

        Raises:
            TableError, DamageError: it cannot be found, or cannot be read.
        """
        if as_of_ms is not None:
            newest = self.run(ReadHint(request=SnapshotRequest(table=self.uri, tail=tail)), counts)
            version = self.run(ListCommitTimes(newest=newest, timestamp_ms=as_of_ms), counts)
        request = SnapshotRequest(table=self.uri, version=version, tail=tail)
        state: TableVersion = self.run(ReadHint(request=request), counts)
        return state

    def run(self, phase: "Phase[Any]", counts: Counts) -> Any:
        """Run a machine to its end, and add to the counts what that took."""
        reading = ExecutionContext()
        run = Run(phase, executor=self.executor, reporter=self.reporter, context=reading)
        try:
            return run.run_to_terminal()
        finally:
            counts.add(reading.meter.counts)
