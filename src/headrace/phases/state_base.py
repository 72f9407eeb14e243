"""Reads and verifies the state of a Delta log, and uses it as the base if it is valid.

A state repeats what the log says. If anything is wrong with it, the log is read instead, and an
event reports it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from headrace.errors import HeadraceError, UnsafePathError
from headrace.log.segment import LogIndex, Segment
from headrace.log.state import State
from headrace.log.state_name import (
    MANIFEST_DIRECTORY,
    STATE_FILE,
    hint_path,
    parse_state_directory,
    state_path,
)
from headrace.metrics.event import StateAbandoned
from headrace.phases.phase import Consume, Phase
from headrace.phases.recovery import STATE_FAILURES, reason_without_prefix
from headrace.plan.batch import Batch, FileListing
from headrace.plan.node import Chain, ListFiles, Node, ScanAvro
from headrace.protocol.action import LastCheckpoint, Metadata
from headrace.protocol.action import Protocol as ProtocolAction
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import UNKNOWN_COUNT, StateManifest, decode_anchor

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_MAX_COMMITS = 4096
"""The most versions that a state may be old; an older state costs more than it saves."""
_UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Resumable(Protocol[T_co]):
    """A phase that needs protocol and metadata, and can take them from a state."""

    @property
    def segment(self) -> Segment: ...  # noqa: D102

    def on_state(self, segment: Segment, *, protocol: ProtocolAction, metadata: Metadata) -> Any:
        """Return the phase to continue with, on a segment whose base is a state."""


def hinted_version(root: str | None, documents: Mapping[str, bytes]) -> int | None:
    """Return the version of the state that the hint names; None without a usable hint."""
    content = None if root is None else documents.get(hint_path(root))
    if content is None:
        return None
    try:
        hinted = msgspec.json.decode(content, type=LastCheckpoint).version
    except _UNDECODABLE:
        return None
    return hinted if hinted >= 0 else None


def newest_state(files: Sequence[LogFile], *, version: int) -> int | None:
    """Return the version of the newest of the listed states that is not newer than `version`."""
    folders = (file.path.rsplit("/", 2) for file in files)
    versions = (
        parse_state_directory(names[-2])
        for names in folders
        if len(names) > 1 and names[-1] == STATE_FILE
    )
    return max((v for v in versions if v is not None and v <= version), default=None)


def first_to_list(checkpoint_version: int, state_version: int | None) -> int:
    """Return the version from which the log is listed: that of the checkpoint, or of the state."""
    if state_version is None or state_version < checkpoint_version - _MAX_COMMITS:
        return checkpoint_version
    return min(checkpoint_version, state_version)


def choose_state(  # noqa: PLR0913  (what a listing knows)
    root: str,
    version: int,
    *,
    table: str,
    index: LogIndex,
    log: Phase[T],
    resume: Resumable[T],
) -> Phase[T]:
    """Return the phase that reads the state, or `log`, which continues without it."""
    segment, commit = resume.segment, index.commits.get(version)
    path = state_path(root, version)
    newer = range(version + 1, segment.version + 1)
    reason = None
    if version > segment.version:
        reason = f"it is of version {version}, and the log ends at {segment.version}"
    elif commit is None or any(v not in index.commits for v in newer):
        reason = "its own commit, or commits after it, no longer exist"
    elif _is_costlier_than_checkpoint(segment, version, index):
        reason = f"the checkpoint of version {_checkpoint_version(segment)} is much newer"
    if reason is not None or commit is None:
        return _continue_with_log(log, StateAbandoned(table=table, path=path, reason=reason or ""))
    return ReadState(
        table=table,
        root=root,
        path=path,
        commit=commit,
        commits=index.commits,
        log=log,
        resume=resume,
    )


def _checkpoint_version(segment: Segment) -> int:
    return -1 if segment.checkpoint is None else segment.checkpoint.version


def _is_costlier_than_checkpoint(segment: Segment, version: int, index: LogIndex) -> bool:
    """Whether the commits from the state to a newer checkpoint are larger than the checkpoint."""
    base = segment.checkpoint
    if base is None or base.version <= version:
        return False
    between = range(version + 1, base.version + 1)
    return sum(index.commits[v].size_bytes for v in between) > base.size_bytes


def _continue_with_log(log: Phase[T], event: StateAbandoned) -> Phase[T]:
    """Continue with the log alone, and report why."""
    fields: dict[str, Any] = {"events": (*log.events, event)}
    segment = getattr(log, "segment", None)
    if segment is not None:
        fields["segment"] = replace(segment, abandoned=segment.abandoned + 1)
    return replace(log, **fields)


class ReadState(Consume[T], Generic[T], frozen=True, kw_only=True):
    """Reads a state, and makes it the base if it belongs to this log."""

    table: str
    root: str
    path: str
    commit: LogFile
    """The commit of its version, as listed now."""
    commits: dict[int, LogFile]
    log: Phase[T]
    """The phase to continue with if the state is unusable."""
    resume: Resumable[T]

    def plan(self) -> Node:
        """Read the state itself, and list its manifests, which scans read."""
        state = ScanAvro(files=(LogFile(path=self.path),), columns=("state",))
        return Chain(inputs=(state, ListFiles(directory=f"{self.root}/{MANIFEST_DIRECTORY}")))

    def next(self, data: Sequence[Batch]) -> Phase[T]:
        """Use the state if it is valid; else continue with the log."""
        listings = [batch for batch in data if isinstance(batch, FileListing)]
        batches = self.actions([batch for batch in data if not isinstance(batch, FileListing)])
        states = [state for batch in batches for state in batch.actions("state")]
        if len(states) != 1:
            return self._ignored("it does not contain exactly one state")
        manifest: StateManifest = states[0]
        if reason := self._why_untrusted(manifest):
            return self._ignored(reason)
        try:
            protocol = decode_action(manifest.protocol, "protocol", ProtocolAction)
            metadata = decode_action(manifest.metadata, "metaData", Metadata)
        except ValueError as error:
            return self._ignored(str(error))
        if protocol is None or metadata is None:
            return self._ignored("it lacks the table's protocol or metadata")
        state = State(root=self.root, file=LogFile(path=self.path), manifest=manifest)
        try:
            reason = self._why_incomplete(state, self.listed(listings))
        except UnsafePathError as error:
            reason = str(error)
        if reason is not None:
            return self._ignored(reason)
        segment = self.resume.segment.based_on(state, commits=self.commits)
        if segment is None:
            return self._ignored("commits after it are missing")
        phase: Phase[T] = self.resume.on_state(segment, protocol=protocol, metadata=metadata)
        return phase

    def _why_incomplete(self, state: State, files: Sequence[LogFile]) -> str | None:
        """Return why a scan could not read all manifests; None if they are there.

        A scan that finds this out after it has emitted files cannot start again without the state.

        Raises:
            UnsafePathError: a manifest's path leads out of the root.
        """
        listed = {file.path.rpartition("/")[2]: file.size_bytes for file in files}
        for info in state.manifest.manifests:
            path = state.manifest_file(info).path
            folder, _, name = path.rpartition("/")
            if folder != f"{self.root}/{MANIFEST_DIRECTORY}":
                continue
            if name not in listed:
                return f"its manifest {path} is missing"
            if info.length_bytes not in {UNKNOWN_COUNT, listed[name]}:
                lengths = f"{listed[name]} bytes, but its state records {info.length_bytes}"
                return f"its manifest {path} has {lengths}"
        return None

    def _why_untrusted(self, state: StateManifest) -> str | None:
        """Return why the state cannot be trusted; None if it can."""
        if state.state_version != self.commit.version:
            return f"it claims to be of version {state.state_version}"
        anchor, commit = decode_anchor(state.anchor), self.commit
        if anchor is None:
            return "it does not record the log it was made from"
        if not anchor.is_of(
            path=commit.path,
            size_bytes=commit.size_bytes,
            modified_ms=commit.modified_ms,
            etag=commit.etag,
        ):
            return "it was made from another log: its commit differs from the one listed"
        return None

    def failed(self, error: HeadraceError) -> Phase[T]:
        """Ignore a state that cannot be read."""
        if isinstance(error, STATE_FAILURES):
            return self._ignored(reason_without_prefix(self.path, error))
        raise error

    def _ignored(self, reason: str) -> Phase[T]:
        event = StateAbandoned(table=self.table, path=self.path, reason=reason)
        return _continue_with_log(self.log, event)


A = TypeVar("A")


def decode_action(text: str | None, name: str, kind: type[A]) -> A | None:
    """Decode an action that a state stores as JSON, bare or below its name; None for no text.

    Raises:
        ValueError: it cannot be decoded.
    """
    if text is None:
        return None
    try:
        value = msgspec.json.decode(text)
        if isinstance(value, dict) and isinstance(value.get(name), dict):
            value = value[name]
        return msgspec.convert(value, kind)
    except _UNDECODABLE as error:
        raise ValueError(f"its {name} cannot be decoded: {error}") from error
