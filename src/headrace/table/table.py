"""A table at an address, and its snapshots: what users import.

An address enters; snapshots leave, and from them scans, rows, counts and changes.
"""

from collections.abc import Sequence
from datetime import date, datetime
from functools import cached_property
from typing import Any, TypeAlias

from headrace import wiring
from headrace.errors import InvalidArgumentError, TableNotFoundError
from headrace.expr.node import Basis, Predicate
from headrace.log.dialect import INDEXTABLES
from headrace.metrics.counts import Counts
from headrace.metrics.reporter import Reporter
from headrace.phases.app_metadata import AppMetadata, ReadAppMetadata
from headrace.phases.refresh import RefreshLog
from headrace.phases.scan_request import ScanRequest
from headrace.phases.snapshot import ReadHint, SnapshotRequest, TableVersion
from headrace.phases.time_travel import ReadCommitTime
from headrace.phases.transaction_log import ListTransactionLog
from headrace.protocol.action import DomainMetadata, Txn
from headrace.protocol.schema import physical_schema
from headrace.protocol.timestamp import in_commit_timestamps
from headrace.replay.projection import ADD_FIELDS
from headrace.rows.option import RowOptions
from headrace.rows.row_count import RowCount
from headrace.scan.argument import (
    chosen_options,
    ratified_tail,
    whole_number,
)
from headrace.scan.explain import explain_machine
from headrace.scan.file_list_cache import SnapshotFileLists
from headrace.scan.html import facts_html
from headrace.scan.lazy_imports import RecordBatchReader
from headrace.scan.moment import milliseconds
from headrace.scan.options import ScanOptions
from headrace.scan.scan import Scan
from headrace.scan.source import ScanSource
from headrace.table.change_log import ChangeLog
from headrace.table.handover import ArrowDataset, RowHandover

StateKeeper: TypeAlias = Any
"""A `headrace.maintain.keeper.StateKeeper`, named so that importing Headrace stays light."""

_COLUMNS_SHOWN = 50


class Table(ChangeLog):
    """A Delta table at an address. Constructing it reads nothing."""

    def snapshot(
        self,
        version: int | None = None,
        *,
        as_of: datetime | date | str | None = None,
        log_tail: Sequence[str] | None = None,
    ) -> "Snapshot":
        """Take a snapshot of the newest version, of a given version, or of the version at a time.

        Args:
            version: The version to read.
            as_of: The time whose version to read: a datetime, a date (its first moment), ISO 8601
                text, or words such as "yesterday" and "2 hours ago"; without a zone it is UTC. It
                selects the last commit at or before that time.
            log_tail: For tables that a catalog manages: the paths of the ratified commits,
                relative to `_delta_log`, oldest first. An empty sequence means that every ratified
                commit is published.

        Raises:
            TableNotFoundError: there is no log.
            VersionNotFoundError, TimestampNotFoundError: the log does not reach there.
            UnsupportedFeatureError, CatalogManagedError, InvalidTableError: it cannot be read.
            LogGapError, CorruptLogError, CorruptCheckpointError: the log is damaged.
            InvalidArgumentError: an argument is wrong, or both `version` and `as_of` are given.
        """
        if as_of is not None and version is not None:
            raise InvalidArgumentError(argument="as_of", reason="give it or version, not both")
        counts = Counts()
        pinned = self.pin(
            counts=counts,
            version=None if version is None else whole_number("version", version),
            as_of_ms=None if as_of is None else milliseconds(as_of),
            tail=None if log_tail is None else ratified_tail(log_tail),
        )
        return Snapshot(self, pinned, counts)

    @property
    def state(self) -> StateKeeper:
        """The states of the table: `sync`, `describe`, `compact`, `clean`, `verify`, `commit`.

        A `headrace.maintain.keeper.StateKeeper`, with the default settings.
        """
        return wiring.open_state_keeper(self)

    def explain(self, *, version: int | None = None, log_tail: Sequence[str] | None = None) -> str:
        """Describe the phases that take a snapshot, and their plans.

        Raises:
            TableError, DamageError, InvalidArgumentError: as for `snapshot`.
        """
        tail = None if log_tail is None else ratified_tail(log_tail)
        request = self.request(version=version, tail=tail)
        try:
            return "\n".join(explain_machine(ReadHint(request=request), executor=self.executor))
        except TableNotFoundError:
            phase = ListTransactionLog(request=request)
            return "\n".join(explain_machine(phase, executor=self.executor))


