"""What a user imports: `Table`, `Snapshot`, and through them `Scan` and `LiveFile`."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from os import PathLike
from typing import Any, TypeAlias

from headrace import wiring
from headrace.errors import InvalidArgumentError, InvalidTableError
from headrace.expr.node import Basis, BoundPredicate
from headrace.log.segment import Segment
from headrace.metrics.counts import Counts
from headrace.metrics.reporter import Reporter, log_event
from headrace.phases.changes import ChangeRequest
from headrace.phases.phase import Phase
from headrace.phases.refresh import RefreshLog
from headrace.phases.scan import ScanRequest
from headrace.phases.snapshot import ReadHint, SnapshotRequest, TableVersion
from headrace.phases.table_state import ReadTableState, TableState
from headrace.phases.time_travel import ListCommitTimes, ReadCommitTime
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.protocol.action import DomainMetadata, Metadata, Protocol, Txn
from headrace.protocol.schema import StructType, parse_schema, physical_schema
from headrace.protocol.timestamp import in_commit_timestamps
from headrace.protocol.widening import check_followed
from headrace.replay.projection import ADD_FIELDS
from headrace.rows.option import RowOptions
from headrace.scan.argument import (
    address,
    chosen_options,
    column_names,
    condition,
    milliseconds,
    ratified_tail,
    whole_number,
)
from headrace.scan.changes import Changes
from headrace.scan.explain import explain_machine
from headrace.scan.listing import ListingCache, SnapshotListings
from headrace.scan.live_file import FileContext, PartitionColumn
from headrace.scan.options import ScanOptions
from headrace.scan.run import Run
from headrace.scan.scan import Scan
from headrace.storage.cache import BoundedCache

ArrowSchema: TypeAlias = Any
"""A `pyarrow.Schema`, named so that importing Headrace does not import Arrow."""
RecordBatchReader: TypeAlias = Any
"""A `pyarrow.RecordBatchReader`, likewise."""
RowRequest: TypeAlias = Any
"""A `headrace.rows.request.RowRequest`, likewise."""


class Table:
    """A Delta table at an address. Nothing is read before a snapshot is asked for."""

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
        self._listings: ListingCache = BoundedCache(cache_bytes)

    def __repr__(self) -> str:
        return f"Table({self.uri!r})"

    def clear_cache(self) -> None:
        """Let go of the listings and footers that are remembered; the next scan reads anew."""
        self._listings.clear()
        self.executor.forget()

    def snapshot(
        self,
        *,
        version: int | None = None,
        as_of: datetime | date | str | None = None,
        log_tail: Sequence[str] | None = None,
    ) -> "Snapshot":
        """Take a snapshot: the newest, that of a version, or that of a time.

        Args:
            version: The version to read.
            as_of: The time whose version to read: a datetime, a date (its first moment) or ISO
                8601 text; without a zone it is UTC. The last commit at or before it counts.
            log_tail: For tables that a catalog manages: the paths of the ratified commits,
                relative to `_delta_log`, oldest first. An empty one says that every ratified
                commit is published.

        Raises:
            TableNotFoundError: there is no log.
            VersionNotFoundError, TimestampNotFoundError: the log does not reach there.
            UnsupportedFeatureError, CatalogManagedError, InvalidTableError: it cannot be read.
            LogGapError, CorruptLogError, CorruptCheckpointError: the log is damaged.
            InvalidArgumentError: an argument is wrong, or both `version` and `as_of` are given.
        """
        tail = None if log_tail is None else ratified_tail(log_tail)
        counts = Counts()
        if as_of is not None:
            if version is not None:
                raise InvalidArgumentError(argument="as_of", reason="give it or version, not both")
            request = SnapshotRequest(table=self.uri, tail=tail)
            newest = self._run(ReadHint(request=request), counts)
            times = ListCommitTimes(newest=newest, timestamp_ms=milliseconds(as_of))
            version = self._run(times, counts)
        wanted = None if version is None else whole_number("version", version)
        request = SnapshotRequest(table=self.uri, version=wanted, tail=tail)
        return Snapshot(self, self._run(ReadHint(request=request), counts), counts)

    def changes(
        self, start: int, end: int | None = None, *, log_tail: Sequence[str] | None = None
    ) -> Changes:
        """The files that commits added and removed, and their change data; each is read once.

        Args:
            start: The first version whose changes are wanted.
            end: The last one; by default the newest, pinned now.
            log_tail: As for `snapshot`.

        Raises:
            InvalidArgumentError: there is no such range.
            LogGapError: a commit of the range is no longer there (when the changes are read).
            TableError, DamageError: as for `snapshot`.
        """
        start = whole_number("start", start)
        newest = self.snapshot(version=end, log_tail=log_tail)
        if not 0 <= start <= newest.version:
            reason = f"it must be between 0 and {newest.version}"
            raise InvalidArgumentError(argument="start", reason=reason)
        request = ChangeRequest(
            table=self.uri, start=start, end=newest.version, tail=newest.state.tail
        )
        return Changes(request, executor=self.executor, reporter=self.reporter)

    def explain(self, *, version: int | None = None, log_tail: Sequence[str] | None = None) -> str:
        """The phases that take a snapshot, and their plans.

        Raises:
            TableError, DamageError, InvalidArgumentError: as for `snapshot`.
        """
        tail = None if log_tail is None else ratified_tail(log_tail)
        phase = ReadHint(request=SnapshotRequest(table=self.uri, version=version, tail=tail))
        return "\n".join(explain_machine(phase, executor=self.executor))

    def _run(self, phase: "Phase[Any]", counts: Counts) -> Any:
        """Run a machine to its end, and add to the counts what that took."""
        reading = ExecutionContext()
        run = Run(phase, executor=self.executor, reporter=self.reporter, context=reading)
        try:
            return run.run_to_terminal()
        finally:
            counts.add(reading.meter.counts)


class Snapshot:
    """One version of a table, pinned: later commits do not change it."""

    def __init__(self, table: Table, state: TableVersion, counts: Counts) -> None:
        """Wrap what the machine found; users get snapshots from `Table.snapshot`."""
        self.table = table
        self.state = state
        self.counts = counts
        """What it took: to find it, and whatever it has been asked since. Scans have their own."""

    def __repr__(self) -> str:
        return f"Snapshot({self.table.uri!r}, version={self.version})"

    @property
    def version(self) -> int:
        """The version."""
        return self.state.segment.version

    @property
    def segment(self) -> Segment:
        """Which files of the log make it up."""
        return self.state.segment

    @property
    def protocol(self) -> Protocol:
        """What a client must be able to do."""
        return self.state.protocol

    @property
    def metadata(self) -> Metadata:
        """Schema, partitioning and properties as the log has them."""
        return self.state.metadata

    @property
    def properties(self) -> dict[str, str | None]:
        """The table's properties."""
        return dict(self.state.metadata.configuration)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The names of the columns that the table is partitioned by."""
        return tuple(self.state.metadata.partition_columns)

    @cached_property
    def schema(self) -> ArrowSchema:
        """The table's columns as a `pyarrow.Schema`, made when it is first asked for.

        Raises:
            InvalidTableError: the schema cannot be decoded, or has a type that we do not know.
        """
        try:
            return wiring.arrow_schema(self.logical_schema)
        except ValueError as error:
            raise InvalidTableError(table=self.table.uri, reason=str(error)) from error

    @cached_property
    def logical_schema(self) -> StructType:
        """The table's columns as the log has them.

        Raises:
            InvalidTableError: the schema cannot be decoded.
        """
        try:
            return parse_schema(self.state.metadata.schema_string)
        except ValueError as error:
            raise InvalidTableError(table=self.table.uri, reason=str(error)) from error

    @cached_property
    def timestamp_ms(self) -> int | None:
        """When the version was committed; None where its commit file has been cleaned up.

        Without in-commit timestamps it is the time of the commit's file, as the store tells it;
        `as_of` takes each commit to be later than its predecessor, whatever the clocks said.
        """
        commit = self.segment.commit
        if commit is None:
            checksum = self.state.checksum
            return None if checksum is None else checksum.in_commit_timestamp_opt
        carried = in_commit_timestamps(self.metadata, table=self.table.uri)
        if carried is None or self.version < carried.since_version:
            return commit.modified_ms or None  # a commit of a catalog's list has no file time
        phase = ReadCommitTime(table=self.table.uri, commit=commit)
        return int(self.table._run(phase, self.counts))  # noqa: SLF001

    @property
    def txns(self) -> dict[str, Txn]:
        """The latest transaction of each application."""
        return self._beside.txns

    @property
    def domains(self) -> dict[str, DomainMetadata]:
        """The live metadata domains."""
        return self._beside.domains

    def scan(
        self,
        *,
        where: str | None = None,
        limit: int | None = None,
        options: ScanOptions | None = None,
        reporter: Reporter | None = None,
        **overrides: Any,
    ) -> Scan:
        """Plan a scan of the live files; nothing is read before it is iterated.

        Args:
            where: A SQL condition; files that cannot hold a matching row are left out.
            limit: Stop after so many files.
            options: How to go about it; no option changes which files are given.
            reporter: Takes the events of this scan; by default the table's reporter does.
            overrides: Single options by name, such as `strategy="forward"`.

        Raises:
            PredicateSyntaxError, UnknownColumnError, PredicateTypeError: `where` is wrong.
            InvalidArgumentError: another argument is, or there is no such option.
            UnsupportedFeatureError: a column's type changed in a way that cannot be followed.
        """
        limit = None if limit is None else whole_number("limit", limit)
        chosen = chosen_options(options or ScanOptions(), ScanOptions, overrides)
        schema = self._readable_schema
        return Scan(
            request=ScanRequest(
                table=self.table.uri,
                version=self.version,
                logical_schema=schema,
                physical_schema=physical_schema(schema),
                predicate=self._bound(where, basis=Basis.STATISTICS),
                projection=ADD_FIELDS,
                memory_limit_bytes=chosen.memory_limit_bytes,
                tail=self.state.tail,
            ),
            segment=self.segment,
            context=self._context,
            executor=self.table.executor,
            reporter=reporter or self.table.reporter,
            late=wiring.ScanParts(),
            listings=SnapshotListings(
                self.table._listings,  # noqa: SLF001
                segment=self.segment,
                table_id=self.metadata.id,
            ),
            options=chosen,
            where=where,
            limit=limit,
            checksum=self.state.checksum,
        )

    def rows(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        options: RowOptions | None = None,
        reporter: Reporter | None = None,
        **overrides: Any,
    ) -> RecordBatchReader:
        """The rows, as a `pyarrow.RecordBatchReader`; files are read while the log still is.

        Nothing is read before the first batch is asked for. Closing the reader, or its end, stops
        everything; `read_all()` makes a table of a small answer.

        Args:
            where: A SQL condition: exactly the rows for which it is true are given.
            columns: The columns wanted, by name and in order; by default all of them.
            limit: Stop after so many rows; which ones is not defined.
            options: How to go about it; no option changes which rows there are.
            reporter: Takes the events of this scan; by default the table's reporter does.
            overrides: Single options by name, such as `files_at_once=8`.

        Raises:
            PredicateSyntaxError, UnknownColumnError, PredicateTypeError: `where` is wrong.
            UnsupportedPredicateError: a part of `where` cannot be evaluated by rows.
            UnknownColumnError: the table does not have one of the `columns`.
            InvalidArgumentError: another argument is wrong, or there is no such option.
            UnsupportedFeatureError: a column's type changed in a way that cannot be followed.
            DataFileNotFoundError, CorruptDataFileError, CorruptDeletionVectorError: by the
                reader, when it comes to such a file.
        """
        limit = None if limit is None else whole_number("limit", limit)
        chosen = chosen_options(options or RowOptions(), RowOptions, overrides)
        return wiring.open_rows(
            self.scan(where=where, options=chosen, reporter=reporter),
            store=self.table.files,
            context=self._context,
            request=self.row_request(where=where, columns=columns, options=chosen),
            options=chosen,
            limit=limit,
        )

    def row_request(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        options: RowOptions | None = None,
    ) -> RowRequest:
        """What `rows` asks of each data file: for those who read files elsewhere. It pickles.

        Raises:
            PredicateSyntaxError, UnknownColumnError, PredicateTypeError: `where` is wrong.
            UnsupportedPredicateError, UnsupportedFeatureError: as for `rows`.
        """
        request = wiring.row_request(
            self._readable_schema,
            context=self._context,
            predicate=self._bound(where, basis=Basis.VALUES),
            columns=None if columns is None else column_names(columns),
            mapping_mode=self.properties.get("delta.columnMapping.mode"),
            options=options or RowOptions(),
        )
        try:
            request.output_schema  # noqa: B018  (a type that cannot be read is refused before it is)
        except ValueError as error:
            raise InvalidTableError(table=self.table.uri, reason=str(error)) from error
        return request

    def refresh(self, *, log_tail: Sequence[str] | None = None) -> "Snapshot":
        """The newest snapshot, made by reading only what is new; itself where nothing is.

        Args:
            log_tail: As for `Table.snapshot`: what the catalog has ratified by now.

        Raises:
            TableError, DamageError, InvalidArgumentError: as for `Table.snapshot`.
        """
        tail = self.state.tail if log_tail is None else ratified_tail(log_tail)
        counts = Counts()
        state = self.table._run(RefreshLog(old=self.state, tail=tail), counts)  # noqa: SLF001
        return self if state is self.state else Snapshot(self.table, state, counts)

    def _bound(self, where: str | None, *, basis: Basis) -> BoundPredicate | None:
        if where is None:
            return None
        return wiring.bound_predicate(
            condition(where),
            schema=self._readable_schema,
            partition_columns=self.partition_columns,
            basis=basis,
        )

    @cached_property
    def _readable_schema(self) -> StructType:
        """The schema, refused by name where rows could not be read under it."""
        check_followed(self.logical_schema, table=self.table.uri)
        return self.logical_schema

    @cached_property
    def _beside(self) -> TableState:
        request = SnapshotRequest(table=self.table.uri, version=self.version, tail=self.state.tail)
        phase = ReadTableState(request=request, segment=self.segment)
        found: TableState = self.table._run(phase, self.counts)  # noqa: SLF001
        return found

    @cached_property
    def _context(self) -> FileContext:
        columns = [
            PartitionColumn.of(name, schema=self.logical_schema) for name in self.partition_columns
        ]
        return FileContext(root=self.table.uri, partition_columns=tuple(columns))
