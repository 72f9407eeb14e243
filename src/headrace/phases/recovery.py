"""Falls back to another base when a checkpoint cannot be read.

A checkpoint is only a summary of the commits before it. If a state describes the same version, or
if these commits still exist, the result can be rebuilt exactly; otherwise the error is raised.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from headrace.errors import (
    CorruptCheckpointError,
    CorruptLogError,
    CorruptStateError,
    HeadraceError,
    LogGapError,
    ObjectChangedError,
    ObjectNotFoundError,
    SnapshotExpiredError,
    TableError,
    UnsafePathError,
    UnsupportedStateError,
)
from headrace.log.checkpoint import Checkpoint
from headrace.log.name import LOG_DIRECTORY
from headrace.log.segment import Segment, index_log
from headrace.metrics.event import CheckpointAbandoned, CompactionAbandoned, Event
from headrace.phases.phase import Consume, Phase
from headrace.plan.batch import ActionBatch, Batch
from headrace.plan.node import ListFiles, Node
from headrace.protocol.log_file import LogFile

T = TypeVar("T")

_UNUSABLE = (CorruptLogError, CorruptCheckpointError, ObjectNotFoundError, ObjectChangedError)


STATE_FAILURES = (
    CorruptStateError,
    UnsupportedStateError,
    UnsafePathError,
    ObjectNotFoundError,
    ObjectChangedError,
)
"""The errors that make the state of a Delta log unusable; other errors are the store's."""


class VersionRequest(Protocol):
    """The fields that every request for a version has."""

    @property
    def table(self) -> str: ...  # noqa: D102

    @property
    def tail(self) -> tuple[LogFile, ...] | None: ...  # noqa: D102


class SegmentPhase(Protocol):
    """A phase that reads a segment."""

    @property
    def request(self) -> VersionRequest: ...  # noqa: D102

    @property
    def segment(self) -> Segment: ...  # noqa: D102


class Rebasable(SegmentPhase, Protocol[T]):
    """A phase that can continue with another segment of the same version."""

    def rebased(self, segment: Segment, events: tuple[Event, ...]) -> Phase[T]:
        """Return the phase to continue with, on that segment."""


def recover(phase: Rebasable[T], error: HeadraceError) -> Phase[T]:
    """Return the next phase when a phase could not read its segment and has emitted nothing yet.

    Raises:
        HeadraceError: there is no fallback; the original error, or what it means to the user.
    """
    segment = phase.segment
    path = getattr(error, "path", None)
    damaged = isinstance(error, _UNUSABLE)
    if not damaged or path is None:
        raise error
    if any(path == file.path for file in segment.compactions):
        table = phase.request.table
        event = CompactionAbandoned(
            table=table, path=path, reason=reason_without_prefix(path, error)
        )
        return phase.rebased(segment.without_compactions(), (event,))
    if segment.checkpoint is None or any(path == f.path for f in segment.commits_newest_first):
        raise user_facing_error(error, phase)
    if segment.with_state is not None:
        with_state = replace(segment.with_state, abandoned=segment.abandoned + 1)
        return phase.rebased(with_state, (_abandoned(phase, segment.checkpoint, error),))
    return OlderBase(resume=phase, error=error)


def _abandoned(
    phase: SegmentPhase, checkpoint: Checkpoint, error: HeadraceError
) -> CheckpointAbandoned:
    path = checkpoint.files[0].path
    return CheckpointAbandoned(
        table=phase.request.table, path=path, reason=reason_without_prefix(path, error)
    )


def reason_without_prefix(name: str, error: Exception) -> str:
    """Return the message of an error without the name that the event already has."""
    return str(error).removeprefix(f"{name}: ").removeprefix(f"{name} ")


def contradiction(
    batches: Sequence[ActionBatch], names: Mapping[str, Callable[[Any], object]]
) -> CorruptLogError | None:
    """Find a compaction file with two actions for one subject: which is newer cannot be known.

    `names` maps an action to a function that identifies its subject.
    """
    seen: dict[str, set[object]] = defaultdict(set)
    for batch in batches:
        if batch.source.compacted is None:
            continue
        for name, identity in names.items():
            for action in batch.actions(name):
                subject = (name, identity(action))
                if subject in seen[batch.source.path]:
                    reason = f"it has two {name} actions for the same subject"
                    return CorruptLogError(path=batch.source.path, line=None, reason=reason)
                seen[batch.source.path].add(subject)
    return None


