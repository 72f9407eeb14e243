"""Scans a version: commits newest first, then the checkpoint or its sidecars.

Commit replay is sequential: it fills the seen set. Later phases only probe the frozen set, so
that any thread or machine may read their leaves in any order.
"""

from collections.abc import Sequence
from enum import Enum
from urllib.parse import unquote

import msgspec

from headrace.errors import CorruptCheckpointError, HeadraceError, ObjectNotFoundError
from headrace.log.dialect import StateRole
from headrace.log.name import SIDECAR_DIRECTORY
from headrace.log.segment import Segment
from headrace.metrics.event import CompactionAbandoned, Event, StateAbandoned
from headrace.phases.checkpoint import may_have_sidecars, scan_files
from headrace.phases.phase import Consume, Parallel, Phase, Sequential, Terminus
from headrace.phases.recovery import (
    STATE_FAILURES,
    OlderBase,
    reason_without_prefix,
    recover,
    user_facing_error,
)
from headrace.phases.scan_request import ScanOutcome, ScanRequest
from headrace.plan.batch import Batch
from headrace.plan.node import (
    Chain,
    CollectKeys,
    DropSeen,
    FirstOfEach,
    Node,
    RecordSeen,
    ScanAvro,
    ScanJson,
    SkipFiles,
)
from headrace.protocol.action import Sidecar
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import Tombstones
from headrace.replay.projection import KEY_COLUMNS, add_columns, commit_columns
from headrace.replay.seen import FrozenSeenSet, SeenSet

_HELD_BYTES = 32 << 20
"""Manifests of at most this size in total are checked before the first file is emitted."""


class CommitReplay(Sequential[ScanOutcome], frozen=True, kw_only=True):
    """Replays commits, newest first, and fills the seen set."""

    request: ScanRequest
    segment: Segment
    commits: tuple[LogFile, ...]
    seen: SeenSet = msgspec.field(default_factory=SeenSet)

    def plan(self) -> Node:
        """Deduplicate, then prune: a pruned add must still hide the older adds of its key."""
        request = self.request
        columns = commit_columns(request.projection, predicate=request.predicate)
        files = ScanJson(files=self.commits, columns=columns)
        return _skipping(RecordSeen(input=files, seen=self.seen), request)

    def next(self) -> Phase[ScanOutcome]:
        """Freeze the complete set, and continue with the checkpoint."""
        seen = self.seen.freeze()
        if self.segment.base is None:
            return Terminus(ScanOutcome(request=self.request, seen=seen))
        return replay_checkpoint(self.request, self.segment, seen)

    def expects(self) -> tuple[Node, ...]:
        """Expect the checkpoint: its footers are read in any case, its adds in a whole scan."""
        return _expected_checkpoint(self.request, self.segment)

    def failed(self, error: HeadraceError, *, given: int) -> Phase[ScanOutcome]:  # noqa: ARG002
        """Replace an unusable compaction file by the commits that it summarises.

        A compaction file is read as a whole, so none of its adds has been emitted yet.
        """
        path = getattr(error, "path", None)
        for file in self.commits:
            if file.path == path and file.compacted is not None:
                _, last = file.compacted
                older = self.segment.commits_newest_first
                event = CompactionAbandoned(
                    table=self.request.table, path=path, reason=reason_without_prefix(path, error)
                )
                return CommitReplay(
                    request=self.request,
                    segment=self.segment.without_compactions(),
                    commits=tuple(c for c in older if (c.version or 0) <= last),
                    seen=self.seen.without(path),
                    events=(event,),
                )
        raise user_facing_error(error, self)


class Afterwards(Enum):
    """What is read after the checkpoint."""

    NOTHING = "nothing"
    COMMITS = "commits"


class CheckpointManifest(Consume[ScanOutcome], frozen=True, kw_only=True):
    """Reads the sidecars that a checkpoint names, then checks for adds in its own files.

    File actions should be either all in sidecars, or all in the checkpoint itself. If they are in
    both, ignoring some would lose files, and checking costs nothing if there are none.
    """

    request: ScanRequest
    segment: Segment
    seen: FrozenSeenSet
    afterwards: Afterwards = Afterwards.NOTHING
    sidecars: tuple[LogFile, ...] = ()
    """The sidecars that it names."""

    @property
    def _own_files(self) -> tuple[LogFile, ...]:
        assert self.segment.checkpoint is not None
        return self.segment.checkpoint.files

    def plan(self) -> Node:
        """Read only the `sidecar` column, which a version 1 checkpoint does not have; then adds."""
        if self.sidecars:
            adds = scan_files(self._own_files, columns=("add.path", "add.size"))
            return FirstOfEach(input=adds, columns=("add",))  # one is enough
        return scan_files(self._own_files, columns=("sidecar",))

    def next(self, data: Sequence[Batch]) -> Phase[ScanOutcome]:
        """Continue with the files that contain the file actions."""
        batches = self.actions(data)
        if not self.sidecars:
            try:
                named = [sidecar for batch in batches for sidecar in batch.actions("sidecar")]
            except CorruptCheckpointError as error:
                return self.failed(error)
            sidecars = {file.path: file for file in map(_sidecar_file, named)}
            if sidecars:
                return msgspec.structs.replace(self, sidecars=tuple(sidecars.values()))
        inline = not self.sidecars or any(len(batch.actions("add")) for batch in batches)
        kind = SidecarReplay if self.sidecars else CheckpointReplay
        return kind(
            request=self.request,
            segment=self.segment,
            seen=self.seen,
            files=self.sidecars + (self._own_files if inline else ()),
            afterwards=self.afterwards,
        )

    def failed(self, error: HeadraceError) -> Phase[ScanOutcome]:
        """Fall back to an older base if the checkpoint is unreadable."""
        return recover(self, error)

    def rebased(self, segment: Segment, events: tuple[Event, ...]) -> Phase[ScanOutcome]:
        """Continue without this checkpoint."""
        return _rebased(self, segment, events)


