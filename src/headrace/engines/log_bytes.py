"""The bytes of a log, as one run asks for them: early, together, and once.

Files of the log enter, their contents leave. On a local disk each read is made when it is asked
for. On a remote store reads may be expected, so that they are under way when they are asked for;
and what was read of commits and footers is kept, within bounds, for the next run of the table: a
scan fetches nothing again that its snapshot has read.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias

import msgspec

from headrace.engines.read_ahead import ReadAhead
from headrace.engines.tail_size import TailSize
from headrace.metrics.meter import Meter
from headrace.protocol.log_file import LogFile
from headrace.storage.byte_range import ByteRange
from headrace.storage.cache import BoundedCache
from headrace.storage.store import LIST_PAGE_OBJECTS, ObjectMeta, RequestCost, Store, Tail

CHUNK_BYTES = 1 << 20
"""How much of a large file is held at once."""
LARGEST_WHOLE_BYTES = 4 << 20
"""A larger commit of a remote store is not fetched ahead: it is streamed when its turn comes."""
_ENTRY_BYTES = 256
"""What it takes to keep something, besides its bytes."""

_Key: TypeAlias = tuple[str, str, int, int, str | None]
"""Kind of read, path, size, time and mark of the file."""


class LogCache:
    """What the runs of one table share: bytes of its log, and how large its footers are.

    It pickles empty.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.tail_size = TailSize()
        self.contents: BoundedCache[_Key, bytes | Tail] = BoundedCache(limit_bytes)

    def __reduce__(self) -> tuple[type["LogCache"], tuple[int]]:
        return LogCache, (self.limit_bytes,)

    def clear(self) -> None:
        """Forget the bytes."""
        self.contents.clear()


class _FirstPage(msgspec.Struct, frozen=True):
    """The beginning of a listing."""

    objects: list[ObjectMeta]

    @property
    def is_complete(self) -> bool:
        return len(self.objects) < LIST_PAGE_OBJECTS


class LogBytes:
    """Reads the log of one store, for one run."""

    def __init__(self, store: Store, *, cache: LogCache, meter: Meter) -> None:
        self.store = store
        self.ahead = ReadAhead()
        self.tail_size = cache.tail_size
        self._cache = cache.contents
        self._room_bytes = cache.limit_bytes
        self._meter = meter
        self._met: set[str] = set()
        """The files that this run has read, or found in the cache."""

    @property
    def is_remote(self) -> bool:
        """Whether a request takes so long that reads should be few and early."""
        return self.store.request_cost is RequestCost.REMOTE

    def close(self) -> None:
        """Drop the reads that were expected and have not started."""
        self.ahead.close()

    def expect_listing(self, directory: str) -> None:
        """Start to list a directory from its beginning."""
        key = ("list", directory)
        self.ahead.expect(key, lambda: self._first_page(directory), size_bytes=0)

    def list(self, directory: str, *, start_from: str) -> Iterator[ObjectMeta]:
        """The objects of a directory whose names are at or after `start_from`.

        An expected listing is the answer if it is complete; it is used once.
        """
        page: _FirstPage | None = self.ahead.take(("list", directory), lambda: None)
        if page is None or not page.is_complete:
            return self.store.list(directory, start_from=start_from)
        first = f"{directory}/{start_from}"
        return (entry for entry in page.objects if entry.path >= first)

    def expect(self, file: LogFile) -> None:
        """Start to read a file."""
        if self._kept("whole", file) is None:
            key = _key("whole", file)
            self.ahead.expect(key, lambda: self._read(file), size_bytes=file.size_bytes)

    def read(self, file: LogFile) -> bytes:
        """A file, whole."""
        if not self.is_remote:
            return self.store.read(file.path)
        kept = self._kept("whole", file)
        if isinstance(kept, bytes):
            if file.path not in self._met:
                self._met.add(file.path)
                self._meter.count(files_read=1, commit_cache_hits=1)
            return kept
        return self.ahead.take(_key("whole", file), lambda: self._read(file))

    def is_small(self, file: LogFile) -> bool:
        """Whether a file is better read whole than in chunks."""
        most_bytes = LARGEST_WHOLE_BYTES if self.is_remote else CHUNK_BYTES
        return 0 < file.size_bytes <= most_bytes

    def chunks(self, file: LogFile) -> Iterator[bytes]:
        """A file in pieces."""
        return self.store.read_chunks(file.path, chunk_bytes=CHUNK_BYTES)

    def expect_tail(self, file: LogFile) -> None:
        """Start to read the end of a file."""
        if self._kept("tail", file) is None:
            size_bytes = self.tail_size.guess(file.size_bytes)
            self.ahead.expect(
                _key("tail", file), lambda: self._read_tail(file), size_bytes=size_bytes
            )

    def tail(self, file: LogFile) -> Tail:
        """The end of a file: as much as its footer takes, to the best of our knowledge."""
        kept = self._kept("tail", file)
        if isinstance(kept, Tail):
            return kept
        return self.ahead.take(_key("tail", file), lambda: self._read_tail(file))

    def parquet(self, file: LogFile) -> "ParquetBytes":
        """A Parquet file, for a reader that knows which bytes it wants."""
        return ParquetBytes(self, file)

    def _first_page(self, directory: str) -> _FirstPage:
        return _FirstPage(list(islice(self.store.list(directory), LIST_PAGE_OBJECTS)))

    def _read(self, file: LogFile) -> bytes:
        content = self.store.read(file.path)
        self._met.add(file.path)
        self._keep("whole", file, content, len(content))
        return content

    def _read_tail(self, file: LogFile) -> Tail:
        tail = self.store.read_tail(
            file.path,
            size_bytes_wanted=self.tail_size.guess(file.size_bytes),
            object_size=file.size_bytes or None,
        )
        self._keep("tail", file, tail, len(tail.content))
        return tail

    def _kept(self, kind: str, file: LogFile) -> bytes | Tail | None:
        return self._cache.get(_key(kind, file)) if file.modified_ms else None

    def _keep(self, kind: str, file: LogFile, content: bytes | Tail, size_bytes: int) -> None:
        """Keep what a run reads first: that is the newest, and what the next run begins with."""
        size_bytes += _ENTRY_BYTES
        if file.modified_ms and self.is_remote and size_bytes <= self._room_bytes:
            self._room_bytes -= size_bytes
            self._cache.put(_key(kind, file), content, size_bytes=size_bytes)


class ParquetBytes(msgspec.Struct, frozen=True):
    """The end of a Parquet file, and any ranges of it."""

    log: LogBytes
    file: LogFile

    def tail(self) -> Tail:
        """As much of the end as the footer takes, to the best of our knowledge."""
        return self.log.tail(self.file)

    def ranges(self, ranges: Sequence[ByteRange]) -> list[memoryview]:
        """The bytes of some ranges, all at once."""
        return self.log.store.read_ranges(self.file.path, ranges)

    def learn(self, footer_bytes: int, *, file_bytes: int) -> None:
        """Take in how large the footer was."""
        self.log.tail_size.learn(footer_bytes, file_bytes=file_bytes)


def _key(kind: str, file: LogFile) -> _Key:
    return (kind, file.path, file.size_bytes, file.modified_ms, file.etag)
