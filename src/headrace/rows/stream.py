"""Several sources read at once, their batches given in order, never far ahead.

Each thread takes the next source, opens it and fills a short row of batches; whoever consumes
them empties these rows one after the other. What the next source is is found out by a thread,
too: so the log is read while data files are, and only as far as they are.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Generic, TypeVar

import msgspec

from headrace.engines.background import Background
from headrace.plan.cancellation import Cancellation

S = TypeVar("S")
B = TypeVar("B")


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How far the reading may be ahead of the consumer."""

    at_once: int
    """How many sources may be open, or read but not yet consumed."""
    ahead: int
    """How many batches of each may wait to be consumed."""
    start_with: int
    """How many sources to begin with; it doubles with each that is consumed."""


class _Lane(Generic[B]):
    """The batches of one source that are ready, and whether more will come."""

    def __init__(self, has_room: threading.Condition) -> None:
        self.has_room = has_room
        """Wakes the thread that fills it."""
        self.ready: deque[B] = deque()
        self.is_done = False
        self.error: BaseException | None = None


class OrderedStream(Generic[S, B]):
    """An iterator over the batches of all sources, which several threads read.

    The threads start with the first batch that is asked for, and have ended when `close` returns
    or the iterator does. An error is raised in its place, after all batches before it.
    """

    def __init__(
        self,
        sources: Generator[S, None, None],
        read: Callable[[S], Generator[B, None, None]],
        *,
        pace: Pace,
        cancellation: Cancellation | None = None,
        release: Callable[[], None] | None = None,
    ) -> None:
        """Prepare a stream; nothing is read.

        Args:
            sources: What is to be read, in order; it is advanced by one thread at a time.
            read: Makes the batches of a source, in a thread.
            pace: How far to be ahead.
            cancellation: What the sources look at while they give nothing.
            release: Called when no thread reads any more; perhaps more than once.
        """
        self._release = release
        self._shared = _Shared(sources, read, pace, cancellation or Cancellation())
        self._workers: list[Background] = []
        self._changing = threading.RLock()  # a handler of signals may close it at any point
        self._lane: _Lane[B] | None = None
        self._error: BaseException | None = None

    def __iter__(self) -> Iterator[B]:
        return self

    def __next__(self) -> B:
        # No generator does this: its frame would hold the stream, and nobody could drop it.
        if self._error is not None:
            raise self._error  # who asks again must not take it for the end
        try:
            self._start_workers()
            while self._lane is not None or self._to_next_lane():
                assert self._lane is not None
                batch = self._shared.take(self._lane)
                if batch is not None:
                    return batch
                self._lane = None
                self._shared.open_more()
        except BaseException as error:
            self._error = error
            self.close()
            raise
        self.close()
        raise StopIteration

    def stop(self) -> None:
        """Let the reading end soon, without waiting for it."""
        self._shared.stop()

    def close(self) -> None:
        """Stop, and wait until nothing is open any more."""
        self._shared.stop()
        if any(worker.is_current for worker in self._workers):
            return  # a reporter's wish: this very thread ends with its next step
        with self._changing:
            for worker in self._workers:
                worker.wait()
            self._shared.sources.close()
            if self._release is not None:
                self._release()

    def __del__(self) -> None:
        self._shared.stop()

    def _to_next_lane(self) -> bool:
        self._lane = self._shared.next_lane()
        return self._lane is not None

    def _start_workers(self) -> None:
        with self._changing:
            while len(self._workers) < self._shared.open_at_most and not self._shared.is_stopping:
                name = f"headrace-rows-{len(self._workers)}"
                self._workers.append(Background(self._shared.work, name=name))
            for worker in self._workers:
                worker.start()


class _Shared(Generic[S, B]):
    """What the threads and the consumer share: all of it changes under one lock.

    Each wait has a condition of its own, so that a batch wakes only the thread that waits for it.
    """

    def __init__(
        self,
        sources: Generator[S, None, None],
        read: Callable[[S], Generator[B, None, None]],
        pace: Pace,
        cancellation: Cancellation,
    ) -> None:
        self.sources = sources
        self.open_at_most = min(pace.start_with, pace.at_once)
        self._read = read
        self._pace = pace
        self._cancellation = cancellation
        self._lock = threading.RLock()
        self._is_ready = threading.Condition(self._lock)  # for the consumer
        self._may_open = threading.Condition(self._lock)  # for the thread that opens a source
        self._filling: set[_Lane[B]] = set()
        self._advancing = threading.Lock()
        self._lanes: deque[_Lane[B]] = deque()
        self._open = 0
        self._is_exhausted = False

    def stop(self) -> None:
        """Make every thread end at its next step."""
        with self._lock:
            self._cancellation.request()
            self._is_ready.notify_all()
            self._may_open.notify_all()
            for lane in self._filling:
                lane.has_room.notify_all()

    def next_lane(self) -> _Lane[B] | None:
        """The lane of the next source; None: there is none left."""
        with self._lock:
            self._is_ready.wait_for(lambda: self._lanes or self._is_exhausted or self.is_stopping)
            return self._lanes.popleft() if self._lanes and not self.is_stopping else None

    def take(self, lane: _Lane[B]) -> B | None:
        """The next batch of a lane; None: that was the last, or all is being stopped."""
        with self._lock:
            self._is_ready.wait_for(lambda: lane.ready or lane.is_done or self.is_stopping)
            if self.is_stopping:
                return None
            if lane.ready:
                lane.has_room.notify_all()
                return lane.ready.popleft()
            if lane.error is not None:
                raise lane.error
            return None

    def open_more(self) -> None:
        """A source has been consumed: there is room for another, and after it for twice as many."""
        with self._lock:
            self._open -= 1
            self.open_at_most = min(2 * self.open_at_most, self._pace.at_once)
            self._may_open.notify_all()

    def work(self) -> None:
        """What each thread does: source after source, until there are none or it is stopped."""
        while (found := self._next_source()) is not None:
            source, lane = found
            try:
                self._fill(lane, source)
            except BaseException as error:  # noqa: BLE001  (the consumer must hear whatever it is)
                lane.error = error
            with self._lock:
                lane.is_done = True
                self._filling.discard(lane)
                self._is_ready.notify_all()

    def _next_source(self) -> tuple[S, _Lane[B]] | None:
        # One thread advances the sources, and with them the log; lanes stand in their order.
        with self._advancing:
            with self._lock:
                self._may_open.wait_for(lambda: self._open < self.open_at_most or self._is_over())
                if self._is_over():
                    return None
                self._open += 1
            lane: _Lane[B] = _Lane(threading.Condition(self._lock))
            try:
                source = next(self.sources, None)
            except BaseException as error:  # noqa: BLE001  (the consumer must hear whatever it is)
                source, lane.error, lane.is_done = None, error, True
            with self._lock:
                self._is_exhausted = source is None
                if source is not None or lane.is_done:
                    self._lanes.append(lane)
                if source is not None:
                    self._filling.add(lane)
                self._is_ready.notify_all()
            return None if source is None else (source, lane)

    def _fill(self, lane: _Lane[B], source: S) -> None:
        with closing(self._read(source)) as batches:
            for batch in batches:
                with self._lock:
                    lane.has_room.wait_for(
                        lambda: len(lane.ready) < self._pace.ahead or self.is_stopping
                    )
                    if self.is_stopping:
                        return
                    lane.ready.append(batch)
                    self._is_ready.notify_all()

    @property
    def is_stopping(self) -> bool:
        return self._cancellation.is_requested

    def _is_over(self) -> bool:
        return self._is_exhausted or self.is_stopping