class CheckpointReplay(Parallel[ScanOutcome], frozen=True, kw_only=True):
    """Reads the adds of a checkpoint, except the keys that newer commits contain."""

    request: ScanRequest
    segment: Segment
    seen: FrozenSeenSet
    files: tuple[LogFile, ...]
    afterwards: Afterwards = Afterwards.NOTHING

    def plan(self) -> Node:
        """Return all leaves, one after the other."""
        return Chain(inputs=self.leaves())

    def leaves(self) -> tuple[Node, ...]:
        """Return one leaf per file. Pruning is first here: it is cheap, and order is irrelevant."""
        request = self.request
        columns = add_columns(request.projection, predicate=request.predicate)
        output_columns = add_columns(request.projection, predicate=None)
        return tuple(
            DropSeen(
                input=_skipping(
                    scan_files((file,), columns=columns), request, output_columns=output_columns
                ),
                seen=self.seen,
            )
            for file in self.files
        )

    def next(self) -> Phase[ScanOutcome]:
        """End the scan, or replay the commits whose keys were collected before."""
        if self.afterwards is Afterwards.COMMITS:
            commits = msgspec.structs.replace(self.segment, checkpoint=None, state=None)
            return plan_scan(self.request, commits)
        return Terminus(ScanOutcome(request=self.request, seen=self.seen))

    def failed(self, error: HeadraceError, *, given: int) -> Phase[ScanOutcome]:
        """Fall back to an older base if nothing was emitted yet; it has the same result."""
        if given:
            raise user_facing_error(error, self)
        return recover(self, error)

    def rebased(self, segment: Segment, events: tuple[Event, ...]) -> Phase[ScanOutcome]:
        """Continue without this checkpoint."""
        return _rebased(self, segment, events)


class SidecarReplay(CheckpointReplay, frozen=True, kw_only=True):
    """Reads the adds of a V2 checkpoint from its sidecars."""

    def failed(self, error: HeadraceError, *, given: int) -> Phase[ScanOutcome]:
        """Treat a missing sidecar as damage, unless its checkpoint was also cleaned up."""
        if isinstance(error, ObjectNotFoundError):
            error = CorruptCheckpointError(path=error.path, reason="the sidecar is missing")
            if self.segment.with_state is not None and not given:
                return recover(self, error)
            return OlderBase(resume=self, error=error, too_late=given > 0)
        return super().failed(error, given=given)


class StateReplay(CheckpointReplay, frozen=True, kw_only=True):
    """Reads the entries of a state, except those that tombstones and newer commits hide."""

    def leaves(self) -> tuple[Node, ...]:
        """Return one leaf per manifest. The engine prunes manifests by their bounds."""
        request, state = self.request, self.segment.state
        assert state is not None
        columns = add_columns(request.projection, predicate=request.predicate)
        output_columns = add_columns(request.projection, predicate=None)
        tombstones = Tombstones.of(state.manifest)
        keeps_maps = request.dialect.state_role is StateRole.COMMIT
        is_replaceable = self.segment.without_state is not None and request.stops_after is None
        return tuple(
            DropSeen(
                input=_skipping(
                    ScanAvro(
                        files=(state.manifest_file(info),),
                        columns=columns,
                        manifests=(info,),
                        tombstones=tombstones,
                        predicate=request.predicate,
                        statistics_schema=request.physical_schema if keeps_maps else None,
                        held_bytes=_HELD_BYTES if is_replaceable else 0,
                    ),
                    request,
                    output_columns=output_columns,
                ),
                seen=self.seen,
            )
            for info in state.manifest.manifests
        )

    def failed(self, error: HeadraceError, *, given: int) -> Phase[ScanOutcome]:
        """Read the log instead, if it describes the same version and nothing was emitted."""
        state, log = self.segment.state, self.segment.without_state
        if given or state is None or log is None or not isinstance(error, STATE_FAILURES):
            raise error
        path = getattr(error, "path", state.file.path)
        reason = reason_without_prefix(path, error)
        event = StateAbandoned(table=self.request.table, path=path, reason=reason)
        segment = msgspec.structs.replace(log, abandoned=self.segment.abandoned + 1)
        return self.rebased(segment, (event,))


