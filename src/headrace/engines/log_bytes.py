"""Reads the files of a log for one execution, with prefetching and a cache on remote stores.

Log files enter; their contents leave. On a local disk each read happens on demand. On a remote
store, reads can be announced, so that they are in flight when they are needed. Commits and footers
are cached, within limits, for the next execution on the table: a scan does not fetch again what its
snapshot has read.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias

import msgspec

from headrace.engines.read_ahead import ReadAhead
from headrace.engines.tail_size import METADATA_BYTES, TailSize
from headrace.errors import ObjectChangedError
from headrace.metrics.meter import Meter
from headrace.protocol.log_file import LogFile
from headrace.storage.byte_range import ByteRange, Contents
from headrace.storage.cache import BoundedCache
from headrace.storage.store import (
    LIST_PAGE_OBJECTS,
    ObjectMeta,
    RequestCost,
    Store,
    Tail,
    release_chunks,
)

CHUNK_BYTES = 1 << 20
"""The chunk size of a large file."""
MAX_WHOLE_BYTES = 4 << 20
"""A larger commit of a remote store is not prefetched, but streamed when it is needed."""
_ENTRY_BYTES = 256
"""The overhead of a cache entry, besides its bytes."""

_Key: TypeAlias = tuple[str, str, int, int, str | None]
"""Kind of read; path, size, modification time and ETag of the file."""


class LogCache:
    """The cache that all executions on a table share: bytes of its log, and the size of footers.

    It is pickled empty.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.tail_size = TailSize(metadata_bytes=METADATA_BYTES)
        self.contents: BoundedCache[_Key, bytes | Tail] = BoundedCache(limit_bytes)

    def __reduce__(self) -> tuple[type["LogCache"], tuple[int]]:
        return LogCache, (self.limit_bytes,)

    def clear(self) -> None:
        """Drop the bytes."""
        self.contents.clear()


class _FirstPage(msgspec.Struct, frozen=True):
    """The first page of a listing."""

    objects: list[ObjectMeta]

    @property
    def is_complete(self) -> bool:
        return len(self.objects) < LIST_PAGE_OBJECTS


