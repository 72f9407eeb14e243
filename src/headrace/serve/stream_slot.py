"""Limits the number and duration of streams, and drains them on shutdown.

A stream holds a slot until it ends, at most until its deadline. A watchdog thread stops overdue
streams and frees their slots, since the thread of a client that reads nothing is blocked in the
network and does not notice.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from headrace.errors import DeadlineExceededError, ServerBusyError, ServerDrainingError

_WATCH_S = 0.1
_RELEASE_S = 1.0


class StreamSlots:
    """The running streams of a server."""

    def __init__(
        self, *, max_streams: int, deadline_s: float, release: Callable[[], object] = lambda: None
    ) -> None:
        """Start without a stream.

        Args:
            max_streams: The maximum number of concurrent streams.
            deadline_s: The maximum duration of a stream.
            release: Returns unused memory to the system. It is called after streams have ended,
                at most once a second.
        """
        self.max_streams = max_streams
        self.deadline_s = deadline_s
        self._release = release
        self._released_at = time.monotonic()
        self._has_ended = False
        self._changed = threading.Condition()
        self._running: dict[int, _Running] = {}
        self._numbers = 0
        self._is_draining = False
        self._watchdog: threading.Thread | None = None

    @property
    def running(self) -> int:
        """The number of running streams."""
        return len(self._running)

    @property
    def is_draining(self) -> bool:
        """Whether new streams are refused."""
        return self._is_draining

    def refuse_when_draining(self) -> None:
        """Raise if the server is shutting down.

        Raises:
            ServerDrainingError: it is.
        """
        if self._is_draining:
            raise ServerDrainingError

    @contextmanager
    def taken(self, stop: Callable[[], None]) -> Iterator[Callable[[], None]]:
        """Hold a slot, and yield a check that raises when the stream exceeds its deadline.

        Args:
            stop: Stops the stream, from any thread.

        Raises:
            ServerBusyError: all slots are taken.
            ServerDrainingError: the server is shutting down.
        """
        number, running = self._enter(stop)
        try:
            yield lambda: self._check(running)
        finally:
            with self._changed:
                self._running.pop(number, None)
                self._has_ended = True
                self._changed.notify_all()

    def release_memory(self) -> None:
        """Return unused memory to the system soon, without waiting for it."""
        with self._changed:
            self._has_ended = True
            self._start_watching()

    def drain(self, *, patience_s: float) -> int:
        """Refuse new streams, wait for running ones, and stop those that take too long.

        Returns the number of streams that were stopped.
        """
        with self._changed:
            self._is_draining = True
            self._changed.wait_for(lambda: not self._running, patience_s)
            overdue = list(self._running.values())
        for running in overdue:
            running.is_drained = True
            running.stop()
        with self._changed:
            self._changed.wait_for(lambda: not self._running, 1.0)
        return len(overdue)

    def _enter(self, stop: Callable[[], None]) -> tuple[int, "_Running"]:
        with self._changed:
            self.refuse_when_draining()
            if len(self._running) >= self.max_streams:
                raise ServerBusyError(max_streams=self.max_streams)
            self._numbers += 1
            running = _Running(stop=stop, until=time.monotonic() + self.deadline_s)
            self._running[self._numbers] = running
            self._start_watching()
            return self._numbers, running

    def _start_watching(self) -> None:
        if self._watchdog is None or not self._watchdog.is_alive():
            self._watchdog = threading.Thread(
                target=self._watch, name="headrace-watchdog", daemon=True
            )
            self._watchdog.start()

    def _check(self, running: "_Running") -> None:
        if running.is_drained:
            raise ServerDrainingError
        if time.monotonic() > running.until:
            raise DeadlineExceededError(deadline_s=self.deadline_s)

    def _watch(self) -> None:
        """Stop overdue streams and release memory, until there is nothing left to do."""
        while True:
            with self._changed:
                self._changed.wait(_WATCH_S)
                now = time.monotonic()
                releases = self._has_ended and now - self._released_at >= _RELEASE_S
                if releases:
                    self._has_ended, self._released_at = False, now
                elif not self._running and not self._has_ended:
                    self._watchdog = None
                    return
                overdue = {n: r for n, r in self._running.items() if r.until < now}
                for number in overdue:
                    del self._running[number]
                    self._has_ended = True
                self._changed.notify_all()
            for running in overdue.values():
                running.stop()
            if releases:
                self._release()


class _Running(msgspec.Struct, kw_only=True):
    stop: Callable[[], None]
    until: float
    is_drained: bool = False
