"""The past of a table: its history, its changed files and its changed rows.

A range of versions or times enters; `Changes`, change rows or `HistoryEntry` values leave.
"""

import time
from collections.abc import Generator, Sequence
from datetime import date, datetime
from typing import Any, TypeAlias

from headrace import wiring
from headrace.errors import (
    InvalidArgumentError,
    LogGapError,
    TableReplacedError,
    TimestampNotFoundError,
    VersionNotFoundError,
)
from headrace.log.dialect import INDEXTABLES
from headrace.metrics.counts import Counts
from headrace.phases.changes import ChangeRequest
from headrace.phases.history import ListHistory
from headrace.phases.refresh import RefreshLog
from headrace.phases.snapshot import TableVersion
from headrace.phases.time_travel import ListCommitTimes
from headrace.plan.context import ExecutionContext
from headrace.rows.option import RowOptions
from headrace.scan.argument import chosen_options, ratified_tail, seconds, whole_number
from headrace.scan.changes import Changes
from headrace.scan.history import HistoryEntry, history_entries
from headrace.scan.lazy_imports import RecordBatchReader
from headrace.scan.moment import milliseconds
from headrace.scan.run import Run
from headrace.scan.state_changes import StateChanges
from headrace.table.source import TableSource
from headrace.table.version import PinnedVersion

Moment: TypeAlias = int | datetime | date | str
"""A version, or a time as for `as_of`."""


