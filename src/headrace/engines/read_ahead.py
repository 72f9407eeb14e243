"""Prefetching: reads that start before their content is needed.

A request to a remote store takes tens of milliseconds, nearly all of them waiting. `expect`
announces a read; `take` and `borrow` wait for it if it is in flight, or read at once. The bytes in
flight, not yet taken or borrowed are bounded, so a slow consumer delays the reads. Closing drops
the reads that have not started.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

AHEAD_BYTES = 64 << 20
"""The maximum number of bytes in flight or not yet taken, if some may never be taken."""
LIMIT_BYTES = 128 << 20
"""The maximum number of bytes in flight, not yet taken, or borrowed."""
MAX_REQUESTS = 64
"""The maximum number of reads in flight."""


class _Expected(msgspec.Struct):
    """An announced read."""

    read: Callable[[], Any]
    size_bytes: int
    future: Future[Any] | None = None
    """The read, once it has started."""


class ReadAhead:
    """The announced reads of one execution, by key. Threads may share it."""

    def __init__(
        self,
        *,
        ahead_bytes: int = AHEAD_BYTES,
        limit_bytes: int = LIMIT_BYTES,
        most_requests: int = MAX_REQUESTS,
    ) -> None:
        """Start empty; threads start with the first read.

        Args:
            ahead_bytes: The bytes that may be in flight or not yet taken. One read always may.
            limit_bytes: The same, together with the bytes that are borrowed.
            most_requests: The number of reads that may be in flight.
        """
        self._ahead_bytes = ahead_bytes
        self._limit_bytes = limit_bytes
        self._most_requests = most_requests
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Hashable, _Expected] = OrderedDict()
        self._started: dict[Hashable, _Expected] = {}
        self._started_bytes = 0
        self._lent: dict[Hashable, int] = {}
        self.lent_bytes = 0
        """The number of bytes that are borrowed."""
        self._pool: ThreadPoolExecutor | None = None
        self._is_closed = False

    def expect_all_taken(self) -> None:
        """Use all of the limit for reads ahead, since the caller takes all of them."""
        with self._lock:
            self._ahead_bytes = self._limit_bytes
            self._start_more()

    def expect(self, key: Hashable, read: Callable[[], object], *, size_bytes: int) -> None:
        """Start a read as soon as there is room for it; reads start in the order of these calls.

        Announcing a key twice has no effect.

        Args:
            key: The key for `take`.
            read: Reads the content, in another thread.
            size_bytes: The approximate size of the content.
        """
        with self._lock:
            if self._is_closed or key in self._waiting or key in self._started:
                return
            self._waiting[key] = _Expected(read, size_bytes)
            self._start_more()

    def take(self, key: Hashable, read: Callable[[], T]) -> T:
        """Return the content of an announced read, or read it now.

        A failed read raises its error here. Taking a key removes it.
        """
        return self._take(key, read, lent_bytes=0)

    def borrow(self, key: Hashable, read: Callable[[], T], *, size_bytes: int) -> T:
        """Take content that counts against the limit until its key is dropped."""
        return self._take(key, read, lent_bytes=size_bytes)

    def drop(self, key: Hashable) -> None:
        """Remove a key that nobody will take, or end its borrowing."""
        with self._lock:
            self._waiting.pop(key, None)
            expected = self._started.pop(key, None)
            if expected is not None:
                self._started_bytes -= expected.size_bytes
            self._lend(key, 0)
            self._start_more()

    @property
    def waiting(self) -> int:
        """The number of announced reads that wait for room."""
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether a read is waiting for room, so that announcing more makes no sense."""
        return bool(self._waiting)

    def close(self) -> None:
        """Drop the reads that have not started, and wait for the others."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _take(self, key: Hashable, read: Callable[[], T], *, lent_bytes: int) -> T:
        with self._lock:
            self._waiting.pop(key, None)
            expected = self._started.get(key)
            if expected is None or expected.future is None:
                self._lend(key, lent_bytes)
        if expected is None or expected.future is None:
            return read()
        try:
            content: T = expected.future.result()
        finally:
            with self._lock:
                if self._started.pop(key, None) is not None:
                    self._started_bytes -= expected.size_bytes
                    self._lend(key, lent_bytes)
                    self._start_more()
        return content

    def _lend(self, key: Hashable, size_bytes: int) -> None:
        self.lent_bytes += size_bytes - self._lent.pop(key, 0)
        if size_bytes:
            self._lent[key] = size_bytes

    def _start_more(self) -> None:
        while self._waiting and not self._is_closed:
            key, expected = next(iter(self._waiting.items()))
            ahead_bytes = self._started_bytes + expected.size_bytes
            room_bytes = min(self._ahead_bytes, self._limit_bytes - self.lent_bytes)
            if self._started and ahead_bytes > room_bytes:
                return
            del self._waiting[key]
            if self._pool is None:
                self._pool = ThreadPoolExecutor(
                    self._most_requests, thread_name_prefix="headrace-read"
                )
            expected.future = self._pool.submit(expected.read)
            self._started[key] = expected
            self._started_bytes += expected.size_bytes
