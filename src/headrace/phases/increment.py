"""Updates the live files of one version to a later one, from the commits in between."""

from collections.abc import Sequence

from headrace.errors import HeadraceError, IncrementRefusedError
from headrace.log.name import LOG_DIRECTORY, first_name
from headrace.log.segment import Segment, index_log
from headrace.phases.phase import Consume, Phase
from headrace.phases.recovery import user_facing_error
from headrace.phases.scan import plan_scan
from headrace.phases.scan_request import ScanOutcome, ScanRequest
from headrace.plan.batch import Batch
from headrace.plan.node import FirstOfEach, ListFiles, Node, ScanJson
from headrace.protocol.log_file import LogFile

_CHANGES_OF_MEANING = ("protocol", "metaData")


def plan_increment(request: ScanRequest, segment: Segment, *, since: int) -> Phase[ScanOutcome]:
    """Return the first phase; the log is listed only if the segment lacks some commits."""
    known = {file.version: file for file in segment.commits_newest_first}
    versions_newest_first = range(request.version, since, -1)
    if all(version in known for version in versions_newest_first):
        return _check(request, tuple(known[version] for version in versions_newest_first))
    return ListIncrement(request=request, segment=segment, since=since)


def _check(request: ScanRequest, commits_newest_first: tuple[LogFile, ...]) -> "CheckIncrement":
    segment = Segment(version=request.version, commits_newest_first=commits_newest_first)
    return CheckIncrement(request=request, segment=segment)


class ListIncrement(Consume[ScanOutcome], frozen=True, kw_only=True):
    """Finds the commits after a version, up to the requested one."""

    request: ScanRequest
    segment: Segment
    """The known part of the requested version's log."""
    since: int

    def plan(self) -> Node:
        """List the log after the known version."""
        return ListFiles(directory=LOG_DIRECTORY, start_from=first_name(self.since + 1))

    def next(self, data: Sequence[Batch]) -> Phase[ScanOutcome]:
        """Require every commit in between, in the same log as the segment's."""
        request = self.request
        index = index_log(self.listed(data), table=request.table, tail=request.tail)
        versions_newest_first = range(request.version, self.since, -1)
        missing = [version for version in versions_newest_first if version not in index.commits]
        if missing:
            raise self._refused(f"commit {min(missing)} no longer exists")
        if rewritten := self.segment.rewritten(index.commits):
            raise self._refused(f"commit {rewritten.version} was rewritten")
        return _check(request, tuple(index.commits[version] for version in versions_newest_first))

    def _refused(self, reason: str) -> IncrementRefusedError:
        return IncrementRefusedError(table=self.request.table, reason=reason)


class CheckIncrement(Consume[ScanOutcome], frozen=True, kw_only=True):
    """Checks that no commit changes the meaning of the old file list."""

    request: ScanRequest
    segment: Segment

    def plan(self) -> Node:
        """Read the actions that change how files are interpreted."""
        columns = _CHANGES_OF_MEANING
        commits = ScanJson(files=self.segment.commits_newest_first, columns=columns)
        return FirstOfEach(input=commits, columns=columns)

    def next(self, data: Sequence[Batch]) -> Phase[ScanOutcome]:
        """Replay the commits; their keys then determine which of the old files are still live."""
        for batch in self.actions(data):
            for name in _CHANGES_OF_MEANING:
                if batch.actions(name):
                    reason = f"{batch.source.path} changes the table's {name}"
                    raise IncrementRefusedError(table=self.request.table, reason=reason)
        return plan_scan(self.request, self.segment)

    def failed(self, error: HeadraceError) -> Phase[ScanOutcome]:
        """Raise the error: commits have no other source."""
        raise user_facing_error(error, self)