class ChangeLog(TableSource):
    """A table that reports its history and its changes."""

    def changes(
        self,
        start: Moment = 0,
        end: Moment | None = None,
        *,
        log_tail: Sequence[str] | None = None,
    ) -> Changes:
        """Return the files that commits added and removed, and their change data; read once each.

        Args:
            start: The first version, or a time: the first version committed then or later.
            end: The last version, or a time: the last version committed by then. By default the
                newest, pinned now.
            log_tail: As for `snapshot`.

        Raises:
            InvalidArgumentError: there is no such range. A time after the last commit is a range
                without changes.
            TimestampNotFoundError: commits since `start` may have been cleaned up.
            LogGapError: a commit of the range no longer exists (raised when the changes are read).
            TableError, DamageError: as for `snapshot`.
        """
        request, last = self._range(start, end, log_tail)
        kind = StateChanges if last.table_version.dialect is INDEXTABLES else Changes
        return kind(
            request, executor=self.executor, reporter=self.reporter, late=wiring.ScanImports()
        )

    def change_rows(  # noqa: PLR0913  (a range, and what `rows` takes)
        self,
        start: Moment = 0,
        end: Moment | None = None,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        log_tail: Sequence[str] | None = None,
        options: RowOptions | None = None,
        **overrides: Any,
    ) -> RecordBatchReader:
        """Return the rows that commits inserted, deleted and updated, oldest commit first.

        They have the columns of the last version, then `_change_type` (`insert`, `delete`,
        `update_preimage`, `update_postimage`), `_commit_version` and `_commit_timestamp`. The
        change feed is read where it exists. Elsewhere, changes are derived from files that were
        only added or only removed, and from deletion vectors.

        Args:
            start: As for `changes`.
            end: As for `changes`.
            where: A SQL condition: exactly the changed rows for which it is true are returned.
            columns: The columns of the table to read, by name and in order; by default all.
            log_tail: As for `snapshot`.
            options: How to read; no option changes which rows are returned.
            overrides: Single options by name, such as `files_at_once=8`.

        Raises:
            ChangeDataMissingError: from the reader: a commit rewrote files without a change feed,
                or its rows do not fit the schema of the last version.
            InvalidArgumentError, TimestampNotFoundError, LogGapError: as for `changes`.
            RequestError, DamageError: as for `Snapshot.rows`.
        """
        row_options = chosen_options(options or RowOptions(), RowOptions, overrides)
        request, last = self._range(start, end, log_tail)
        return wiring.open_change_rows(
            request,
            before=self._before(request, last),
            last=last,
            executor=self.executor,
            store=self.data_store,
            row_request=last.row_request(where=where, columns=columns, options=row_options),
            options=row_options,
        )

    def follow(
        self, start: Moment | None = None, *, poll_s: float = 1.0
    ) -> Generator[Changes, None, None]:
        """Yield the changes of new versions as they are committed; it never ends by itself.

        Args:
            start: The first version or time, as for `changes`; by default the next commit.
            poll_s: How long to wait, in seconds, before listing the log again.

        Raises:
            TableReplacedError: another table has replaced it.
            TableError, DamageError, InvalidArgumentError: as for `changes`.
        """
        poll_s = seconds("poll_s", poll_s)
        pinned = self.pin(counts=Counts())
        if start is not None:
            changes = self.changes(start, pinned.segment.version)
            if changes.start <= changes.end:
                yield changes
        while True:
            time.sleep(poll_s)
            newer = self._refreshed(pinned)
            if newer is pinned:
                continue
            if newer.metadata.id != pinned.metadata.id:
                raise TableReplacedError(
                    table=self.uri, expected=pinned.metadata.id, found=newer.metadata.id
                )
            first, pinned = pinned.segment.version + 1, newer
            yield self.changes(first, pinned.segment.version)

    def _refreshed(self, pinned: TableVersion) -> TableVersion:
        if pinned.dialect is INDEXTABLES:
            newest = self.pin(counts=Counts())
            return pinned if newest.segment.version == pinned.segment.version else newest
        newer: TableVersion = self.run(RefreshLog(old=pinned, tail=None), Counts())
        return newer

    def history(self, limit: int | None = None) -> list[HistoryEntry]:
        """Return the history of the table, newest commit first, as far back as its commits go.

        Args:
            limit: The maximum number of commits; no others are read.

        Raises:
            TableError, DamageError, InvalidArgumentError: as for `snapshot`.
        """
        limit = None if limit is None else whole_number("limit", limit)
        phase = ListHistory(newest=self.pin(counts=Counts()), limit=limit)
        execution = ExecutionContext()
        with Run(phase, executor=self.executor, reporter=self.reporter, context=execution) as run:
            batches, times = run.collect()
        return list(history_entries(batches, times=times))

    def _range(
        self, start: Moment, end: Moment | None, log_tail: Sequence[str] | None
    ) -> tuple[ChangeRequest, PinnedVersion]:
        """Return the range, and the version at its end."""
        tail = None if log_tail is None else ratified_tail(log_tail)
        if end is None or not _is_time(end):
            version = None if end is None else whole_number("end", end)
            last = PinnedVersion(self.pin(counts=Counts(), version=version, tail=tail))
        else:
            end_ms = milliseconds(end, argument="end")
            last = PinnedVersion(self.pin(counts=Counts(), as_of_ms=end_ms, tail=tail))
        if _is_time(start):
            first = self._first_since(milliseconds(start, argument="start"), last)
        else:
            first = whole_number("start", start)
            if first > last.version:
                reason = f"it must be between 0 and {last.version}"
                raise InvalidArgumentError(argument="start", reason=reason)
        return ChangeRequest(table=self.uri, start=first, end=last.version, tail=tail), last

    def _first_since(self, timestamp_ms: int, last: PinnedVersion) -> int:
        """Return the first version committed at or after a time; the last + 1 if none was."""
        counts = Counts()
        if last.table_version.dialect is INDEXTABLES:
            try:
                return self.pin(counts=counts, as_of_ms=timestamp_ms - 1).segment.version + 1
            except TimestampNotFoundError:  # every version is later
                return 0
        earlier = ListCommitTimes(newest=last.table_version, timestamp_ms=timestamp_ms - 1)
        try:
            version: int = self.run(earlier, counts)
        except TimestampNotFoundError:
            # All remaining commits are later. If version 0 is among them, none has been cleaned up.
            commits = self.run(ListHistory(newest=last.table_version, limit=0), counts)
            if 0 not in commits.file_times_ms:
                raise
            return 0
        return version + 1

    def _before(self, request: ChangeRequest, last: PinnedVersion) -> PinnedVersion:
        """Return the version before a range, or its first one if that can no longer be rebuilt."""
        if request.start > request.end:
            return last
        counts, first = Counts(), request.start
        try:
            pinned = self.pin(counts=counts, version=max(first - 1, 0), tail=request.tail)
        except (VersionNotFoundError, LogGapError):
            pinned = self.pin(counts=counts, version=first, tail=request.tail)
        return PinnedVersion(pinned)


def _is_time(moment: Moment) -> bool:
    return isinstance(moment, datetime | date | str)
