"""A file of a remote store whose ranges were fetched before they are read.

A Parquet reader seeks and reads as if the file were local. Ranges that are held in memory are given
without a copy; any other range is a request of its own.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, cast

from headrace.engines.window import Held, Windows
from headrace.storage.byte_range import ByteRange
from headrace.storage.ranged import RangedFile
from headrace.storage.store import Store

_WINDOWS_HELD = 2
"""Columns do not reach the next window at the same time: so the one before it stays."""


class FetchedFile(RangedFile):
    """One object of a store. It is read by one thread at a time."""

    def __init__(self, store: Store, path: str, *, size_bytes: int) -> None:
        """Open an object whose size is known; nothing is requested."""
        super().__init__()
        self._store = store
        self._path = path
        self._size_bytes = size_bytes
        self._held: list[Held] = []
        self._windows: Windows | None = None
        self._recent: list[tuple[int, list[Held]]] = []
        """The windows that are held, by index."""

    def follow(self, windows: Windows) -> None:
        """Serve reads from these windows, and from nothing that was held before."""
        self.drop()
        self._windows = windows

    def hold(self, ranges: Iterable[Held]) -> None:
        """Serve reads from these ranges; they do not overlap each other."""
        for held in ranges:
            insort(self._held, held, key=itemgetter(0))

    def drop(self) -> None:
        """Forget all ranges, and the windows that have not been read."""
        self._held.clear()
        self._recent.clear()
        if self._windows is not None:
            self._windows.drop()
            self._windows = None

    def fetch(self, ranges: Iterable[ByteRange]) -> None:
        """Request the ranges that are not held, all at once, and hold them."""
        missing = [wanted for wanted in ranges if not self._has(wanted)]
        contents = self._store.read_ranges(self._path, missing) if missing else []
        self.hold((wanted.start, data) for wanted, data in zip(missing, contents, strict=True))

    def read_at(self, position: int, size: int) -> bytes:
        """The bytes from a position: those that are held, or as many as the store is asked for."""
        size = min(size, self._size_bytes - position)
        return b"" if size <= 0 else cast("bytes", self._view(position, size))

    def readinto(self, room: Any, /) -> int:
        """Fill memory with the next bytes."""
        self._check_open()
        target = memoryview(room).cast("B")
        size = min(len(target), self._size_bytes - self._position)
        if size <= 0:
            return 0
        view = self._view(self._position, size)
        target[: len(view)] = view
        self._position += len(view)
        return len(view)

    def _view(self, position: int, size: int) -> memoryview:
        """The same without a copy: whatever takes bytes takes a view of them, too."""
        held = self._find(position)
        if held is None and self._read_window(position):
            held = self._find(position)
        if held is not None:
            start, data = held
            return data[position - start : position - start + size]
        following = bisect_right(self._held, position, key=itemgetter(0))
        if following < len(self._held):
            size = min(size, self._held[following][0] - position)
        (content,) = self._store.read_ranges(self._path, [ByteRange(position, size)])
        return content

    def size_bytes(self) -> int:
        """The size of the object."""
        return self._size_bytes

    def release(self) -> None:
        """Forget all ranges; nothing is open."""
        self.drop()

    def _has(self, wanted: ByteRange) -> bool:
        held = self._find(wanted.start)
        return held is not None and wanted.stop <= held[0] + len(held[1])

    def _find(self, position: int) -> Held | None:
        """The held range that has the byte at a position."""
        index = bisect_right(self._held, position, key=itemgetter(0))
        if not index:
            return None
        start, data = self._held[index - 1]
        return (start, data) if position < start + len(data) else None

    def _read_window(self, position: int) -> bool:
        """Hold the window that has the byte at a position; False: there is none."""
        index = None if self._windows is None else self._windows.find(position)
        if self._windows is None or index is None:
            return False
        self._recent.append((index, self._windows.take(index)))
        del self._recent[:-_WINDOWS_HELD]
        self._held = sorted(
            (held for _, window in self._recent for held in window), key=itemgetter(0)
        )
        return True
