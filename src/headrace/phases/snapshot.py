"""Takes a snapshot: hint → listing → (checksum) → protocol and metadata → `TableVersion`."""

from collections.abc import Sequence
from typing import Self

import msgspec
from msgspec.structs import replace

from headrace.errors import (
    CatalogManagedError,
    HeadraceError,
    InvalidTableError,
    LogGapError,
    TableError,
    TableNotFoundError,
    VersionNotFoundError,
)
from headrace.log.dialect import DELTA, Dialect
from headrace.log.name import HINT_PATH, LOG_DIRECTORY, first_name
from headrace.log.segment import Segment, index_log
from headrace.log.state_name import hint_path
from headrace.metrics.event import ChecksumIgnored, Event, HintIgnored
from headrace.phases.checkpoint import scan_checkpoint
from headrace.phases.phase import Consume, Phase, Terminus
from headrace.phases.recovery import contradiction, reason_without_prefix, recover
from headrace.phases.state_base import (
    choose_state,
    first_to_list,
    hinted_version,
    newest_state,
)
from headrace.plan.batch import Batch
from headrace.plan.node import (
    Chain,
    FirstOfEach,
    ListFiles,
    ListTree,
    Node,
    ReadDocument,
    ScanJson,
)
from headrace.protocol.action import Checksum, LastCheckpoint, Metadata, Protocol
from headrace.protocol.column_mapping import table_schema
from headrace.protocol.feature import check_readable, is_catalog_managed
from headrace.protocol.log_file import LogFile
from headrace.protocol.widening import check_followed


class TableVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a table: what to read, and how to interpret it."""

    table: str
    segment: Segment
    protocol: Protocol
    metadata: Metadata
    tail: tuple[LogFile, ...] | None = None
    checksum: Checksum | None = None
    """The writer's claims about exactly this version, if it has a `.crc` file."""
    dialect: Dialect = DELTA


class SnapshotRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The table, the version (None for the newest), and the commits that its catalog ratified."""

    table: str
    version: int | None = None
    tail: tuple[LogFile, ...] | None = None
    state_root: str | None = None
    """The folder of the table's states; None to use no state."""


