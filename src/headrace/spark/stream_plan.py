"""Determines the files between two offsets, and the extent of a micro-batch.

A chunk that a micro-batch takes only partly is cached, and so are the files that were planned last:
while a stream runs, nothing is read twice. The cache does not affect results: after a restart the
same offsets return the same files.
"""

from collections.abc import Generator, Iterator
from contextlib import closing
from datetime import datetime, timedelta

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec.structs import replace

from headrace.errors import (
    HeadraceError,
    InvalidArgumentError,
    TableReplacedError,
    TimestampNotFoundError,
    VersionNotFoundError,
)
from headrace.log.name import LOG_DIRECTORY
from headrace.log.segment import index_log
from headrace.plan.node import ListFiles
from headrace.spark.pinned_table import PinnedTable
from headrace.spark.source_option import LATEST, BatchLimits, SourceOptions
from headrace.spark.stream_chunk import Chunk, ChunkReader
from headrace.spark.stream_offset import Offset, Part
from headrace.table import Snapshot

_TICK = timedelta(milliseconds=1)
"""The log stores times in milliseconds."""


class StreamPlan:
    """Plans the micro-batches of one stream, on the driver."""

    def __init__(self, pinned: PinnedTable, options: SourceOptions) -> None:
        """Take the pinned schema; nothing is read."""
        self._pinned = pinned
        self._options = options
        self._table = pinned.table()
        self._reader = ChunkReader(self._table, pinned=pinned, options=options)
        self._newest: Snapshot | None = None
        self._partial_chunk: Chunk | None = None
        self._planned: tuple[Offset, Offset, list[pa.Table]] | None = None

    def beginning(self) -> Offset:
        """Return the offset of a stream without a checkpoint, always the same."""
        return Offset(table=self._pinned.metadata.id, version=0, part=Part.BEGINNING)

    def first_offset(self, newest: int) -> Offset:
        """Resolve the beginning, given the newest version that the stream may read."""
        table, stream = self._pinned.metadata.id, self._options.stream
        if stream.starting_timestamp is not None:
            return Offset(table=table, version=self._first_since(stream.starting_timestamp))
        if stream.starting_version == LATEST:
            return Offset(table=table, version=newest + 1)
        if stream.starting_version is not None:
            if stream.starting_version > newest + 1:
                raise VersionNotFoundError(
                    table=self._table.uri,
                    version=stream.starting_version,
                    newest=newest,
                )
            return Offset(table=table, version=stream.starting_version)
        return Offset(table=table, version=newest, part=Part.SNAPSHOT)

    def newest_version(self) -> int:
        """Return the newest version."""
        if self._newest is None:
            self._newest = self._table.snapshot()
        else:
            self._newest = self._newest.refresh()
        return self._newest.version

    def advance(self, start: Offset, *, limits: BatchLimits, last_version: int) -> Offset:
        """Return the end of a micro-batch that starts at an offset, within a version and limits.

        Raises:
            TableReplacedError: the offset belongs to another table.
            HeadraceError: as `ChunkReader.chunks`, after everything before the commit in question
                has been returned.
        """
        self._check(start)
        if start.part is Part.BEGINNING:
            first = self.first_offset(last_version)
            end, files = self._take(first, limits=limits, last_version=last_version)
            end = replace(end, first=first)
        else:
            end, files = self._take(start, limits=limits, last_version=last_version)
        self._planned = (start, end, files)
        return end

    def _take(
        self, start: Offset, *, limits: BatchLimits, last_version: int
    ) -> tuple[Offset, list[pa.Table]]:
        """Return the files of a micro-batch, and where it ends."""
        size, end = _BatchSize(), start
        files: list[pa.Table] = []
        with closing(self._chunks(start, last_version)) as chunks:
            while (chunk := self._next(chunks, or_stop=end != start)) is not None:
                first = start.index if chunk.is_of(start) else 0
                room = size.room(chunk.files, first, limits)
                files.append(chunk.files.slice(first, room))
                size.take(files[-1])
                if first + room < chunk.files.num_rows:
                    end = replace(chunk.start, index=first + room)
                    self._partial_chunk = chunk
                    break
                end, self._partial_chunk = chunk.start.after(), None
                size.versions += chunk.start.part is Part.COMMITS
                if size.reaches(limits):
                    break
        return end, files

    def files(self, start: Offset, end: Offset) -> list[pa.Table]:
        """Return the files from one offset to another.

        Raises:
            TableReplacedError: the offsets belong to another table.
            InvalidArgumentError: the first offset is the beginning, and the last does not say which
                offset that was.
            HeadraceError: as `ChunkReader.chunks`.
        """
        if self._planned is not None and self._planned[:2] == (start, end):
            return self._planned[2]
        self._check(end)
        if start.part is Part.BEGINNING:
            if end.first is None:
                reason = "its first micro-batch does not say where the stream began: use a new one"
                raise InvalidArgumentError(argument="checkpoint", reason=reason)
            start = end.first
        self._check(start)
        tables: list[pa.Table] = []
        last_version = end.version if end.index else end.version - 1
        with closing(self._chunks(start, last_version)) as chunks:
            for chunk in chunks:
                first = start.index if chunk.is_of(start) else 0
                stop = end.index if chunk.is_of(end) else chunk.files.num_rows
                tables.append(chunk.files.slice(first, max(stop - first, 0)))
                if chunk.is_of(end):
                    break
        return tables

    def _chunks(self, start: Offset, last_version: int) -> Generator[Chunk, None, None]:
        """Yield the chunks from an offset on, the first from the cache if it is there."""
        partial = self._partial_chunk
        if partial is not None and partial.is_of(start):
            yield partial
            start = partial.start.after()
        yield from self._reader.chunks(start, last_version)

    def _next(self, chunks: Iterator[Chunk], *, or_stop: bool) -> Chunk | None:
        """Return the next chunk; None at the end and, with `or_stop`, before one that fails."""
        try:
            return next(chunks, None)
        except HeadraceError:
            if or_stop:
                return None
            raise

    def _check(self, offset: Offset) -> None:
        table_id = self._pinned.metadata.id
        if offset.table != table_id:
            raise TableReplacedError(table=self._table.uri, expected=offset.table, found=table_id)

    def _first_since(self, moment: datetime) -> int:
        """Return the first version that was committed at or after a time."""
        try:
            return self._table.snapshot(as_of=moment - _TICK).version + 1
        except TimestampNotFoundError:
            listings = self._table.executor.execute(ListFiles(directory=LOG_DIRECTORY))
            files = [file for listing in listings for file in listing.files]  # type: ignore[union-attr]
            return min(index_log(files, table=self._table.uri).commits)


class _BatchSize(msgspec.Struct):
    """The size of a micro-batch so far."""

    files: int = 0
    size_bytes: int = 0
    versions: int = 0

    def room(self, files: pa.Table, first: int, limits: BatchLimits) -> int:
        """Return how many files, from `first` on, fit into the limits."""
        sizes = _sizes(files)[first:]
        room = len(sizes)
        if limits.files is not None:
            room = min(room, limits.files - self.files)
        if limits.size_bytes is not None:
            before = self.size_bytes + np.cumsum(sizes) - sizes
            room = min(room, int(np.searchsorted(before, limits.size_bytes)))
        return room

    def take(self, files: pa.Table) -> None:
        """Add files."""
        self.files += files.num_rows
        self.size_bytes += int(_sizes(files).sum())

    def reaches(self, limits: BatchLimits) -> bool:
        """Return whether a limit is reached."""
        pairs = (
            (self.files, limits.files),
            (self.size_bytes, limits.size_bytes),
            (self.versions, limits.versions),
        )
        return any(limit is not None and size >= limit for size, limit in pairs)


def _sizes(files: pa.Table) -> npt.NDArray[np.int64]:
    sizes: npt.NDArray[np.int64] = files.column("size_bytes").to_numpy()
    return sizes
