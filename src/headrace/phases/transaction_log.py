"""Takes a snapshot of an IndexTables table: listing → state or checkpoint → metadata.

Here a state is a commit: if one is damaged, or references a missing file, the error names the file,
and there is no fallback.
"""

import zlib
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from headrace.errors import (
    CorruptCheckpointError,
    CorruptStateError,
    HeadraceError,
    InvalidTableError,
    ObjectNotFoundError,
    TimestampNotFoundError,
    UnsupportedFeatureError,
)
from headrace.log.checkpoint import Checkpoint
from headrace.log.dialect import INDEXTABLES
from headrace.log.name import CheckpointKind
from headrace.log.segment import Segment
from headrace.log.state import State
from headrace.log.state_name import STATE_FILE
from headrace.log.transaction_log import BaseChoice, TransactionLog, index_transaction_log
from headrace.metrics.event import LegacyCheckpointRead
from headrace.phases.checkpoint import scan_checkpoint
from headrace.phases.phase import Consume, Phase, Terminus
from headrace.phases.snapshot import SnapshotRequest, TableVersion
from headrace.phases.state_base import decode_action
from headrace.plan.batch import Batch
from headrace.plan.node import Chain, ListTree, Node, ReadDocument, ScanAvro, ScanJson
from headrace.protocol.action import Metadata, Protocol
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import StateManifest
from headrace.protocol.version_file import inflate

_NEWEST_PROTOCOL = 4
_FILES_AT_ONCE = 16
_COLUMNS = ("protocol", "metaData")


