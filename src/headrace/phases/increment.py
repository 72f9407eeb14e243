"""From the files of one version to those of a later one, by the commits in between."""

from collections.abc import Sequence

import msgspec

from headrace.errors import IncrementRefusedError
from headrace.log.name import LOG_DIRECTORY, first_name
from headrace.log.segment import Segment, index_log
from headrace.phases.phase import Consume, Phase
from headrace.phases.scan import ScanOutcome, ScanRequest, plan_scan
from headrace.plan.batch import Batch
from headrace.plan.node import Chain, ListFiles, Node, ScanJson


class ListIncrement(Consume[ScanOutcome], frozen=True, kw_only=True):
    """Finds the commits after a version, up to the one that is wanted."""

    request: ScanRequest
    since: int

    def plan(self) -> Node:
        """The log after the known version."""
        return ListFiles(directory=LOG_DIRECTORY, start_from=first_name(self.since + 1))

    def next(self, data: Sequence[Batch]) -> Phase[ScanOutcome]:
        """Every commit in between must be there."""
        request = self.request
        index = index_log(self.listed(data), table=request.table, tail=request.tail)
        wanted = range(request.version, self.since, -1)
        missing = [version for version in wanted if version not in index.commits]
        if missing:
            raise IncrementRefusedError(
                table=request.table, reason=f"commit {min(missing)} is no longer there"
            )
        segment = Segment(
            version=request.version,
            commits_newest_first=tuple(index.commits[version] for version in wanted),
        )
        return CheckIncrement(request=request, segment=segment)


class CheckIncrement(Consume[ScanOutcome], frozen=True, kw_only=True):
    """Makes sure that the old list still means what it meant."""

    request: ScanRequest
    segment: Segment

    def plan(self) -> Node:
        """The actions that change how files are to be understood."""
        columns = ("protocol", "metaData")
        return Chain(inputs=(ScanJson(files=self.segment.commits_newest_first, columns=columns),))

    def next(self, data: Sequence[Batch]) -> Phase[ScanOutcome]:
        """Replay the commits; their keys then tell which of the old files are still live."""
        for batch in self.actions(data):
            for name in ("protocol", "metaData"):
                if batch.actions(name):
                    reason = f"{batch.source.path} changes the table's {name}"
                    raise IncrementRefusedError(table=self.request.table, reason=reason)
        phase = plan_scan(self.request, self.segment)
        return msgspec.structs.replace(phase, commits=self.segment.commits_newest_first)