class Snapshot(RowHandover):
    """One pinned version of a table: later commits do not change it."""

    def __init__(self, table: Table, pinned: TableVersion, counts: Counts) -> None:
        """Wrap a resolved version; users get snapshots from `Table.snapshot`."""
        super().__init__(pinned)
        self.table = table
        self.counts = counts
        """The cost of finding the version, and of later calls. Scans have their own counts."""

    def __repr__(self) -> str:
        return f"Snapshot({self.table.uri!r}, version={self.version})"

    def _repr_html_(self) -> str:
        schema = self.logical_schema.fields
        facts = {
            "version": self.version,
            "partitioned by": ", ".join(self.partition_columns) or "nothing",
            **{field.name: field.type for field in schema[:_COLUMNS_SHOWN]},
        }
        more = len(schema) - _COLUMNS_SHOWN
        return facts_html(
            f"Snapshot of {self.table.uri}", facts | ({"…": more} if more > 0 else {})
        )

    @cached_property
    def timestamp_ms(self) -> int | None:
        """When the version was committed; None if its commit file has been cleaned up.

        Without in-commit timestamps it is the modification time of the commit file in the store.
        `as_of` treats each commit as later than its predecessor, whatever the clocks said.
        """
        commit = self.segment.commit
        if commit is None:
            checksum = self.table_version.checksum
            return None if checksum is None else checksum.in_commit_timestamp_opt
        carried = in_commit_timestamps(self.metadata, table=self.table.uri)
        if carried is None or self.version < carried.since_version:
            return commit.modified_ms or None  # a commit from a catalog's list has no file time
        phase = ReadCommitTime(table=self.table.uri, commit=commit)
        return int(self.table.run(phase, self.counts))

    @property
    def txns(self) -> dict[str, Txn]:
        """The latest transaction of each application."""
        return self._app_metadata.txns

    @property
    def domains(self) -> dict[str, DomainMetadata]:
        """The live metadata domains."""
        return self._app_metadata.domains

    def scan(
        self,
        where: str | Predicate | None = None,
        *,
        limit: int | None = None,
        options: ScanOptions | None = None,
        reporter: Reporter | None = None,
        **overrides: Any,
    ) -> Scan:
        """Plan a scan of the live files; nothing is read before the scan is iterated.

        Args:
            where: A condition, as SQL or as a predicate of `headrace.expr`; files that cannot hold
                a matching row are pruned.
            limit: The maximum number of files.
            options: How to scan; no option changes which files are returned.
            reporter: Receives the events of this scan; by default the table's reporter.
            overrides: Single options by name, such as `strategy="forward"`.

        Raises:
            PredicateSyntaxError, UnknownColumnError, PredicateTypeError: `where` is wrong.
            InvalidArgumentError: another argument is wrong, or there is no such option.
            UnsupportedFeatureError: a column's type changed in an unsupported way.
        """
        limit = None if limit is None else whole_number("limit", limit)
        scan_options = chosen_options(options or ScanOptions(), ScanOptions, overrides)
        schema = self.readable_schema
        return Scan(
            source=ScanSource(
                segment=self.segment,
                context=self.context,
                executor=self.table.executor,
                lazy=wiring.ScanImports(),
                file_lists=SnapshotFileLists(
                    self.table.file_lists, segment=self.segment, table_id=self.metadata.id
                ),
                checksum=self.table_version.checksum,
            ),
            request=ScanRequest(
                table=self.table.uri,
                version=self.version,
                logical_schema=schema,
                physical_schema=physical_schema(schema),
                predicate=self.bound_predicate(where, basis=Basis.STATISTICS),
                projection=ADD_FIELDS,
                memory_limit_bytes=scan_options.memory_limit_bytes,
                stops_after=limit,
                tail=self.table_version.tail,
                dialect=self.table_version.dialect,
            ),
            options=scan_options,
            reporter=reporter or self.table.reporter,
            where=None if where is None else str(where),
            limit=limit,
        )

    def rows(
        self,
        where: str | Predicate | None = None,
        *,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        options: RowOptions | None = None,
        reporter: Reporter | None = None,
        **overrides: Any,
    ) -> RecordBatchReader:
        """Return the rows as a `pyarrow.RecordBatchReader`; reads files while replaying the log.

        Nothing is read before the first batch is requested. Closing the reader, or reaching its
        end, stops everything; `read_all()` turns a small answer into a table.

        Args:
            where: A condition, as for `scan`: exactly the rows for which it is true are returned.
            columns: The columns to return, by name and in order; by default all of them.
            limit: The maximum number of rows; which ones is not defined.
            options: How to read; no option changes which rows match.
            reporter: Receives the events of this scan; by default the table's reporter.
            overrides: Single options by name, such as `files_at_once=8`.

        Raises:
            PredicateSyntaxError, UnknownColumnError, PredicateTypeError: `where` is wrong.
            UnsupportedPredicateError: a part of `where` cannot be evaluated on rows.
            UnknownColumnError: the table does not have one of the `columns`.
            InvalidArgumentError: another argument is wrong, or there is no such option.
            UnsupportedFeatureError: a column's type changed in an unsupported way.
            DataFileNotFoundError, CorruptDataFileError, CorruptDeletionVectorError: from the
                reader, when it reaches such a file.
        """
        limit = None if limit is None else whole_number("limit", limit)
        row_options = chosen_options(options or RowOptions(), RowOptions, overrides)
        return wiring.open_rows(
            self.scan(where=where, options=row_options, reporter=reporter),
            store=self.table.data_store,
            context=self.context,
            request=self.row_request(where=where, columns=columns, options=row_options),
            options=row_options,
            limit=limit,
        )

    def count(
        self,
        where: str | Predicate | None = None,
        *,
        options: RowOptions | None = None,
        reporter: Reporter | None = None,
        **overrides: Any,
    ) -> RowCount:
        """Return the exact number of rows, from the log's statistics where they prove it.

        The result is an `int` that also reports how it was found: `files_from_statistics`,
        `files_read`, and `how` in words.

        Args:
            where: A condition, as for `scan`: exactly the rows for which it is true are counted.
            options: How to count; no option changes the count.
            reporter: Receives the events of the scan; by default the table's reporter.
            overrides: Single options by name, such as `files_at_once=8`.

        Raises:
            RequestError, DamageError: as for `rows`; only files that must be read can be damaged.
        """
        row_options = chosen_options(options or RowOptions(), RowOptions, overrides)
        return wiring.count_rows(
            self.scan(where, options=row_options, reporter=reporter),
            store=self.table.data_store,
            request=self.row_request(where=where, columns=(), options=row_options),
            options=row_options,
        )

    def to_pyarrow_dataset(self, where: str | Predicate | None = None) -> ArrowDataset:
        """Return the rows as a `pyarrow.dataset.Dataset`, read when it is scanned.

        It prunes by partition values, and accepts pyarrow's columns and filters. Arrow reads the
        files that it can read exactly. Files with a deletion vector, mapped columns or widened
        types go through the row reader, one file at a time. The footers of the other files are
        checked and cached when the dataset is built.

        Args:
            where: A condition, as for `scan`: the dataset has exactly the rows for which it is
                true. All files that can hold such rows then go through the row reader.

        Raises:
            RequestError: `where` is wrong, as for `rows`.
            DataFileNotFoundError, CorruptDataFileError: a footer cannot be read.
        """
        return wiring.open_dataset(
            self.scan(where),
            store=self.table.data_store,
            context=self.context,
            request=self.row_request(where=where),
        )

    def refresh(self, *, log_tail: Sequence[str] | None = None) -> "Snapshot":
        """Return the newest snapshot by reading only new commits; this snapshot if there are none.

        Args:
            log_tail: As for `Table.snapshot`: the commits that the catalog has ratified by now.

        Raises:
            TableError, DamageError, InvalidArgumentError: as for `Table.snapshot`.
        """
        tail = self.table_version.tail if log_tail is None else ratified_tail(log_tail)
        counts = Counts()
        if self.table_version.dialect is INDEXTABLES:
            newest = self.table.pin(counts=counts)
            return self if newest == self.table_version else Snapshot(self.table, newest, counts)
        pinned = self.table.run(RefreshLog(old=self.table_version, tail=tail), counts)
        return self if pinned is self.table_version else Snapshot(self.table, pinned, counts)

    @cached_property
    def _app_metadata(self) -> AppMetadata:
        request = SnapshotRequest(
            table=self.table.uri, version=self.version, tail=self.table_version.tail
        )
        phase = ReadAppMetadata(request=request, segment=self.segment.log)
        metadata: AppMetadata = self.table.run(phase, self.counts)
        return metadata
