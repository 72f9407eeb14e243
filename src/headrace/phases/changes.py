"""Reads the changes between two versions: every commit in the range once, oldest first."""

from collections.abc import Sequence

import msgspec

from headrace.errors import HeadraceError, LogGapError, ObjectNotFoundError, SnapshotExpiredError
from headrace.log.name import LOG_DIRECTORY, first_name
from headrace.log.segment import gaps, index_log
from headrace.phases.phase import Consume, Phase, Sequential, Terminus
from headrace.plan.batch import Batch
from headrace.plan.node import ListFiles, Node, ScanJson
from headrace.protocol.log_file import LogFile

CHANGE_COLUMNS = ("add", "remove", "cdc")


class ChangeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for the changes of the versions from `start` to `end`, both included."""

    table: str
    start: int
    end: int
    tail: tuple[LogFile, ...] | None = None
    columns: tuple[str, ...] = CHANGE_COLUMNS
    """The actions to read, by their name in the log."""


class ListChanges(Consume[ChangeRequest], frozen=True, kw_only=True):
    """Finds the commits of a range; all of them must exist."""

    request: ChangeRequest

    def plan(self) -> Node:
        """List the log from the first version on."""
        return ListFiles(directory=LOG_DIRECTORY, start_from=first_name(self.request.start))

    def next(self, data: Sequence[Batch]) -> Phase[ChangeRequest]:
        """Require every commit: a checkpoint does not record what changed."""
        request = self.request
        index = index_log(self.listed(data), table=request.table, tail=request.tail)
        missing = gaps(index.commits, first=request.start, last=request.end)
        if missing:
            raise LogGapError(table=request.table, missing=missing)
        versions = range(request.start, request.end + 1)
        return ReadChanges(
            request=request, commits=tuple(index.commits[version] for version in versions)
        )


class ReadChanges(Sequential[ChangeRequest], frozen=True, kw_only=True):
    """Reads the commits of a range, oldest first."""

    request: ChangeRequest
    commits: tuple[LogFile, ...]

    def plan(self) -> Node:
        """Read each commit once."""
        return ScanJson(files=self.commits, columns=self.request.columns)

    def next(self) -> Phase[ChangeRequest]:
        """End with the request."""
        return Terminus(self.request)

    def failed(self, error: HeadraceError, *, given: int) -> Phase[ChangeRequest]:  # noqa: ARG002
        """Report the range as expired if a listed commit is gone."""
        if isinstance(error, ObjectNotFoundError):
            raise SnapshotExpiredError(
                table=self.request.table, version=self.request.end, path=error.path
            ) from error
        raise error