class ReadHint(Consume[TableVersion], frozen=True, kw_only=True):
    """Reads `_last_checkpoint`, to list less. It is a hint: no result depends on it."""

    request: SnapshotRequest

    def plan(self) -> Node:
        """Read the hint, if it exists, and that of a state."""
        hint, root = ReadDocument(path=HINT_PATH), self.request.state_root
        return hint if root is None else Chain(inputs=(hint, ReadDocument(path=hint_path(root))))

    def expects(self) -> tuple[Node, ...]:
        """Expect the listing: whatever the hint says, a short log is listed as a whole."""
        return (ListFiles(directory=LOG_DIRECTORY),)

    def next(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        """List from the version in the hint, or everything."""
        documents = {document.path: document.content for document in self.documents(data)}
        request = self.request
        state = hinted_version(request.state_root, documents)
        listing = self._listing(documents.get(HINT_PATH))
        if state is None or request.state_root is None:
            return listing
        if request.version is not None and state > request.version:
            return ListStates(root=request.state_root, version=request.version, listing=listing)
        return listing.from_state(state)

    def _listing(self, content: bytes | None) -> "ListLog":
        """List from the checkpoint that the hint names, if it is not too new."""
        table, version = self.request.table, self.request.version
        if content is None:
            return ListLog(request=self.request)
        try:
            hint = msgspec.json.decode(content, type=LastCheckpoint)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            event = HintIgnored(table=table, reason=f"it cannot be decoded ({error})")
            return ListLog(request=self.request, events=(event,))
        if 0 < hint.version <= (hint.version if version is None else version):
            return ListLog(request=self.request, start=hint.version)
        return ListLog(request=self.request)

    def failed(self, error: HeadraceError) -> Phase[TableVersion]:
        """Ignore a hint that cannot be read."""
        event = HintIgnored(table=self.request.table, reason=str(error))
        return ListLog(request=self.request, unreported=(event,))


class ListStates(Consume[TableVersion], frozen=True, kw_only=True):
    """Lists the states of a table whose newest state is newer than the requested version."""

    root: str
    version: int
    listing: "ListLog"
    """The next phase."""

    def plan(self) -> Node:
        """List the folder of the states."""
        return ListTree(directory=self.root)

    def next(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        """List the log from the newest state that is old enough."""
        return self.listing.from_state(newest_state(self.listed(data), version=self.version))

    def failed(self, error: HeadraceError) -> Phase[TableVersion]:  # noqa: ARG002
        """Use no state."""
        return self.listing


class ListLog(Consume[TableVersion], frozen=True, kw_only=True):
    """Lists the log from a version on and builds the segment."""

    request: SnapshotRequest
    start: int = 0
    state_version: int | None = None
    """The version of the state to use, according to the hint or a listing."""
    unreported: tuple[Event, ...] = ()
    """Reported after the listing: if the store refuses that too, its error says the same."""

    def from_state(self, version: int | None) -> "ListLog":
        """List from a state on, too; None: there is none."""
        start = first_to_list(self.start, version) if self.start else 0
        return replace(self, start=start, state_version=version)

    def plan(self) -> Node:
        """List the names from the first name of the starting version on."""
        start_from = first_name(self.start) if self.start else ""
        return ListFiles(directory=LOG_DIRECTORY, start_from=start_from)

    def next(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        """Choose the base and the commits after it; after a wrong hint, list again."""
        phase = self._choose(data)
        return replace(phase, events=(*self.unreported, *phase.events))

    def _choose(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        request = self.request
        files = self.listed(data)
        index = index_log(files, table=request.table, tail=request.tail)
        try:
            segment = index.segment(request.version)
        except VersionNotFoundError:
            if self.start == 0:
                raise
            return replace(self, start=0)  # list the whole log
        except (TableNotFoundError, LogGapError):
            if self.start == 0 or index.base(request.version) is not None:
                raise
            # Commits before `start` were not listed, so it is not known whether they are missing.
            reason = f"version {self.start}, which it names, has no complete checkpoint"
            event = HintIgnored(table=request.table, reason=reason)
            return replace(self, start=0, events=(event,))
        if request.state_root is None or self.state_version is None:
            return read_table(request, segment)
        return choose_state(
            request.state_root,
            self.state_version,
            table=request.table,
            index=index,
            log=read_table(request, segment),
            resume=ReadProtocolAndMetadata(request=request, segment=segment),
        )


def read_table(
    request: SnapshotRequest, segment: Segment
) -> "ReadChecksum | ReadProtocolAndMetadata":
    """Return the phase that finds protocol and metadata, from the checksum file if there is one."""
    if segment.checksum is not None:
        return ReadChecksum(request=request, segment=segment, file=segment.checksum)
    return ReadProtocolAndMetadata(request=request, segment=segment)


class ReadChecksum(Consume[TableVersion], frozen=True, kw_only=True):
    """Reads the newest `.crc`, which contains protocol and metadata as of its version."""

    request: SnapshotRequest
    segment: Segment
    file: LogFile

    def plan(self) -> Node:
        """Read the whole file."""
        return ReadDocument(path=self.file.path)

    def expects(self) -> tuple[Node, ...]:
        """Expect the commits after it; if there are none, the commit that a scan begins with."""
        commits = self.segment.replay_newest_first
        newer = [file for file in commits if (file.version or 0) > (self.file.version or 0)]
        return (ScanJson(files=tuple(newer or commits[:1]), columns=("protocol", "metaData")),)

    def next(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        """Continue with the commits after it: only they may change protocol or metadata."""
        for document in self.documents(data):
            try:
                checksum = msgspec.json.decode(document.content, type=Checksum)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                return self._ignored(f"it cannot be decoded ({error})")
            if checksum.protocol is None or checksum.metadata is None:
                break
            assert self.file.version is not None
            return ReadProtocolAndMetadata(
                request=self.request,
                segment=self.segment,
                known=KnownMetadata(
                    version=self.file.version,
                    protocol=checksum.protocol,
                    metadata=checksum.metadata,
                    checksum=checksum,
                ),
            )
        return ReadProtocolAndMetadata(request=self.request, segment=self.segment)

    def failed(self, error: HeadraceError) -> Phase[TableVersion]:
        """Read the log instead."""
        return self._ignored(reason_without_prefix(self.file.path, error))

    def _ignored(self, reason: str) -> Phase[TableVersion]:
        event = ChecksumIgnored(table=self.request.table, path=self.file.path, reason=reason)
        return ReadProtocolAndMetadata(request=self.request, segment=self.segment, events=(event,))


class KnownMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """Protocol and metadata as of an earlier version: only newer commits may differ."""

    version: int
    protocol: Protocol
    metadata: Metadata
    checksum: Checksum | None = None


class ReadProtocolAndMetadata(Consume[TableVersion], frozen=True, kw_only=True):
    """Finds the newest protocol and the newest metadata independently."""

    request: SnapshotRequest
    segment: Segment
    known: KnownMetadata | None = None
    ignored_checksum: ChecksumIgnored | None = None
    """The event for a checksum file that would make the table unreadable."""

    def plan(self) -> Node:
        """Read commits newest first, then the checkpoint, until both are found."""
        columns = ("protocol", "metaData")
        if self.known is not None:
            commits = self.segment.commits_newest_first
            newer = tuple(f for f in commits if (f.version or 0) > self.known.version)
            return FirstOfEach(input=ScanJson(files=newer, columns=columns), columns=columns)
        commits = self.segment.replay_newest_first
        inputs: list[Node] = [ScanJson(files=commits, columns=columns)]
        if self.segment.checkpoint is not None:
            inputs.append(scan_checkpoint(self.segment.checkpoint, columns=columns))
        return FirstOfEach(input=Chain(inputs=tuple(inputs)), columns=columns)

    def next(self, data: Sequence[Batch]) -> Phase[TableVersion]:
        """Take the first of each, which is the newest, and reject unsupported tables."""
        batches = self.actions(data)
        if error := contradiction(batches, {"protocol": _same_subject, "metaData": _same_subject}):
            return recover(self, error)
        protocols = [p for batch in batches for p in batch.actions("protocol")]
        metadatas = [m for batch in batches for m in batch.actions("metaData")]
        if self.known is not None:
            protocols.append(self.known.protocol)
            metadatas.append(self.known.metadata)
        for name, actions in (("protocol", protocols), ("metaData", metadatas)):
            if not actions:
                reason = f"the log has no {name} action up to version {self.segment.version}"
                raise InvalidTableError(table=self.request.table, reason=reason)
        protocol, metadata, known = protocols[0], metadatas[0], self.known
        try:
            self._check_readable(protocol, metadata)
        except (TableError, ValueError) as refusal:
            if known is None or known.checksum is None:
                raise
            return self._without_checksum(refusal)
        exact = known is not None and known.version == self.segment.version
        return Terminus(
            TableVersion(
                table=self.request.table,
                segment=self.segment,
                protocol=protocol,
                metadata=metadata,
                tail=self.request.tail,
                checksum=known.checksum if known is not None and exact else None,
            ),
            () if self.ignored_checksum is None else (self.ignored_checksum,),
        )

    def _check_readable(self, protocol: Protocol, metadata: Metadata) -> None:
        table = self.request.table
        check_readable(protocol, table=table)
        if self.request.tail is None and is_catalog_managed(protocol):
            raise CatalogManagedError(table=table)
        if self.known is not None and self.known.checksum is not None:
            # Otherwise the schema is checked when it is needed. That is too late to read the log.
            check_followed(table_schema(protocol, metadata), table=table)

    def _without_checksum(self, refusal: Exception) -> Phase[TableVersion]:
        """Read the log again: only the log may make a table unreadable, not a checksum file."""
        assert self.segment.checksum is not None
        table = self.request.table
        refusal_reason = reason_without_prefix(table, refusal)
        reason = (
            f"it would make the table unreadable, so the log is read instead ({refusal_reason})"
        )
        ignored_checksum = ChecksumIgnored(
            table=table, path=self.segment.checksum.path, reason=reason
        )
        return ReadProtocolAndMetadata(
            request=self.request, segment=self.segment, ignored_checksum=ignored_checksum
        )

    def failed(self, error: HeadraceError) -> Phase[TableVersion]:
        """Fall back to an older base if the checkpoint is unreadable."""
        return recover(self, error)

    def rebased(self, segment: Segment, events: tuple[Event, ...]) -> Phase[TableVersion]:
        """Return the same phase for another segment of the same version."""
        return msgspec.structs.replace(self, segment=segment, events=events)

    def on_state(self, segment: Segment, *, protocol: Protocol, metadata: Metadata) -> Self:
        """Return the same phase for a segment whose state has both as of its version."""
        assert segment.state is not None
        known = KnownMetadata(version=segment.state.version, protocol=protocol, metadata=metadata)
        return replace(self, segment=segment, known=known)


def _same_subject(_: object) -> None:
    """Identify an action that a table has only once."""
