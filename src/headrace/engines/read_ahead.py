"""Reads that start before anyone waits for them.

A request to a remote store takes tens of milliseconds, nearly all of them waiting. Whoever knows
what will be read next says so with `expect`; `take` then waits for a read that is under way, or
reads at once. What is under way or waits to be taken is bounded by bytes, so a slow consumer holds
the reads back. Closing drops the reads that have not started.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

AHEAD_BYTES = 64 << 20
"""How much may be under way, or read and not yet taken."""
MOST_REQUESTS = 64
"""How many reads are under way at most."""


class _Expected(msgspec.Struct):
    """A read that someone will ask for."""

    read: Callable[[], Any]
    size_bytes: int
    future: Future[Any] | None = None
    """The read, once it has started."""


class ReadAhead:
    """The expected reads of one run, by key. It is shared by threads."""

    def __init__(
        self, *, limit_bytes: int = AHEAD_BYTES, most_requests: int = MOST_REQUESTS
    ) -> None:
        """Start with nothing expected; threads are started with the first read.

        Args:
            limit_bytes: How much may be under way or wait to be taken. One read may always be.
            most_requests: How many reads may be under way.
        """
        self._limit_bytes = limit_bytes
        self._most_requests = most_requests
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Hashable, _Expected] = OrderedDict()
        self._started: dict[Hashable, _Expected] = {}
        self._started_bytes = 0
        self._pool: ThreadPoolExecutor | None = None
        self._is_closed = False

    def expect(self, key: Hashable, read: Callable[[], object], *, size_bytes: int) -> None:
        """Start a read as soon as there is room for it; reads start in the order of these calls.

        A key that is expected already is expected once.

        Args:
            key: What to `take` it by.
            read: Makes the content, in another thread.
            size_bytes: About how large the content is.
        """
        with self._lock:
            if self._is_closed or key in self._waiting or key in self._started:
                return
            self._waiting[key] = _Expected(read, size_bytes)
            self._start_more()

    def take(self, key: Hashable, read: Callable[[], T]) -> T:
        """Return the content that was expected under a key, or read it now.

        A read that failed raises its error here. Once taken, a key is no longer expected.
        """
        with self._lock:
            self._waiting.pop(key, None)
            expected = self._started.get(key)
        if expected is None or expected.future is None:
            return read()
        try:
            content: T = expected.future.result()
        finally:
            with self._lock:
                if self._started.pop(key, None) is not None:
                    self._started_bytes -= expected.size_bytes
                    self._start_more()
        return content

    def drop(self, key: Hashable) -> None:
        """Expect a key no longer: nobody is going to take it."""
        with self._lock:
            self._waiting.pop(key, None)
            expected = self._started.pop(key, None)
            if expected is not None:
                self._started_bytes -= expected.size_bytes
                self._start_more()

    @property
    def is_full(self) -> bool:
        """Whether a read waits for room: it makes no sense to look further ahead."""
        return bool(self._waiting)

    def close(self) -> None:
        """Drop what has not started, and wait for what has."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _start_more(self) -> None:
        while self._waiting and not self._is_closed:
            key, expected = next(iter(self._waiting.items()))
            if self._started and self._started_bytes + expected.size_bytes > self._limit_bytes:
                return
            del self._waiting[key]
            if self._pool is None:
                self._pool = ThreadPoolExecutor(
                    self._most_requests, thread_name_prefix="headrace-read"
                )
            expected.future = self._pool.submit(expected.read)
            self._started[key] = expected
            self._started_bytes += expected.size_bytes
