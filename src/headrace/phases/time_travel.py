"""Finds the version that was current at a given time, and the time when a version was committed.

From the version that enabled in-commit timestamps, these count. Before it, and in other tables, the
modification times of the commit files count, each taken to be later than its predecessor's.
"""

from collections.abc import Sequence

import msgspec

from headrace.errors import (
    CorruptLogError,
    HeadraceError,
    LogGapError,
    ObjectNotFoundError,
    SnapshotExpiredError,
    TimestampNotFoundError,
)
from headrace.log.name import LOG_DIRECTORY
from headrace.log.segment import index_log
from headrace.phases.phase import Consume, Phase, Terminus, Then
from headrace.phases.snapshot import SnapshotRequest, TableVersion, read_table
from headrace.plan.batch import ActionBatch, Batch
from headrace.plan.node import ListFiles, Node, ScanJson
from headrace.protocol.log_file import LogFile
from headrace.protocol.timestamp import in_commit_timestamps

_COMMIT_TIME = ("commitInfo.inCommitTimestamp",)


class ReadCommitTime(Consume[int], frozen=True, kw_only=True):
    """Reads the timestamp in a commit."""

    table: str
    commit: LogFile

    def plan(self) -> Node:
        """Read the information of one commit."""
        return _commit_info(self.commit)

    def next(self, data: Sequence[Batch]) -> Phase[int]:
        """End with the timestamp in milliseconds."""
        return Terminus(_timestamp(self.actions(data), self.commit))

    def failed(self, error: HeadraceError) -> Phase[int]:
        """Report the snapshot as expired if a listed commit is gone."""
        raise _expired(error, table=self.table, commit=self.commit)


class ListCommitTimes(Consume[int], frozen=True, kw_only=True):
    """Lists all commits, to find the last one at or before a time."""

    newest: TableVersion
    timestamp_ms: int

    def plan(self) -> Node:
        """List the whole log."""
        return ListFiles(directory=LOG_DIRECTORY)

    def next(self, data: Sequence[Batch]) -> Phase[int]:
        """Find the version by file times at once, or search the commits' own timestamps."""
        return find_version(self.newest, self.listed(data), timestamp_ms=self.timestamp_ms)


