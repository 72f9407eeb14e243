"""Reads the commit information of writers, newest first, and the time of each commit."""

from collections.abc import Mapping, Sequence

import msgspec

from headrace.errors import HeadraceError, ObjectNotFoundError, SnapshotExpiredError
from headrace.log.name import LOG_DIRECTORY
from headrace.log.segment import index_log
from headrace.phases.phase import Consume, Phase, Sequential, Terminus
from headrace.phases.snapshot import TableVersion
from headrace.plan.batch import Batch
from headrace.plan.node import ListFiles, Node, ScanJson
from headrace.protocol.log_file import LogFile
from headrace.protocol.timestamp import in_commit_timestamps


class CommitTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The commits of a history, and the times of their files."""

    commits_newest_first: tuple[LogFile, ...]
    file_times_ms: Mapping[int, int]
    """The modification time of each commit file by version, made later than its predecessor's."""
    in_commit_since: int | None
    """The first version whose commit contains its own timestamp; None if none does."""


class ListHistory(Consume[CommitTimes], frozen=True, kw_only=True):
    """Finds the commits that still exist, up to a version."""

    newest: TableVersion
    limit: int | None = None
    """The number of commits to read, newest first; None for all."""

    def plan(self) -> Node:
        """List the whole log: the time of a commit depends on the commits before it."""
        return ListFiles(directory=LOG_DIRECTORY)

    def next(self, data: Sequence[Batch]) -> Phase[CommitTimes]:
        """Continue with the newest commits."""
        table = self.newest.table
        index = index_log(self.listed(data), table=table, tail=self.newest.tail)
        versions = sorted(v for v in index.commits if v <= self.newest.segment.version)
        times: dict[int, int] = {}
        previous_ms: int | None = None
        for version in versions:
            modified_ms = index.commits[version].modified_ms
            if previous_ms is not None:
                modified_ms = max(modified_ms, previous_ms + 1)
            times[version] = previous_ms = modified_ms
        carried = in_commit_timestamps(self.newest.metadata, table=table)
        newest_first = [index.commits[version] for version in reversed(versions)]
        return ReadHistory(
            table=table,
            times=CommitTimes(
                commits_newest_first=tuple(newest_first[: self.limit]),
                file_times_ms=times,
                in_commit_since=None if carried is None else carried.since_version,
            ),
        )


class ReadHistory(Sequential[CommitTimes], frozen=True, kw_only=True):
    """Reads the commit information; a commit without any has no batch."""

    table: str
    times: CommitTimes

    def plan(self) -> Node:
        """Read the information of each commit."""
        return ScanJson(files=self.times.commits_newest_first, columns=("commitInfo",))

    def next(self) -> Phase[CommitTimes]:
        """End with the commit times."""
        return Terminus(self.times)

    def failed(self, error: HeadraceError, *, given: int) -> Phase[CommitTimes]:  # noqa: ARG002
        """Report the snapshot as expired if a listed commit was cleaned up in the meantime."""
        if isinstance(error, ObjectNotFoundError):
            newest = self.times.commits_newest_first[0].version or 0
            raise SnapshotExpiredError(table=self.table, version=newest, path=error.path) from error
        raise error
