"""Caches complete lists of live files for later equal scans.

The key of a file list is its snapshot and everything that shapes its batches. The key of a snapshot
is its table's id and its log files, with their sizes and times: a table that is created again at
the same address, with the same versions, has another key. If files have no times, as in a
catalog's list of commits, nothing is cached.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from headrace.log.segment import Segment
from headrace.protocol.log_file import LogFile
from headrace.storage.cache import BoundedCache

RecordBatch: TypeAlias = Any
"""A `pyarrow.RecordBatch`, named so that this module does not import Arrow."""
CachedFileList: TypeAlias = tuple[RecordBatch, ...]

_MAX_SHARE = 4
"""A file list may take at most this fraction of the cache, so that it does not evict all others."""
_KEY_BYTES, _FILE_BYTES = 1 << 9, 1 << 8
"""The memory of a cache key, and of each log file in it; an empty file list takes it too."""


class FileListShape(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that shapes the batches of a file list."""

    where: str | None
    columns: tuple[str, ...] | None
    strategy: str
    tripwire: str
    fallback: str
    batch_rows: int


class FileListKey(msgspec.Struct, frozen=True, kw_only=True):
    """The cache key of a file list: its snapshot and its shape."""

    table_id: str
    version: int
    log: tuple[LogFile, ...]
    shape: FileListShape


FileListCache: TypeAlias = BoundedCache[FileListKey, CachedFileList]


class SnapshotFileLists:
    """The cached file lists of one snapshot, in a cache that all snapshots of a table share."""

    def __init__(self, cache: FileListCache, *, segment: Segment, table_id: str) -> None:
        """Take the snapshot of the file lists; nothing is looked up."""
        self._cache = cache
        self._segment = segment
        self.table_id = table_id

    def find(self, shape: FileListShape) -> CachedFileList | None:
        """Return the file list of a shape, if it is cached."""
        if not len(self._cache):
            return None
        key = self._key(shape)
        return None if key is None else self._cache.get(key)

    def record(self, shape: FileListShape) -> "Recording":
        """Start to record a file list that is about to be read."""
        limit_bytes = self._cache.limit_bytes // _MAX_SHARE
        if shape.where is None and self._log_bytes() > limit_bytes:
            # A list of all files takes about as much memory as its log: do not even start.
            limit_bytes = 0
        key_bytes = _KEY_BYTES + len(shape.where or "") + _FILE_BYTES * len(self._segment.files)
        return Recording(self, shape, limit_bytes=limit_bytes, key_bytes=key_bytes)

    def put(self, shape: FileListShape, file_list: CachedFileList, *, size_bytes: int) -> None:
        """Cache a complete file list."""
        key = self._key(shape)
        if key is not None:
            self._cache.put(key, file_list, size_bytes=size_bytes)

    def _key(self, shape: FileListShape) -> FileListKey | None:
        segment = self._segment
        log = segment.log.files
        if not all(file.modified_ms for file in log):
            return None
        return FileListKey(table_id=self.table_id, version=segment.version, log=log, shape=shape)

    def _log_bytes(self) -> int:
        base = self._segment.base
        commits = sum(file.size_bytes for file in self._segment.replay_newest_first)
        return commits + (0 if base is None else base.size_bytes)


class Recording:
    """Records a file list while it is read. It is cached if it completes and is small enough."""

    def __init__(
        self,
        file_lists: SnapshotFileLists,
        shape: FileListShape,
        *,
        limit_bytes: int,
        key_bytes: int,
    ) -> None:
        """Start without a batch."""
        self._file_lists = file_lists
        self._shape = shape
        self._limit_bytes = limit_bytes
        self._size_bytes = key_bytes
        self._batches: list[RecordBatch] = []

    def watch(self, batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        """Yield the same batches, and keep them while they are small enough."""
        for batch in batches:
            if self._size_bytes <= self._limit_bytes:
                self._size_bytes += batch.nbytes
                self._batches.append(batch)
                if self._size_bytes > self._limit_bytes:
                    self._batches.clear()
            yield batch

    def complete(self) -> None:
        """Cache the file list, after all batches have been read."""
        if self._size_bytes <= self._limit_bytes:
            self._file_lists.put(self._shape, tuple(self._batches), size_bytes=self._size_bytes)
