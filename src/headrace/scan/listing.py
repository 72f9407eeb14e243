"""Listings that were read to their end, remembered for those who ask for the same again.

A listing is known by its snapshot and by all that shapes its batches. A snapshot is its table's
id and the files of its log, with their sizes and times: a table that is made anew at the same
place, with the same versions, is another one. Where files have no times, as in a catalog's list
of commits, nothing is remembered.
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
"""What it takes to know a listing, and for each file of its log: an empty one takes it too."""


class ListingShape(msgspec.Struct, frozen=True, kw_only=True):
    """What the batches of a listing are like."""

    where: str | None
    columns: tuple[str, ...] | None
    strategy: str
    tripwire: str
    fallback: str
    batch_rows: int


class ListingKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a listing is of, and what it is like."""

    table_id: str
    version: int
    log: tuple[LogFile, ...]
    shape: ListingShape


ListingCache: TypeAlias = BoundedCache[ListingKey, Listing]


class SnapshotListings:
    """The remembered listings of one snapshot, in a cache that its table's snapshots share."""

    def __init__(self, cache: ListingCache, *, segment: Segment, table_id: str) -> None:
        """Say whose listings these are; nothing is looked up."""
        self._cache = cache
        self._segment = segment
        self.table_id = table_id

    def find(self, shape: ListingShape) -> Listing | None:
        """The listing of that shape, if it is remembered."""
        if not len(self._cache):
            return None
        key = self._key(shape)
        return None if key is None else self._cache.get(key)

    def record(self, shape: ListingShape) -> "Recording":
        """A recording of a listing that is about to be read."""
        limit_bytes = self._cache.limit_bytes // _LARGEST_SHARE
        if shape.where is None and self._log_bytes() > limit_bytes:
            # A list of all files takes about as much as its log: do not even start.
            limit_bytes = 0
        key_bytes = _KEY_BYTES + len(shape.where or "") + _FILE_BYTES * len(self._segment.files)
        return Recording(self, shape, limit_bytes=limit_bytes, key_bytes=key_bytes)

    def put(self, shape: ListingShape, listing: Listing, *, size_bytes: int) -> None:
        """Remember a listing that is complete."""
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
    """A listing in the making. It is remembered if it comes to its end, and is small enough."""

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
        """The same batches, held on to as long as they are few."""
        for batch in batches:
            if self._size_bytes <= self._limit_bytes:
                self._size_bytes += batch.nbytes
                self._batches.append(batch)
                if self._size_bytes > self._limit_bytes:
                    self._batches.clear()
            yield batch

    def complete(self) -> None:
        """All batches have passed by."""
        if self._size_bytes <= self._limit_bytes:
            self._listings.put(self._shape, tuple(self._batches), size_bytes=self._size_bytes)
