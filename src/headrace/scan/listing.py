"""Caches complete listings of live files for later equal scans.

The key of a listing is its snapshot and everything that shapes its batches. The key of a snapshot
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
Listing: TypeAlias = tuple[RecordBatch, ...]

_LARGEST_SHARE = 4
"""A listing may take at most this fraction of the cache, so that it does not evict all others."""
_KEY_BYTES, _FILE_BYTES = 1 << 9, 1 << 8
"""The memory of a cache key, and of each log file in it; an empty listing takes it too."""


class ListingShape(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that shapes the batches of a listing."""

    where: str | None
    columns: tuple[str, ...] | None
    strategy: str
    tripwire: str
    fallback: str
    batch_rows: int


class ListingKey(msgspec.Struct, frozen=True, kw_only=True):
    """The cache key of a listing: its snapshot and its shape."""

    table_id: str
    version: int
    log: tuple[LogFile, ...]
    shape: ListingShape


ListingCache: TypeAlias = BoundedCache[ListingKey, Listing]


class SnapshotListings:
    """The cached listings of one snapshot, in a cache that all snapshots of a table share."""

    def __init__(self, cache: ListingCache, *, segment: Segment, table_id: str) -> None:
        """Take the snapshot of the listings; nothing is looked up."""
        self._cache = cache
        self._segment = segment
        self.table_id = table_id

    def find(self, shape: ListingShape) -> Listing | None:
        """Return the listing of a shape, if it is cached."""
        if not len(self._cache):
            return None
        key = self._key(shape)
        return None if key is None else self._cache.get(key)

    def record(self, shape: ListingShape) -> "Recording":
        """Start to record a listing that is about to be read."""
        limit_bytes = self._cache.limit_bytes // _LARGEST_SHARE
        if shape.where is None and self._log_bytes() > limit_bytes:
            # A list of all files takes about as much memory as its log: do not even start.
            limit_bytes = 0
        key_bytes = _KEY_BYTES + len(shape.where or "") + _FILE_BYTES * len(self._segment.files)
        return Recording(self, shape, limit_bytes=limit_bytes, key_bytes=key_bytes)

    def put(self, shape: ListingShape, listing: Listing, *, size_bytes: int) -> None:
        """Cache a complete listing."""
        key = self._key(shape)
        if key is not None:
            self._cache.put(key, listing, size_bytes=size_bytes)

    def _key(self, shape: ListingShape) -> ListingKey | None:
        segment = self._segment
        log = segment.log.files
        if not all(file.modified_ms for file in log):
            return None
        return ListingKey(table_id=self.table_id, version=segment.version, log=log, shape=shape)

    def _log_bytes(self) -> int:
        base = self._segment.base
        commits = sum(file.size_bytes for file in self._segment.replay_newest_first)
        return commits + (0 if base is None else base.size_bytes)


class Recording:
    """Records a listing while it is read. It is cached if it completes and is small enough."""

    def __init__(
        self,
        listings: SnapshotListings,
        shape: ListingShape,
        *,
        limit_bytes: int,
        key_bytes: int,
    ) -> None:
        """Start without a batch."""
        self._listings = listings
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
        """Cache the listing, after all batches have been read."""
        if self._size_bytes <= self._limit_bytes:
            self._listings.put(self._shape, tuple(self._batches), size_bytes=self._size_bytes)
