"""A remote file whose ranges are fetched before they are read.

A Parquet reader seeks and reads as if the file were local. Ranges in memory are returned without
a copy; any other range is a separate request.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable
from functools import partial
from operator import itemgetter
from typing import Any, Self, cast

from headrace.engines.window import Held, ReadRanges, Windows
from headrace.storage.byte_range import ByteRange
from headrace.storage.ranged import RangedFile
from headrace.storage.store import Store, Tail

_WINDOWS_HELD = 2
"""Columns do not reach the next window at the same time, so the previous one is kept."""


class FetchedFile(RangedFile):
    """One object of a store, read by one thread at a time."""

    def __init__(self, read: ReadRanges, *, size_bytes: int, etag: str | None = None) -> None:
        """Open a version of an object of known size, without a request."""
        super().__init__()
        self._read = read
        self.etag = etag
        self._size_bytes = size_bytes
        self._held: list[Held] = []
        self._windows: Windows | None = None
        self._recent: list[tuple[int, list[Held]]] = []
        """The windows in memory, by index."""

    @classmethod
    def with_tail(cls, store: Store, path: str, tail: Tail) -> Self:
        """Open an object whose last bytes are in memory already."""
        read = partial(store.read_ranges, path, etag=tail.etag)
        file = cls(read, size_bytes=tail.object_size, etag=tail.etag)
        content = memoryview(tail.content)
        file.hold([(tail.object_size - len(content), content)])
        return file

    def extend_tail(self, size_bytes: int) -> None:
        """Request what the tail lacks of the last `size_bytes` bytes, and keep it."""
        start = max(self._size_bytes - size_bytes, 0)
        tail_start, tail = self._held[-1]
        if start < tail_start:
            (before,) = self._read([ByteRange(start, tail_start - start)])
            self._held[-1] = (start, memoryview(b"".join((before, tail))))

    def follow(self, windows: Windows) -> None:
        """Serve reads from these windows, and drop all earlier ranges."""
        self.drop()
        self._windows = windows

    def hold(self, ranges: Iterable[Held]) -> None:
        """Serve reads from these ranges, which do not overlap."""
        for byte_range in ranges:
            insort(self._held, byte_range, key=itemgetter(0))

    def drop(self) -> None:
        """Drop all ranges and windows."""
        self._held.clear()
        self._recent.clear()
        if self._windows is not None:
            self._windows.drop()
            self._windows = None

    def fetch(self, ranges: Iterable[ByteRange]) -> None:
        """Request the ranges that are not in memory, all at once, and keep them."""
        missing = [span for span in ranges if not self._has(span)]
        contents = self._read(missing) if missing else []
        self.hold((span.start, data) for span, data in zip(missing, contents, strict=True))

    def read_at(self, position: int, size: int) -> bytes:
        """Return bytes from a position: from memory, or from the store."""
        size = min(size, self._size_bytes - position)
        return b"" if size <= 0 else cast("bytes", self._view(position, size))

    def readinto(self, buffer: Any, /) -> int:
        """Read the next bytes into a buffer."""
        self._check_open()
        target = memoryview(buffer).cast("B")
        size = min(len(target), self._size_bytes - self._position)
        if size <= 0:
            return 0
        view = self._view(self._position, size)
        target[: len(view)] = view
        self._position += len(view)
        return len(view)

    def _view(self, position: int, size: int) -> memoryview:
        """Return the same as a view, without a copy."""
        chunk = self._find(position)
        if chunk is None and self._read_window(position):
            chunk = self._find(position)
        if chunk is not None:
            start, data = chunk
            return data[position - start : position - start + size]
        following = bisect_right(self._held, position, key=itemgetter(0))
        if following < len(self._held):
            size = min(size, self._held[following][0] - position)
        (content,) = self._read([ByteRange(position, size)])
        return content

    def size_bytes(self) -> int:
        """Return the size of the object."""
        return self._size_bytes

    def release(self) -> None:
        """Drop all ranges; nothing else is open."""
        self.drop()

    def _has(self, span: ByteRange) -> bool:
        chunk = self._find(span.start)
        return chunk is not None and span.stop <= chunk[0] + len(chunk[1])

    def _find(self, position: int) -> Held | None:
        """Return the range in memory that includes a position."""
        index = bisect_right(self._held, position, key=itemgetter(0))
        if not index:
            return None
        start, data = self._held[index - 1]
        return (start, data) if position < start + len(data) else None

    def _read_window(self, position: int) -> bool:
        """Load the window that includes a position; False if there is none."""
        index = None if self._windows is None else self._windows.find(position)
        if self._windows is None or index is None:
            return False
        if len(self._recent) == _WINDOWS_HELD:
            passed, chunks = self._recent.pop(0)
            starts = {start for start, _ in chunks}
            self._held = [(start, data) for start, data in self._held if start not in starts]
            self._windows.give_back(passed)
        chunks = self._windows.borrow(index)
        self._recent.append((index, chunks))
        self.hold(chunks)
        return True
