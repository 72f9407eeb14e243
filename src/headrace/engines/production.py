"""The state that a producer and its threads share: units of work, lanes and cancellation.

The consumer's side is `headrace.engines.producer`. Methods are grouped by their caller: those that
the consumer calls take no lock, so a signal handler may interrupt them anywhere.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from enum import Enum
from queue import SimpleQueue
from typing import Any, Final, Generic, TypeVar

import msgspec

from headrace.engines.lane import End, Lane
from headrace.plan.cancellation import Cancellation, Cancelled

T = TypeVar("T")


class Order(Enum):
    """The order in which items reach the consumer."""

    BY_UNIT = "by unit"
    """All items of the first unit, then those of the second; one thread consumes them."""
    AS_MADE = "as made"
    """As the threads produce them. Several threads may consume them."""


class Backpressure(msgspec.Struct, frozen=True, kw_only=True):
    """How far the threads may be ahead of the consumer."""

    threads: int = 1
    """The number of units in progress. By unit: the number that are open or not yet consumed."""
    ahead: int = 1
    """The items, or their total `cost`, that may wait for the consumer; one item always may.
    By unit: per unit; as made: in total. 0, as made: each item is produced on demand."""
    start_with: int | None = None
    """By unit: how many units to start with. It doubles with each one consumed, up to `threads`."""


class _Nothing:
    """The type of `_NOTHING`, which marks the absence of a unit or an item."""


_NOTHING: Final = _Nothing()


class Job(Generic[T]):
    """The state that the threads and the consumer share."""

    def __init__(  # noqa: PLR0913  (the parts of a producer)
        self,
        make: Callable[[Iterator[Any]], Generator[T, None, None]],
        units: Iterable[Any],
        *,
        limits: Backpressure,
        order: Order,
        cancellation: Cancellation,
        release: Callable[[], object] | None,
        cost: Callable[[T], int] | None,
    ) -> None:
        self.make = make
        self.cost = cost or _unit_cost
        self._is_counted = cost is None and limits.ahead > 0
        self.shared_lane: Lane[T] | None = None
        self._limits = limits
        self._cancellation = cancellation
        self._release = release
        self._units = iter(units)
        self._advancing = threading.Lock()
        self._is_exhausted = False
        self._is_lifted = False
        self._leaving = threading.Lock()
        self._running = limits.threads
        self._lanes: SimpleQueue[Lane[T] | End] = SimpleQueue()
        self._openings: SimpleQueue[None] = SimpleQueue()
        self._filling: set[Lane[T]] = set()
        if order is Order.AS_MADE:
            self.shared_lane = self._new_lane()
            self.threads_now = limits.threads
        else:
            self.threads_now = min(limits.start_with or limits.threads, limits.threads)
            for _ in range(self.threads_now):
                self._openings.put(None)

    @property
    def is_parallel(self) -> bool:
        """Whether several threads may work."""
        return self._limits.threads > 1

    @property
    def was_cancelled(self) -> bool:
        """Whether cancellation was requested."""
        return self._cancellation.is_requested

    # Called by the consumer:

    def next_lane(self) -> Lane[T] | End:
        """Return the lane of the next unit; every later call returns the end."""
        lane = self._lanes.get()
        if isinstance(lane, End):
            self._lanes.put(lane)
        return lane

    def open_more(self) -> None:
        """After a unit is consumed, allow another one, and twice as many at once as before."""
        before = self.threads_now
        self.threads_now = min(2 * before, self._limits.threads)
        for _ in range(1 + self.threads_now - before):
            self._openings.put(None)

    def lift_limits(self) -> None:
        """Let the threads work on without waiting for the consumer."""
        self._is_lifted = True
        self.threads_now = self._limits.threads
        for _ in range(self.threads_now):
            self._openings.put(None)  # for threads that are waiting already
        for lane in tuple(self._filling):
            lane.lift_limit()

    def stop(self) -> None:
        """Make every thread end at its next step."""
        self._cancellation.request()
        self._openings.put(None)
        for lane in tuple(self._filling):
            lane.wake()

    def release(self) -> None:
        """Release the units, after all threads have ended."""
        close = getattr(self._units, "close", None)
        if close is not None:
            close()
        if self._release is not None:
            self._release()

    def abandon(self) -> None:
        """End every wait for items, after all threads have ended."""
        end = End(Cancelled() if self.was_cancelled else None)
        self._lanes.put(end)
        if self.shared_lane is not None:
            self.shared_lane.end(end)

    # Called by the threads:

    def check(self) -> None:
        """Raise `Cancelled` if cancellation was requested."""
        self._cancellation.check()

    def next_unit(self, worker: "Worker[T]") -> Any:
        """Return the next unit, and give the worker a lane for it; `_NOTHING` at the end."""
        is_ordered = self.shared_lane is None
        if is_ordered and not self._is_lifted:
            self._openings.get()
        with self._advancing:  # one thread at a time, so lanes have the order of their units
            if self._is_exhausted or self.was_cancelled:
                self._openings.put(None)  # for other waiting threads
                if not self._is_exhausted:
                    raise Cancelled
                return _NOTHING
            try:
                unit = next(self._units, _NOTHING)
            except BaseException:
                self._open_lane(worker)  # the error follows the items of earlier units
                self._exhaust()
                raise
            if unit is _NOTHING:
                self._exhaust()
            else:
                self._open_lane(worker)
            return unit

    def leave(self, lane: Lane[T] | None, end: End) -> None:
        """Record that a thread has no more work; as made, the last thread ends the items."""
        if lane is not None:
            self.finish_lane(lane, end)
        elif end.error is not None:
            self._lanes.put(end)
        with self._leaving:
            self._running -= 1
            is_last = not self._running
        if is_last and self.shared_lane is not None:
            self.shared_lane.end(End())

    def finish_lane(self, lane: Lane[T], end: End) -> None:
        """Record that a thread has no more items for a lane; a shared lane stays open."""
        if lane is not self.shared_lane:
            self._filling.discard(lane)
            lane.end(end)
        elif end.error is not None:
            lane.end(end)

    def _exhaust(self) -> None:
        self._is_exhausted = True
        self._lanes.put(End())
        self._openings.put(None)

    def _open_lane(self, worker: "Worker[T]") -> None:
        if self.shared_lane is None:
            worker.lane = self._new_lane()
            self._lanes.put(worker.lane)

    def _new_lane(self) -> Lane[T]:
        lane: Lane[T] = Lane(self._limits.ahead, self._cancellation, is_counted=self._is_counted)
        self._filling.add(lane)
        if self._is_lifted:  # after the lane was added, so that no lane is missed
            lane.lift_limit()
        return lane


class Worker(Generic[T]):
    """One thread: it takes units, and puts their items into a lane."""

    def __init__(self, job: Job[T]) -> None:
        self._job = job
        self.lane = job.shared_lane

    def run(self) -> None:
        """Work until there are no more units or the work is cancelled."""
        job, end = self._job, End()
        try:
            with closing(job.make(self._units())) as items:
                while (item := self._next(items)) is not _NOTHING:
                    assert self.lane is not None
                    self.lane.put(item, job.cost(item))
        except BaseException as error:  # noqa: BLE001  (whatever it is, the consumer must get it)
            end = End(error)
        job.leave(self.lane, end)

    def _next(self, items: Iterator[T]) -> Any:
        if self.lane is not None:
            self.lane.await_demand()
        self._job.check()
        return next(items, _NOTHING)

    def _units(self) -> Iterator[Any]:
        while True:
            if self.lane is not None:
                self._job.finish_lane(self.lane, End())
                self.lane = self._job.shared_lane
            unit = self._job.next_unit(self)
            if unit is _NOTHING:
                return
            yield unit


def _unit_cost(_: object) -> int:
    return 1