class LogBytes:
    """Reads the log of one store, for one execution."""

    def __init__(self, store: Store, *, cache: LogCache, meter: Meter) -> None:
        self.store = store
        self.ahead = ReadAhead()
        self.tail_size = cache.tail_size
        self._cache = cache.contents
        self._room_bytes = cache.limit_bytes
        self._meter = meter
        self._counted_files: set[str] = set()
        """The files that this execution has read or found in the cache."""

    @property
    def is_remote(self) -> bool:
        """Whether requests are slow, so that reads should be few and early."""
        return self.store.request_cost is RequestCost.REMOTE

    def close(self) -> None:
        """Drop the announced reads that have not started."""
        self.ahead.close()

    def expect_listing(self, directory: str) -> None:
        """Start to list a directory from its beginning."""
        key = ("list", directory)
        self.ahead.expect(key, lambda: self._first_page(directory), size_bytes=0)

    def list(self, directory: str, *, start_from: str) -> Iterator[ObjectMeta]:
        """Return the objects of a directory whose names are at or after `start_from`.

        A prefetched listing is used once, if it is complete.
        """
        page: _FirstPage | None = self.ahead.take(("list", directory), lambda: None)
        if page is None or not page.is_complete:
            return self.store.list(directory, start_from=start_from)
        first = f"{directory}/{start_from}"
        return (entry for entry in page.objects if entry.path >= first)

    def expect(self, file: LogFile) -> None:
        """Start to read a file."""
        if self._cached("whole", file) is None:
            key = _key("whole", file)
            self.ahead.expect(key, lambda: self._read(file), size_bytes=file.size_bytes)

    def read(self, file: LogFile) -> bytes:
        """Return the content of a file."""
        if not self.is_remote:
            return self.store.read(file.path)
        cached = self._cached("whole", file)
        if isinstance(cached, bytes):
            if file.path not in self._counted_files:
                self._counted_files.add(file.path)
                self._meter.count(files_read=1, commit_cache_hits=1)
            return cached
        return self.ahead.take(_key("whole", file), lambda: self._read(file))

    def is_small(self, file: LogFile) -> bool:
        """Return whether a file is better read whole than in chunks."""
        most_bytes = MAX_WHOLE_BYTES if self.is_remote else CHUNK_BYTES
        return 0 < file.size_bytes <= most_bytes

    def chunks(self, file: LogFile) -> Iterator[bytes]:
        """Return the content of a file in chunks."""
        chunks = self.store.read_chunks(file.path, chunk_bytes=CHUNK_BYTES)
        return _checked_chunks(file, chunks) if self.is_remote else chunks

    def expect_tail(self, file: LogFile) -> None:
        """Start to read the end of a file."""
        if self._cached("tail", file) is None:
            size_bytes = self.tail_size.guess(file.size_bytes)
            self.ahead.expect(
                _key("tail", file), lambda: self._read_tail(file), size_bytes=size_bytes
            )

    def has_tail(self, file: LogFile) -> bool:
        """Return whether the end of a file is cached, so that `tail` takes no request."""
        return self._cached("tail", file) is not None

    def tail(self, file: LogFile) -> Tail:
        """Return the end of a file, long enough for its expected footer."""
        cached = self._cached("tail", file)
        if isinstance(cached, Tail):
            return cached
        return self.ahead.take(_key("tail", file), lambda: self._read_tail(file))

    def ranges(
        self,
        file: LogFile,
        ranges: Sequence[ByteRange],
        *,
        etag: str | None,
        store: Store | None = None,
    ) -> Contents:
        """Return the bytes of ranges of one version of a file, read together.

        Ranges within the cached end of the file take no request. Writers put protocol and metadata
        there, and all of a small checkpoint is within it. The others are read from `store`, which
        may have a cancellation of its own.
        """
        store = self.store if store is None else store
        tail = self._cached("tail", file)
        if not isinstance(tail, Tail) or tail.etag != etag:
            return store.read_ranges(file.path, ranges, etag=etag)
        start, content = tail.object_size - len(tail.content), memoryview(tail.content)
        is_cached = [start <= span.start and span.stop <= tail.object_size for span in ranges]
        missing = [span for span, cached in zip(ranges, is_cached, strict=True) if not cached]
        rest = iter(store.read_ranges(file.path, missing, etag=etag) if missing else ())
        return [
            content[span.start - start : span.stop - start] if cached else next(rest)
            for span, cached in zip(ranges, is_cached, strict=True)
        ]

    def parquet(self, file: LogFile, *, store: Store | None = None) -> "ParquetBytes":
        """Return a Parquet file for a reader that selects its own ranges, from `store` if given."""
        return ParquetBytes(self, file, store)

    def _first_page(self, directory: str) -> _FirstPage:
        return _FirstPage(list(islice(self.store.list(directory), LIST_PAGE_OBJECTS)))

    def _read(self, file: LogFile) -> bytes:
        content = self.store.read(file.path)
        _check_size(file, len(content))
        self._counted_files.add(file.path)
        self._put_in_cache("whole", file, content, len(content))
        return content

    def _read_tail(self, file: LogFile) -> Tail:
        tail = self.store.read_tail(
            file.path,
            size_bytes_wanted=self.tail_size.guess(file.size_bytes),
            object_size=file.size_bytes or None,
        )
        self._put_in_cache("tail", file, tail, len(tail.content))
        return tail

    def _cached(self, kind: str, file: LogFile) -> bytes | Tail | None:
        return self._cache.get(_key(kind, file)) if file.modified_ms else None

    def _put_in_cache(
        self, kind: str, file: LogFile, content: bytes | Tail, size_bytes: int
    ) -> None:
        """Cache what is read first: it is the newest, and the next execution starts with it."""
        size_bytes += _ENTRY_BYTES
        if file.modified_ms and self.is_remote and size_bytes <= self._room_bytes:
            self._room_bytes -= size_bytes
            self._cache.put(_key(kind, file), content, size_bytes=size_bytes)


class ParquetBytes(msgspec.Struct):
    """The end of a Parquet file, and any ranges of the same version."""

    log: LogBytes
    file: LogFile
    store: Store | None = None
    etag: str | None = None
    """The version that the end belongs to."""

    def tail(self) -> tuple[bytes, int]:
        """Return the end of the file, long enough for the expected footer, and the file's size."""
        tail = self.log.tail(self.file)
        self.etag = tail.etag
        return tail.content, tail.object_size

    def ranges(self, ranges: Sequence[ByteRange]) -> Contents:
        """Return the bytes of ranges, read together."""
        return self.log.ranges(self.file, ranges, etag=self.etag, store=self.store)

    def learn(self, footer_bytes: int, *, file_bytes: int) -> None:
        """Learn the size of the footer."""
        self.log.tail_size.learn(footer_bytes, file_bytes=file_bytes)


def _checked_chunks(file: LogFile, chunks: Iterator[bytes]) -> Iterator[bytes]:
    size_bytes = 0
    try:
        for chunk in chunks:
            size_bytes += len(chunk)
            yield chunk
    finally:
        release_chunks(chunks)
    _check_size(file, size_bytes)


def _check_size(file: LogFile, size_bytes: int) -> None:
    """Compare the size of a remote file with its listing.

    A commit that was cut after one of its lines looks complete.

    Raises:
        ObjectChangedError: they differ.
    """
    if file.modified_ms and size_bytes != file.size_bytes:
        raise ObjectChangedError(path=file.path)


def _key(kind: str, file: LogFile) -> _Key:
    return (kind, file.path, file.size_bytes, file.modified_ms, file.etag)