def user_facing_error(error: HeadraceError, phase: SegmentPhase) -> HeadraceError:
    """Return the error to raise to the user of a snapshot.

    A missing or replaced file means that the snapshot has expired. An undecodable line in a
    checkpoint's file means that the checkpoint is damaged.
    """
    raised = error
    base = phase.segment.checkpoint
    if isinstance(error, ObjectNotFoundError | ObjectChangedError):
        raised = SnapshotExpiredError(
            table=phase.request.table,
            version=phase.segment.version,
            path=error.path,
            replaced=isinstance(error, ObjectChangedError),
        )
    elif isinstance(error, CorruptLogError) and base is not None and _is_part_of(error.path, base):
        raised = CorruptCheckpointError(path=error.path, reason=error.reason)
    if raised is not error:
        raised.__cause__ = error
    return raised


def _is_same(listed: LogFile, pinned: LogFile) -> bool:
    return (listed.size_bytes, listed.modified_ms) == (pinned.size_bytes, pinned.modified_ms)


def _listing_of(file: LogFile) -> tuple[str, int, int, str | None]:
    return file.path, file.size_bytes, file.modified_ms, file.etag


def _is_part_of(path: str, base: Checkpoint) -> bool:
    return any(path == file.path for file in base.files)


class OlderBase(Consume[T], frozen=True, kw_only=True):
    """Lists the whole log, to find another base than the one that failed."""

    resume: Rebasable[T]
    error: HeadraceError
    too_late: bool = False
    """Whether files have been emitted; then the listing only explains the error."""

    def plan(self) -> Node:
        """List the whole log: a listing that began at the hint does not show older bases."""
        return ListFiles(directory=LOG_DIRECTORY)

    def next(self, data: Sequence[Batch]) -> Phase[T]:
        """Continue from the next best base, or raise the original error."""
        failed = self.resume.segment
        assert failed.checkpoint is not None
        files = self.listed(data)
        original = self._original_error(files, failed.checkpoint)
        if self.too_late:
            raise original
        self._check_still_pinned(files, failed)
        # Another writer may rewrite a checkpoint as a summary of the same commits. One that is
        # listed as before is not read again: the store may never return it whole.
        listed = set(map(_listing_of, files))
        is_rewritten = isinstance(self.error, ObjectChangedError) and not all(
            _listing_of(file) in listed for file in failed.checkpoint.files
        )
        unusable = () if is_rewritten else (file.path for file in failed.checkpoint.files)
        index = index_log(
            files,
            table=self.resume.request.table,
            tail=self.resume.request.tail,
            exclude=failed.excluded.union(unusable),
        )
        try:
            segment = index.segment(failed.version)
        except (LogGapError, TableError) as no_base:
            raise original from no_base
        if is_rewritten:
            return self.resume.rebased(replace(segment, abandoned=failed.abandoned), ())
        event = _abandoned(self.resume, failed.checkpoint, self.error)
        segment = replace(segment, abandoned=failed.abandoned + 1)
        return self.resume.rebased(segment, (event,))

    def _check_still_pinned(self, files: Sequence[LogFile], pinned: Segment) -> None:
        """Reject another table's log: some pinned commit must exist, and none may have changed."""
        commits = {file.path: file for file in pinned.commits if file.modified_ms}
        listed = [file for file in files if file.path in commits]
        for file in listed:
            if not _is_same(file, commits[file.path]):
                raise user_facing_error(ObjectChangedError(path=file.path), self.resume)
        if commits and not listed:
            raise user_facing_error(ObjectNotFoundError(path=next(iter(commits))), self.resume)
        if not commits and isinstance(self.error, ObjectChangedError):
            raise user_facing_error(self.error, self.resume)

    def _original_error(self, files: Sequence[LogFile], failed: Checkpoint) -> HeadraceError:
        """Return the error: a checkpoint that is no longer listed has been cleaned up."""
        listed = {file.path for file in files}
        if all(file.path in listed for file in failed.files):
            return user_facing_error(self.error, self.resume)
        path = getattr(self.error, "path", failed.files[0].path)
        return user_facing_error(ObjectNotFoundError(path=path), self.resume)
