"""Divides the log of a stream into chunks: the files of its first snapshot, then of each commit.

The files of a chunk have a fixed order, so that an offset identifies the same file on every read.
"""

from collections.abc import Generator

import msgspec
import pyarrow as pa

from headrace.errors import ChangeDataMissingError
from headrace.phases.changes import ChangeRequest
from headrace.plan.batch import AddBatch
from headrace.protocol.action import Metadata
from headrace.protocol.log_file import LogFile
from headrace.rows.change_feed import changed_files, committed_ms, has_change_feed, inserted_files
from headrace.scan.arrow_files import arrow_files
from headrace.scan.commit import Commit, read_commits
from headrace.scan.compatibility import PinnedSchema, check_readable_by
from headrace.spark.file_group import FILE_COLUMNS
from headrace.spark.pinned_table import PinnedTable
from headrace.spark.source_option import SourceOptions
from headrace.spark.stream_offset import Offset, Part
from headrace.spark.stream_rule import appended
from headrace.table import Table

_FILE_ORDER = ("modified_ms", "path", "dv_id")
"""The order of a snapshot's files; their order in the log can vary."""


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a stream returns for one snapshot or commit."""

    start: Offset
    files: pa.Table

    def is_of(self, offset: Offset) -> bool:
        """Return whether an offset is within the chunk."""
        return (self.start.version, self.start.part) == (offset.version, offset.part)


class ChunkReader:
    """Reads the log for one stream."""

    def __init__(self, table: Table, *, pinned: PinnedTable, options: SourceOptions) -> None:
        self._table = table
        self._pinned = pinned
        self._options = options
        self._metadata_in_force: tuple[int, Metadata] | None = None
        """The metadata before the commit of a version, and that version."""

    def chunks(self, start: Offset, last_version: int) -> Generator[Chunk, None, None]:
        """Yield the chunks from an offset on, lazily.

        Raises:
            UnstreamableChangeError, SchemaChangedError, TableReplacedError: the stream cannot
                return a commit.
            ChangeDataMissingError: the changed rows of a commit are not recorded.
            LogGapError, VersionNotFoundError: the log no longer goes back that far.
        """
        first = start.version
        if start.part is Part.SNAPSHOT:
            yield self._snapshot(start)
            first += 1
        request = ChangeRequest(table=self._table.uri, start=first, end=last_version)
        for commit in read_commits(request, self._table.executor):
            self._check(commit)
            files = self._changed(commit) if self._options.read_change_feed else self._added(commit)
            yield Chunk(start=Offset(table=start.table, version=commit.version), files=files)

    def _snapshot(self, start: Offset) -> Chunk:
        snapshot = self._table.snapshot(version=start.version)
        columns = list(dict.fromkeys((*FILE_COLUMNS, *_FILE_ORDER)))
        scan = snapshot.scan()
        schema = scan.arrow_schema(columns=columns)
        files = pa.Table.from_batches(scan.batches(columns=columns), schema=schema)
        files = files.sort_by([(name, "ascending") for name in _FILE_ORDER]).select(FILE_COLUMNS)
        if self._options.read_change_feed:
            timestamp_ms = snapshot.timestamp_ms or 0
            files = inserted_files(files, version=start.version, timestamp_ms=timestamp_ms)
        snapshot_start = Offset(table=start.table, version=start.version, part=Part.SNAPSHOT)
        return Chunk(start=snapshot_start, files=files)

    def _added(self, commit: Commit) -> pa.Table:
        adds = appended(commit, tolerance=self._options.stream.tolerance, table=self._table.uri)
        batch = AddBatch(LogFile(path="", version=commit.version), adds)
        return pa.Table.from_batches([arrow_files(batch, self._pinned.context, FILE_COLUMNS)])

    def _changed(self, commit: Commit) -> pa.Table:
        metadata = self._metadata_at(commit)
        if not has_change_feed(metadata) and (commit.adds or commit.removes):
            raise ChangeDataMissingError(
                table=self._table.uri,
                version=commit.version,
                reason="delta.enableChangeDataFeed was not set",
            )
        return changed_files(
            commit,
            columns=FILE_COLUMNS,
            context=self._pinned.context,
            timestamp_ms=committed_ms(commit, metadata=metadata, table=self._table.uri),
        )

    def _metadata_at(self, commit: Commit) -> Metadata:
        """Return the metadata of a commit: its own, or that of the version before."""
        metadata = commit.metadata
        if metadata is None:
            if self._metadata_in_force is None or self._metadata_in_force[0] != commit.version:
                metadata = self._table.snapshot(version=commit.version).metadata
            else:
                metadata = self._metadata_in_force[1]
        self._metadata_in_force = (commit.version + 1, metadata)
        return metadata

    def _check(self, commit: Commit) -> None:
        pinned = self._pinned
        schema = PinnedSchema(
            table=self._table.uri,
            version=pinned.version,
            protocol=pinned.protocol,
            metadata=pinned.metadata,
            schema=pinned.request.schema,
        )
        check_readable_by(commit, pinned=schema)