class KeyCollection(Consume[ScanOutcome], frozen=True, kw_only=True):
    """Forward scan: reads the keys of all commits first, so that the checkpoint can be next."""

    request: ScanRequest
    segment: Segment
    seen: SeenSet = msgspec.field(default_factory=SeenSet)

    def plan(self) -> Node:
        """Read the keys of the files that are replayed later."""
        files = ScanJson(files=self.segment.replay_newest_first, columns=KEY_COLUMNS)
        return CollectKeys(input=files, seen=self.seen)

    def expects(self) -> tuple[Node, ...]:
        """Expect the checkpoint, as a scan in the other order does."""
        return _expected_checkpoint(self.request, self.segment)

    def next(self, data: Sequence[Batch]) -> Phase[ScanOutcome]:  # noqa: ARG002  (there is none)
        """Continue with the checkpoint; the commits follow it."""
        seen = self.seen.freeze()
        return replay_checkpoint(self.request, self.segment, seen, Afterwards.COMMITS)

    def failed(self, error: HeadraceError) -> Phase[ScanOutcome]:
        """Replace a compaction file by its commits, which have no other source."""
        return recover(self, error)

    def rebased(self, segment: Segment, events: tuple[Event, ...]) -> Phase[ScanOutcome]:
        """Start again: nothing has been emitted."""
        return plan_forward_scan(self.request, segment, events=events)


def plan_scan(request: ScanRequest, segment: Segment) -> CommitReplay:
    """Return the first phase of a scan that emits the newest files first."""
    return CommitReplay(
        request=request,
        segment=segment,
        commits=segment.replay_newest_first,
        seen=SeenSet(memory_limit_bytes=request.memory_limit_bytes),
    )


def plan_forward_scan(
    request: ScanRequest, segment: Segment, *, events: tuple[Event, ...] = ()
) -> Phase[ScanOutcome]:
    """Return the first phase of a scan that emits the checkpoint's files first."""
    if segment.base is None:
        return msgspec.structs.replace(plan_scan(request, segment), events=events)
    seen = SeenSet(memory_limit_bytes=request.memory_limit_bytes)
    return KeyCollection(request=request, segment=segment, seen=seen, events=events)


def replay_checkpoint(
    request: ScanRequest,
    segment: Segment,
    seen: FrozenSeenSet,
    afterwards: Afterwards = Afterwards.NOTHING,
) -> Phase[ScanOutcome]:
    """Return the phase that reads the base of a segment, except the keys in the set."""
    if segment.state is not None:
        return StateReplay(
            request=request, segment=segment, seen=seen, files=(), afterwards=afterwards
        )
    assert segment.checkpoint is not None
    if may_have_sidecars(segment.checkpoint):
        return CheckpointManifest(
            request=request, segment=segment, seen=seen, afterwards=afterwards
        )
    return CheckpointReplay(
        request=request,
        segment=segment,
        seen=seen,
        files=segment.checkpoint.files,
        afterwards=afterwards,
    )


def _expected_checkpoint(request: ScanRequest, segment: Segment) -> tuple[Node, ...]:
    """Return the footers of the checkpoint, and its adds if the scan takes all of them."""
    base = segment.checkpoint
    if base is None:
        return ()
    if request.stops_after is not None:
        return (scan_files(base.files, columns=()),)
    columns = add_columns(request.projection, predicate=request.predicate)
    return (_skipping(scan_files(base.files, columns=columns), request),)


def _sidecar_file(sidecar: Sidecar) -> LogFile:
    return LogFile(
        # All sidecars are in one folder, so only the last part of the path counts.
        path=f"{SIDECAR_DIRECTORY}/{unquote(sidecar.path).rpartition('/')[2]}",
        size_bytes=sidecar.size_in_bytes,
        # The checkpoint's writer reports the time, not the store: it proves nothing.
        modified_ms=0,
    )


def _skipping(
    node: Node, request: ScanRequest, *, output_columns: tuple[str, ...] | None = None
) -> Node:
    if request.predicate is None:
        return node
    return SkipFiles(input=node, predicate=request.predicate, output_columns=output_columns)


def _rebased(
    phase: CheckpointManifest | CheckpointReplay, older: Segment, events: tuple[Event, ...]
) -> CommitReplay:
    """Replay the commits between the older base and the failed one, still newest first."""
    if phase.afterwards is Afterwards.COMMITS:  # nothing has been emitted at all
        return msgspec.structs.replace(plan_scan(phase.request, older), events=events)
    failed = phase.segment.base
    assert failed is not None
    below = tuple(c for c in older.commits_newest_first if (c.version or 0) <= failed.version)
    return CommitReplay(
        request=phase.request,
        segment=older,
        commits=below,
        seen=phase.seen.thaw(),
        events=events,
    )
