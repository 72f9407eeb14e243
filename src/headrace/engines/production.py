"""What a producer and its threads share: the units of work, the lanes, and when to stop.

The consumer's side is `headrace.engines.producer`. Methods say by whom they are called: what the
consumer calls takes no lock, so that a signal handler may interrupt it anywhere.
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
    """In which order items reach the consumer."""

    BY_UNIT = "by unit"
    """All items of the first unit, then those of the second; one thread consumes them."""
    AS_MADE = "as made"
    """As the threads make them. Several threads may consume them."""


class Backpressure(msgspec.Struct, frozen=True, kw_only=True):
    """How far the threads may be ahead of the consumer."""

    threads: int = 1
    """How many units are worked on at once. By unit: how many are open or not yet consumed."""
    ahead: int = 1
    """How much may wait for the consumer, in items or in what `cost` returns; one item always may.
    By unit: of each unit; as made: of all together. 0, as made: each is made when asked for."""
    start_with: int | None = None
    """How many units to begin with, by unit. It doubles with each one consumed, up to `threads`."""


class _Nothing:
    """Stands for a unit or an item that does not exist."""


_NOTHING: Final = _Nothing()


class Job(Generic[T]):
    """What the threads and the consumer share."""

    def __init__(  # noqa: PLR0913  (what a producer is made of)
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
        self.cost = cost or _one
        self._is_counted = cost is None and limits.ahead > 0
        self.shared_lane: Lane[T] | None = None
        self._limits = limits
        self._cancellation = cancellation
        self._release = release
        self._units = iter(units)
        self._advancing = threading.Lock()
        self._is_exhausted = False
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
        """Whether the work is to end early."""
        return self._cancellation.is_requested

    # By the consumer:

    def next_lane(self) -> Lane[T] | End:
        """The lane of the next unit; the end is given to everyone who asks."""
        lane = self._lanes.get()
        if isinstance(lane, End):
            self._lanes.put(lane)
        return lane

    def open_more(self) -> None:
        """A unit has been consumed: allow another, and twice as many at once as before."""
        before = self.threads_now
        self.threads_now = min(2 * before, self._limits.threads)
        for _ in range(1 + self.threads_now - before):
            self._openings.put(None)

    def stop(self) -> None:
        """Make every thread end at its next step."""
        self._cancellation.request()
        self._openings.put(None)
        for lane in tuple(self._filling):
            lane.wake()

    def release(self) -> None:
        """No thread runs: let go of the units."""
        close = getattr(self._units, "close", None)
        if close is not None:
            close()
        if self._release is not None:
            self._release()

    def abandon(self) -> None:
        """No thread runs: let nobody wait for items."""
        end = End(Cancelled() if self.was_cancelled else None)
        self._lanes.put(end)
        if self.shared_lane is not None:
            self.shared_lane.end(end)

    # By the threads:

    def check(self) -> None:
        """Raise `Cancelled` if the work is to end early."""
        self._cancellation.check()

    def next_unit(self, worker: "Worker[T]") -> Any:
        """The next unit, for which the worker has a lane; `_NOTHING` at the end."""
        is_ordered = self.shared_lane is None
        if is_ordered:
            self._openings.get()
        with self._advancing:  # by one thread: lanes stand in the order of their units
            if self._is_exhausted or self.was_cancelled:
                self._openings.put(None)  # for the other threads that wait
                if not self._is_exhausted:
                    raise Cancelled
                return _NOTHING
            try:
                unit = next(self._units, _NOTHING)
            except BaseException:
                self._open_lane(worker)  # the error comes after the items of earlier units
                self._exhaust()
                raise
            if unit is _NOTHING:
                self._exhaust()
            else:
                self._open_lane(worker)
            return unit

    def leave(self, lane: Lane[T] | None, end: End) -> None:
        """A thread has no more work; as made, there are no more items after the last one."""
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
        """A thread has no more items for a lane; one that all threads share stays open."""
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
        return lane


class Worker(Generic[T]):
    """One thread: it takes units, makes their items and hands them over."""

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


def _one(_: object) -> int:
    return 1