class ListTransactionLog(Consume[TableVersion], frozen=True, kw_only=True):
    """Lists `_transaction_log` and chooses the base and the version files to read."""

    request: SnapshotRequest
    as_of_ms: int | None = None

    def plan(self) -> Node:
        """List the folders of states and the version files."""
        return ListTree(directory=INDEXTABLES.log_directory)

    def next(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        """Choose the newest base up to the requested version, and the version files after it."""
        log = index_transaction_log(self.listed(data), table=self.request.table)
        version = self.request.version
        if self.as_of_ms is not None and log.versions:
            version = log.version_at(self.as_of_ms)
            if version is None:
                raise self._too_early(log)
        choice = log.choose(version)
        if choice.state is not None:
            return ReadCommittedState(request=self.request, log=log, choice=choice)
        if choice.checkpoint is not None:
            return ReadLegacyCheckpoint(request=self.request, log=log, choice=choice)
        return FindMetadata(request=self.request, log=log, segment=_segment(choice))

    def _too_early(self, log: TransactionLog) -> TimestampNotFoundError:
        assert self.as_of_ms is not None
        first = log.versions[0]
        file = log.commits.get(first) or log.states.get(first) or log.checkpoints[first]
        return TimestampNotFoundError(
            table=self.request.table,
            timestamp_ms=self.as_of_ms,
            oldest_ms=file.modified_ms,
        )


def _segment(choice: BaseChoice) -> Segment:
    commits = choice.commits_newest_first
    newest = commits[0] if commits else choice.state
    return Segment(version=choice.version, commits_newest_first=commits, commit=newest)


class ReadCommittedState(Consume[TableVersion], frozen=True, kw_only=True):
    """Reads the state that a version is based on."""

    request: SnapshotRequest
    log: TransactionLog
    choice: BaseChoice

    def plan(self) -> Node:
        """Read the state; scans read its manifests."""
        assert self.choice.state is not None
        return ScanAvro(files=(self.choice.state,), columns=("state",))

    def next(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        """Make the state the base.

        Raises:
            CorruptStateError: it claims another version, or a manifest is missing.
            VersionNotFoundError: it may hold the files of a later version.
        """
        file = self.choice.state
        assert file is not None
        (manifest,) = (state for batch in self.actions(data) for state in batch.actions("state"))
        if manifest.state_version != file.version:
            reason = f"it claims to be of version {manifest.state_version}"
            raise CorruptStateError(path=file.path, reason=reason)
        self.log.check_base(manifest, version=self.choice.version)
        state = State(root=INDEXTABLES.state_root, file=file, manifest=manifest)
        for info in manifest.manifests:
            path = state.manifest_file(info).path
            if path not in self.log.files:
                reason = f"{file.path} names this manifest, but it is missing"
                raise CorruptStateError(path=path, reason=reason)
        segment = replace(_segment(self.choice), state=state)
        return FindMetadata(request=self.request, log=self.log, segment=segment)

    def failed(self, error: HeadraceError) -> Phase[TableVersion]:
        """Report a listed state that is gone as missing; no other version can replace it."""
        if isinstance(error, ObjectNotFoundError):
            raise CorruptStateError(path=error.path, reason="the state is missing") from error
        raise error


class _Parts(msgspec.Struct, frozen=True, rename="camel"):
    """The first line of a checkpoint that consists of parts."""

    checkpoint_id: str | None = None
    parts: list[str] = []


class ReadLegacyCheckpoint(Consume[TableVersion], frozen=True, kw_only=True):
    """Reads a JSON checkpoint to find its parts."""

    request: SnapshotRequest
    log: TransactionLog
    choice: BaseChoice

    def plan(self) -> Node:
        """Read the checkpoint, or the list of its parts: both have the same name."""
        assert self.choice.checkpoint is not None
        return ReadDocument(path=self.choice.checkpoint.path)

    def next(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        """Make its files the base, and report that they have an old format."""
        file = self.choice.checkpoint
        assert file is not None
        documents = self.documents(data)
        if not documents:
            raise CorruptCheckpointError(path=file.path, reason="the checkpoint is missing")
        checkpoint = Checkpoint(
            version=self.choice.base_version,
            kind=CheckpointKind.MULTI_PART,  # from here on, none of its files names others
            files=self._files(documents[0].content, file),
        )
        event = LegacyCheckpointRead(table=self.request.table, path=file.path)
        segment = replace(_segment(self.choice), checkpoint=checkpoint)
        return FindMetadata(request=self.request, log=self.log, segment=segment, events=(event,))

    def _files(self, content: bytes, file: LogFile) -> tuple[LogFile, ...]:
        try:
            first = inflate(content).split(b"\n", 1)[0]
            header = msgspec.json.decode(first, type=_Parts)
        except (ValueError, RecursionError, zlib.error) as error:
            raise CorruptCheckpointError(path=file.path, reason=str(error)) from error
        if header.checkpoint_id is None:
            return (file,)
        folder = INDEXTABLES.log_directory
        paths = [f"{folder}/{name.rpartition('/')[2]}" for name in header.parts]
        missing = [path for path in paths if path not in self.log.files]
        if missing or not paths:
            reason = f"its part {missing[0]} is missing" if missing else "it names no part"
            raise CorruptCheckpointError(path=file.path, reason=reason)
        return tuple(self.log.files[path] for path in paths)


class FindMetadata(Consume[TableVersion], frozen=True, kw_only=True):
    """Finds protocol and metadata: in newer version files, the state, then older states and files.

    Many states do not repeat the metadata. Then the newest state or version file up to the base
    that has it is used. A state of version 0 is considered last: a purge may have written it with
    the content of a later version.
    """

    request: SnapshotRequest
    log: TransactionLog
    segment: Segment
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    files_read: int | None = None
    """The number of older files read; None before the base and newer files have been read."""

    def plan(self) -> Node:
        """Read some more files, newest first."""
        segment = self.segment
        if self.files_read is None:
            newer: list[Node] = [ScanJson(files=segment.commits_newest_first, columns=_COLUMNS)]
            if segment.checkpoint is not None:
                newer.append(scan_checkpoint(segment.checkpoint, columns=_COLUMNS))
            return Chain(inputs=tuple(newer))
        return Chain(
            inputs=tuple(
                ScanAvro(files=(file,), columns=("state",))
                if file.path.endswith(STATE_FILE)
                else ScanJson(files=(file,), columns=_COLUMNS)
                for file in self._next_files
            )
        )

    @property
    def _next_files(self) -> tuple[LogFile, ...]:
        assert self.files_read is not None
        return self._older_files[self.files_read : self.files_read + _FILES_AT_ONCE]

    @property
    def _older_files(self) -> tuple[LogFile, ...]:
        """The states before the base and the version files up to it, newest first."""
        log, base = self.log, self.segment.base
        newest = self.segment.version if base is None else base.version
        ranked = [((v, 1), file) for v, file in log.commits.items() if v <= newest]
        ranked += [((v, 0), file) for v, file in log.states.items() if v < newest]
        return tuple(
            file for _, file in sorted(ranked, key=lambda ranking: ranking[0], reverse=True)
        )

    def next(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        """Take the newest values; continue if one is still missing."""
        protocol, metadata = self.protocol, self.metadata
        for batch in self.actions(data):
            for manifest in batch.actions("state"):
                metadata = metadata or self._metadata_of(manifest, batch.source.path)
            protocol = protocol or next(iter(batch.actions("protocol")), None)
            metadata = metadata or next(iter(batch.actions("metaData")), None)
        state = self.segment.state
        if self.files_read is None and state is not None:
            manifest = state.manifest
            metadata = metadata or self._metadata_of(manifest, state.file.path)
            protocol = protocol or self._protocol_of(manifest, state.file.path)
        if protocol is not None and metadata is not None:
            return self._terminus(protocol, metadata)
        files_read = 0 if self.files_read is None else self.files_read + _FILES_AT_ONCE
        if files_read >= len(self._older_files):
            reason = f"the log has no {'protocol' if protocol is None else 'metaData'} action"
            raise InvalidTableError(table=self.request.table, reason=reason)
        return replace(self, protocol=protocol, metadata=metadata, files_read=files_read, events=())

    def _metadata_of(self, manifest: StateManifest, path: str) -> Metadata | None:
        try:
            return decode_action(manifest.metadata, "metaData", Metadata)
        except ValueError as error:
            raise CorruptStateError(path=path, reason=str(error)) from error

    def _protocol_of(self, manifest: StateManifest, path: str) -> Protocol:
        try:
            protocol = decode_action(manifest.protocol, "protocol", Protocol)
        except ValueError as error:
            raise CorruptStateError(path=path, reason=str(error)) from error
        version = manifest.protocol_version
        return protocol or Protocol(min_reader_version=version, min_writer_version=version)

    def _terminus(self, protocol: Protocol, metadata: Metadata) -> Phase[TableVersion]:
        if protocol.min_reader_version > _NEWEST_PROTOCOL:
            features = [f"IndexTables reader version {protocol.min_reader_version}"]
            raise UnsupportedFeatureError(table=self.request.table, features=features)
        return Terminus(
            TableVersion(
                table=self.request.table,
                segment=self.segment,
                protocol=protocol,
                metadata=metadata,
                dialect=INDEXTABLES,
            )
        )
