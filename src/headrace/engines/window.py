"""Fetches ranges of one remote object together, in windows of bounded size.

The columns of a row group are read in parallel, so each window has the same share of every range.
A row group of the usual size is one window; a huge one is never in memory as a whole.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from headrace.engines.read_ahead import ReadAhead
from headrace.storage.byte_range import ByteRange, Contents
from headrace.storage.store import RequestCost

ReadRanges: TypeAlias = Callable[[Sequence[ByteRange]], Contents]
"""Reads ranges of one version of an object, together."""
Held: TypeAlias = tuple[int, memoryview]
"""Bytes of an object and the position of the first."""

WINDOW_BYTES = 32 << 20
_SMALL_BYTES = 256 << 10
"""A range up to this size is not cut: it is in the first window."""


def cut(ranges: Sequence[ByteRange], window_bytes: int) -> list[list[ByteRange]]:
    """Cut ranges into windows of about the same size, none much larger than `window_bytes`."""
    total_bytes = sum(span.length for span in ranges)
    count = max(1, -(-total_bytes // window_bytes))
    if count == 1:
        return [list(ranges)]
    windows: list[list[ByteRange]] = [[] for _ in range(count)]
    for span in ranges:
        if span.length <= _SMALL_BYTES:
            windows[0].append(span)
            continue
        bounds = [span.start + span.length * index // count for index in range(count + 1)]
        for index, window in enumerate(windows):
            window.append(ByteRange(bounds[index], bounds[index + 1] - bounds[index]))
    return windows


class Windows:
    """The prefetched windows of ranges of one object."""

    def __init__(self, read: ReadRanges, ranges: Sequence[ByteRange], *, ahead: ReadAhead) -> None:
        """Announce all windows; they are read in order, as room permits."""
        self._read_ranges = read
        self._ahead = ahead
        # In parts as large as a request, so that no bytes are copied to join requests.
        largest_bytes = RequestCost.REMOTE.coalescing.largest_bytes
        self._windows = [
            [part for byte_range in window for part in byte_range.parts(largest_bytes)]
            for window in cut(ranges, WINDOW_BYTES)
        ]
        for index in range(len(self._windows)):
            ahead.expect(
                (self, index), partial(self._read, index), size_bytes=self._size_bytes(index)
            )

    def find(self, position: int) -> int | None:
        """Return the window that includes a position; None if no range does."""
        for index, window in enumerate(self._windows):
            if any(span.start <= position < span.stop for span in window):
                return index
        return None

    def borrow(self, index: int) -> list[Held]:
        """Wait for a window; its bytes are counted until it is returned or dropped.

        A window that is borrowed twice is read again.
        """
        return self._ahead.borrow(
            (self, index), partial(self._read, index), size_bytes=self._size_bytes(index)
        )

    def give_back(self, index: int) -> None:
        """End the borrowing of a window whose bytes are no longer referenced."""
        self._ahead.drop((self, index))

    def drop(self) -> None:
        """Drop all windows."""
        for index in range(len(self._windows)):
            self._ahead.drop((self, index))

    def _size_bytes(self, index: int) -> int:
        return sum(span.length for span in self._windows[index])

    def _read(self, index: int) -> list[Held]:
        window = self._windows[index]
        contents = self._read_ranges(window)
        return [(span.start, data) for span, data in zip(window, contents, strict=True)]
