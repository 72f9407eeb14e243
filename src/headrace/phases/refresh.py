"""Refreshes a snapshot to a newer version, reading only what is new."""

from collections.abc import Sequence

import msgspec

from headrace.errors import LogGapError, TableNotFoundError
from headrace.log.name import LOG_DIRECTORY, first_name
from headrace.log.segment import LogIndex, index_log
from headrace.metrics.event import RefreshRestarted
from headrace.phases.phase import Consume, Phase, Terminus
from headrace.phases.recovery import reason_without_prefix
from headrace.phases.snapshot import (
    KnownMetadata,
    ReadHint,
    ReadProtocolAndMetadata,
    SnapshotRequest,
    TableVersion,
)
from headrace.plan.batch import Batch
from headrace.plan.node import ListFiles, Node
from headrace.protocol.log_file import LogFile


class RefreshLog(Consume[TableVersion], frozen=True, kw_only=True):
    """Lists the log from the old version on, and adds new commits to the old segment."""

    old: TableVersion
    tail: tuple[LogFile, ...] | None = None

    def plan(self) -> Node:
        """List the old version and everything later."""
        return ListFiles(directory=LOG_DIRECTORY, start_from=first_name(self.old.segment.version))

    def next(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        """Return the old snapshot if the version is unchanged; else read only the new commits."""
        old = self.old
        new = self.listed(data)
        request = SnapshotRequest(table=old.table, tail=self.tail)
        listed = index_log(new, table=old.table, tail=self.tail)
        if reason := self._replaced(listed):
            event = RefreshRestarted(table=old.table, reason=reason)
            return ReadHint(request=request, events=(event,))
        known_files = (*old.segment.log.files, *old.segment.commits_newest_first)
        files = {file.path: file for file in (*known_files, *new)}
        index = index_log(
            files.values(), table=old.table, tail=self.tail, exclude=old.segment.excluded
        )
        try:
            segment = index.segment()
        except (LogGapError, TableNotFoundError) as error:
            reason = reason_without_prefix(old.table, error)
            event = RefreshRestarted(table=old.table, reason=reason)
            return ReadHint(request=request, events=(event,))
        if segment.version == old.segment.version:
            return Terminus(old)
        if segment.checkpoint == old.segment.checkpoint:  # a new one covers what was abandoned
            segment = msgspec.structs.replace(segment, abandoned=old.segment.abandoned)
        if old.segment.state is not None:
            segment = segment.based_on(old.segment.state, commits=index.commits) or segment
        base = -1 if segment.base is None else segment.base.version
        known = KnownMetadata(
            version=old.segment.version, protocol=old.protocol, metadata=old.metadata
        )
        # If the base is newer than the old version, the segment lacks the commits between them.
        return ReadProtocolAndMetadata(
            request=request,
            segment=segment,
            known=known if base <= known.version else None,
        )

    def _replaced(self, listed: LogIndex) -> str | None:
        """Return why the old snapshot cannot be reused; None if it can."""
        old = self.old.segment
        if old.commit is None or self.tail is not None:
            return None
        if old.version not in listed.commits:
            return f"commit {old.version} is gone"
        rewritten = old.rewritten(listed.commits)
        return None if rewritten is None else f"commit {rewritten.version} was rewritten"
