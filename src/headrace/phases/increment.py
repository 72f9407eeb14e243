"""From the files of one version to those of a later one, by the commits in between."""

from collections.abc import Sequence

from headrace.errors import HeadraceError, IncrementRefusedError
from headrace.log.name import LOG_DIRECTORY, first_name
from headrace.log.segment import Segment, index_log
from headrace.phases.phase import Consume, Phase
from headrace.phases.recovery import user_facing_error
from headrace.phases.scan import ScanOutcome, ScanRequest, plan_scan
from headrace.plan.batch import Batch
from headrace.plan.node import FirstOfEach, ListFiles, Node, ScanJson
from headrace.protocol.log_file import LogFile

_CHANGES_OF_MEANING = ("protocol", "metaData")


def plan_increment(request: ScanRequest, segment: Segment, *, since: int) -> Phase[ScanOutcome]:
    """The first phase: the log is listed only for commits that the segment does not know."""
    known = {file.version: file for file in segment.commits_newest_first}
    wanted = range(request.version, since, -1)
    if all(version in known for version in wanted):
        return _check(request, tuple(known[version] for version in wanted))
    return ListIncrement(request=request, segment=segment, since=since)


def _check(request: ScanRequest, commits_newest_first: tuple[LogFile, ...]) -> "CheckIncrement":
    segment = Segment(version=request.version, commits_newest_first=commits_newest_first)
    return CheckIncrement(request=request, segment=segment)


class ListIncrement(Consume[ScanOutcome], frozen=True, kw_only=True):
    """Finds the commits after a version, up to the one that is wanted."""

    request: ScanRequest
    segment: Segment
    """What is known of the wanted version."""
    since: int

    def plan(self) -> Node:
        """The log after the known version."""
        return ListFiles(directory=LOG_DIRECTORY, start_from=first_name(self.since + 1))

    def next(self, data: Sequence[Batch]) -> Phase[ScanOutcome]:
        """Every commit in between must be there, in the log that the segment is of."""
        request = self.request
        index = index_log(self.listed(data), table=request.table, tail=request.tail)
        wanted = range(request.version, self.since, -1)
        missing = [version for version in wanted if version not in index.commits]
        if missing:
            raise self._refused(f"commit {min(missing)} is no longer there")
        if anew := self.segment.rewritten(index.commits):
            raise self._refused(f"commit {anew.version} was written anew")
        return _check(request, tuple(index.commits[version] for version in wanted))

    def _refused(self, reason: str) -> IncrementRefusedError:
        return IncrementRefusedError(table=self.request.table, reason=reason)


class CheckIncrement(Consume[ScanOutcome], frozen=True, kw_only=True):
    """Makes sure that the old list still means what it meant."""

    request: ScanRequest
    segment: Segment

    def plan(self) -> Node:
        """The actions that change how files are to be understood."""
        columns = _CHANGES_OF_MEANING
        commits = ScanJson(files=self.segment.commits_newest_first, columns=columns)
        return FirstOfEach(input=commits, columns=columns)

    def next(self, data: Sequence[Batch]) -> Phase[ScanOutcome]:
        """Replay the commits; their keys then decide which of the old files are still live."""
        for batch in self.actions(data):
            for name in _CHANGES_OF_MEANING:
                if batch.actions(name):
                    reason = f"{batch.source.path} changes the table's {name}"
                    raise IncrementRefusedError(table=self.request.table, reason=reason)
        return plan_scan(self.request, self.segment)

    def failed(self, error: HeadraceError) -> Phase[ScanOutcome]:
        """Commits have no other source."""
        raise user_facing_error(error, self)