class ListLogAsOf(Consume[TableVersion], frozen=True, kw_only=True):
    """Lists the whole log once, to find the version that was current at a time.

    The newest version determines how commits are dated. The version that is found is read from the
    same listing.
    """

    request: SnapshotRequest
    timestamp_ms: int

    def plan(self) -> Node:
        """List the whole log."""
        return ListFiles(directory=LOG_DIRECTORY)

    def next(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        """Read the newest version first."""
        request, files = self.request, tuple(self.listed(data))
        index = index_log(files, table=request.table, tail=request.tail)
        newest = read_table(request, index.segment())
        return Then.of(newest, _FindVersion(request, files, self.timestamp_ms))


class _FindVersion(msgspec.Struct, frozen=True):
    """Finds the version that was current at a time, given the newest version."""

    request: SnapshotRequest
    files: tuple[LogFile, ...]
    timestamp_ms: int

    def after(self, value: TableVersion) -> Phase[TableVersion]:
        search = find_version(value, self.files, timestamp_ms=self.timestamp_ms)
        return Then.of(search, _ReadVersion(self.request, self.files, value))


class _ReadVersion(msgspec.Struct, frozen=True):
    """Reads a version from the listed log, once its number is known."""

    request: SnapshotRequest
    files: tuple[LogFile, ...]
    newest: TableVersion

    def after(self, value: int) -> Phase[TableVersion]:
        if value == self.newest.segment.version:
            return Terminus(self.newest)
        request = msgspec.structs.replace(self.request, version=value)
        index = index_log(self.files, table=request.table, tail=request.tail)
        return read_table(request, index.segment(value))


def find_version(
    newest: TableVersion, files: Sequence[LogFile], *, timestamp_ms: int
) -> Phase[int]:
    """Find the last version at or before a time, in a log that was listed as a whole."""
    table, last = newest.table, newest.segment.version
    index = index_log(files, table=table, tail=newest.tail)
    oldest = min((span.start for span in index.available), default=0)
    versions = sorted(v for v in index.commits if oldest <= v <= last)
    carried = in_commit_timestamps(newest.metadata, table=table)
    if carried is None:
        by_file = [index.commits[v] for v in versions]
        return Terminus(_by_file_time(by_file, timestamp_ms, table=table, end=last + 1))
    if timestamp_ms >= carried.since_ms or not versions:
        dated = [index.commits[v] for v in versions if v >= carried.since_version]
        return SearchCommitTimes(
            table=table,
            timestamp_ms=timestamp_ms,
            commits=tuple(dated),
            end=last + 1,
            high=len(dated),
        )
    before = [index.commits[v] for v in versions if v < carried.since_version]
    return Terminus(_by_file_time(before, timestamp_ms, table=table, end=carried.since_version))


class SearchCommitTimes(Consume[int], frozen=True, kw_only=True):
    """Binary search for the last commit at or before a time.

    Commits below `low` are known to be early enough, those from `high` on to be too late.
    """

    table: str
    timestamp_ms: int
    commits: tuple[LogFile, ...]
    end: int
    """The version after the last candidate."""
    high: int
    low: int = 0
    oldest_ms: int | None = None

    @property
    def _middle(self) -> int:
        return (self.low + self.high) // 2

    def plan(self) -> Node:
        """Read the commit in the middle; nothing if the range is empty from the start."""
        if self.low >= self.high:
            return ScanJson(files=(), columns=_COMMIT_TIME)
        return _commit_info(self.commits[self._middle])

    def next(self, data: Sequence[Batch]) -> Phase[int]:
        """Keep the half that contains the result."""
        if self.low < self.high:
            middle = self._middle
            time_ms = _timestamp(self.actions(data), self.commits[middle])
            if time_ms <= self.timestamp_ms:
                step = msgspec.structs.replace(self, low=middle + 1)
            else:
                step = msgspec.structs.replace(self, high=middle, oldest_ms=time_ms)
            if step.low < step.high:
                return step
        else:
            step = self
        if step.low == 0:
            raise TimestampNotFoundError(
                table=self.table, timestamp_ms=self.timestamp_ms, oldest_ms=step.oldest_ms
            )
        return Terminus(_last_of(self.commits, step.low, table=self.table, end=self.end))

    def failed(self, error: HeadraceError) -> Phase[int]:
        """Report the snapshot as expired if a listed commit is gone."""
        raise _expired(error, table=self.table, commit=self.commits[self._middle])


def _by_file_time(commits: Sequence[LogFile], timestamp_ms: int, *, table: str, end: int) -> int:
    """Return the last commit at or before a time; file times are made to increase."""
    oldest_ms = commits[0].modified_ms if commits else None
    effective_ms = oldest_ms or 0
    early = 0
    for position, commit in enumerate(commits):
        if position:
            effective_ms = max(commit.modified_ms, effective_ms + 1)
        if effective_ms > timestamp_ms:
            break
        early = position + 1
    if not early:
        raise TimestampNotFoundError(table=table, timestamp_ms=timestamp_ms, oldest_ms=oldest_ms)
    return _last_of(commits, early, table=table, end=end)


def _last_of(commits: Sequence[LogFile], early: int, *, table: str, end: int) -> int:
    """Return the version of the last of the first `early` commits; `early` is at least 1.

    Raises:
        LogGapError: the commit after it is missing, and may also have been early enough.
    """
    version = commits[early - 1].version
    following = commits[early].version if early < len(commits) else end
    assert version is not None
    assert following is not None
    if version + 1 < following:
        raise LogGapError(table=table, missing=[range(version + 1, following)])
    return version


def _commit_info(commit: LogFile) -> Node:
    return ScanJson(files=(commit,), columns=_COMMIT_TIME)


def _timestamp(batches: Sequence[ActionBatch], commit: LogFile) -> int:
    for batch in batches:
        for info in batch.actions("commitInfo"):
            if info.in_commit_timestamp is not None:
                return int(info.in_commit_timestamp)
    reason = "the table keeps in-commit timestamps, but this commit has none"
    raise CorruptLogError(path=commit.path, line=1, reason=reason)


def _expired(error: HeadraceError, *, table: str, commit: LogFile) -> HeadraceError:
    if isinstance(error, ObjectNotFoundError):
        expired = SnapshotExpiredError(table=table, version=commit.version or 0, path=commit.path)
        expired.__cause__ = error
        return expired
    return error
