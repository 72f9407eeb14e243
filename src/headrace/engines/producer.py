"""The one bounded producer: threads make items, a consumer takes them and holds the threads back.

Units of work enter: files, row groups, or a single generator. Items leave through an iterator, in
the order of the units or as they are made. What is made and not yet taken is bounded, by the number
of items or by their size. Closing the iterator, dropping it or requesting its cancellation ends the
threads at their next step, and a consumer that waits gets an error instead of a short answer.

Consumer and threads share nothing but `SimpleQueue`s. A signal handler may therefore close the
iterator at any point of its consumer; the locks below are taken by the producing threads alone.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from enum import Enum
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, Self, TypeVar

import msgspec

from headrace.engines.background import Background
from headrace.errors import ReaderClosedError
from headrace.plan.cancellation import Cancellation, Cancelled

U = TypeVar("U")
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


class _End(msgspec.Struct, frozen=True):
    """There are no more items; `error` says why, unless the work is complete."""

    error: BaseException | None = None


class _Nothing:
    """Stands for a unit or an item that does not exist."""


_NOTHING: Final = _Nothing()


class Producer(Generic[T]):
    """An iterator over items that threads make; they start when the first item is asked for."""

    def __init__(  # noqa: PLR0913  (what a producer is made of)
        self,
        make: Callable[[Iterator[U]], Generator[T, None, None]],
        units: Iterable[U] = (),
        *,
        backpressure: Backpressure | None = None,
        order: Order = Order.AS_MADE,
        cancellation: Cancellation | None = None,
        release: Callable[[], object] | None = None,
        cost: Callable[[T], int] | None = None,
        name: str = "headrace-producer",
    ) -> None:
        """Prepare the work; nothing starts.

        Args:
            make: Makes the items of the units that one thread takes, in that thread.
            units: What to work on; it is advanced by one thread at a time.
            backpressure: How far to be ahead.
            order: In which order the items are given.
            cancellation: Ends the work when requested; the work itself may check it, too.
            release: Called once, when no thread works any more.
            cost: What an item counts against `ahead`; by default 1.
            name: The name of the threads.
        """
        self._job = _Job(
            make,
            units,
            limits=backpressure or Backpressure(),
            order=order,
            cancellation=cancellation or Cancellation(),
            release=release,
            cost=cost or _one,
        )
        self._name = name
        self._changing = threading.RLock()  # a signal handler may close it meanwhile
        self._workers: list[Background] = []
        self._lane = self._job.shared_lane
        self._end: _End | None = None
        self._has_ended = False
        self._was_cut = False
        self._was_released = False

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        # Not a generator: its frame would keep the producer alive after its consumer dropped it.
        if self._end is not None:
            raise self._finish(self._end)
        if not self._start():
            raise ReaderClosedError  # the end of an iteration would pass for a complete answer
        while True:
            lane = self._lane
            if lane is None:
                next_lane = self._job.next_lane()
                if isinstance(next_lane, _End):
                    raise self._finish(next_lane)
                self._lane = lane = next_lane
            item = lane.take()
            if not isinstance(item, _End):
                return item
            if lane is self._job.shared_lane or item.error is not None or self._was_cut:
                raise self._finish(item)
            self._lane = None
            self._job.open_more()
            self._start()

    def next_within(self, seconds: float) -> T | None:
        """Return the next item, or None if it takes longer; for items given as they are made.

        Raises:
            StopIteration: there are no more items.
            ReaderClosedError: this was stopped before the end.
        """
        lane = self._job.shared_lane
        assert lane is not None, "items by unit are awaited unit by unit"
        if self._end is not None:
            raise self._finish(self._end)
        if not self._start():
            raise ReaderClosedError
        item = lane.take_within(seconds)
        if isinstance(item, _End):
            raise self._finish(item)
        return item

    def stop(self) -> None:
        """End the work soon, without waiting for it."""
        with self._changing:
            self._was_cut = not self._has_ended
        self._job.stop()

    def close(self) -> None:
        """End the work and wait until no thread runs.

        A consumer that waits for an item, or asks for one, gets `ReaderClosedError` unless the end
        had been reached.
        """
        self.stop()
        self._wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._job.stop()

    def _start(self) -> bool:
        """Start the threads that may work now; False: it was closed."""
        with self._changing:
            if not self._was_cut:
                while len(self._workers) < self._job.threads_now:
                    worker = _Worker(self._job)
                    number = f"-{len(self._workers)}" if self._job.is_parallel else ""
                    self._workers.append(Background(worker.run, name=self._name + number))
                for started in self._workers:
                    started.start()
            return not self._was_cut

    def _wait(self) -> None:
        if any(worker.is_current for worker in self._workers):
            return  # a thread closes its own producer: it ends with its next step
        for worker in tuple(self._workers):
            worker.wait()
        with self._changing:
            is_first, self._was_released = not self._was_released, True
            if is_first:
                self._job.release()
        self._job.abandon()

    def _finish(self, end: _End) -> BaseException:
        """The exception that ends the iteration, once no thread runs."""
        self._end = self._end or end
        was_cancelled = isinstance(end.error, Cancelled) and self._job.was_cancelled
        if end.error is not None:
            self._job.stop()  # the other threads work for nobody
        self._wait()
        if self._was_cut or was_cancelled:
            self._was_cut = True
            return ReaderClosedError()
        self._has_ended = True
        return StopIteration() if end.error is None else end.error


class _Lane(Generic[T]):
    """Items on their way to the consumer: of one unit, or of all."""

    def __init__(self, limit: int, cancellation: Cancellation) -> None:
        self._limit = limit
        self._cancellation = cancellation
        self._ready: SimpleQueue[tuple[T, int] | _End] = SimpleQueue()
        self._freed: SimpleQueue[int] = SimpleQueue()
        self._filling = threading.Lock()
        self._waiting_cost = 0

    def put(self, item: T, cost: int) -> None:
        """Hand an item over, as soon as there is room for it.

        Raises:
            Cancelled: it is no longer wanted.
        """
        with self._filling:
            while self._waiting_cost and self._waiting_cost + cost > self._limit > 0:
                self._cancellation.check()
                self._waiting_cost -= self._freed.get()
            self._waiting_cost += cost
        self._cancellation.check()
        self._ready.put((item, cost))

    def await_demand(self) -> None:
        """Where nothing may be ahead, wait until the consumer asks for an item."""
        if not self._limit:
            self._freed.get()

    def take(self) -> T | _End:
        """The next item, as soon as it is there; the end is given to everyone who asks."""
        if not self._limit:
            self._freed.put(0)
        return self._taken(self._ready.get())

    def take_within(self, seconds: float) -> T | _End | None:
        """The next item, or None if it takes longer. Something must be allowed to be ahead."""
        assert self._limit, "each call would ask for another item"
        try:
            item = self._ready.get(timeout=seconds) if seconds > 0 else self._ready.get_nowait()
        except Empty:
            return None
        return self._taken(item)

    def _taken(self, item: tuple[T, int] | _End) -> T | _End:
        if isinstance(item, _End):
            self._ready.put(item)
            return item
        if self._limit:
            self._freed.put(item[1])
        return item[0]

    def end(self, end: _End) -> None:
        self._ready.put(end)

    def wake(self) -> None:
        """Let the thread that waits for room look at the cancellation."""
        self._freed.put(0)


class _Job(Generic[T]):
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
        cost: Callable[[T], int],
    ) -> None:
        self.make = make
        self.cost = cost
        self.shared_lane: _Lane[T] | None = None
        self._limits = limits
        self._cancellation = cancellation
        self._release = release
        self._units = iter(units)
        self._advancing = threading.Lock()
        self._is_exhausted = False
        self._leaving = threading.Lock()
        self._running = limits.threads
        self._lanes: SimpleQueue[_Lane[T] | _End] = SimpleQueue()
        self._openings: SimpleQueue[None] = SimpleQueue()
        self._filling: set[_Lane[T]] = set()
        if order is Order.AS_MADE:
            self.shared_lane = self._new_lane()
            self.threads_now = limits.threads
        else:
            self.threads_now = min(limits.start_with or limits.threads, limits.threads)
            for _ in range(self.threads_now):
                self._openings.put(None)

    @property
    def is_parallel(self) -> bool:
        return self._limits.threads > 1

    @property
    def was_cancelled(self) -> bool:
        return self._cancellation.is_requested

    # By the consumer:

    def next_lane(self) -> _Lane[T] | _End:
        """The lane of the next unit; the end is given to everyone who asks."""
        lane = self._lanes.get()
        if isinstance(lane, _End):
            self._lanes.put(lane)
        return lane

    def open_more(self) -> None:
        """A unit has been consumed: allow another, and twice as many at once as before."""
        before = self.threads_now
        self.threads_now = min(2 * before, self._limits.threads)
        for _ in range(1 + self.threads_now - before):
            self._openings.put(None)

    def stop(self) -> None:
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
        end = _End(Cancelled() if self.was_cancelled else None)
        self._lanes.put(end)
        if self.shared_lane is not None:
            self.shared_lane.end(end)

    # By the threads:

    def check(self) -> None:
        self._cancellation.check()

    def next_unit(self, worker: "_Worker[T]") -> Any:
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

    def leave(self, lane: _Lane[T] | None, end: _End) -> None:
        """A thread has no more work; as made, there are no more items after the last one."""
        if lane is not None:
            self.finish_lane(lane, end)
        elif end.error is not None:
            self._lanes.put(end)
        with self._leaving:
            self._running -= 1
            is_last = not self._running
        if is_last and self.shared_lane is not None:
            self.shared_lane.end(_End())

    def finish_lane(self, lane: _Lane[T], end: _End) -> None:
        if lane is not self.shared_lane:
            self._filling.discard(lane)
            lane.end(end)
        elif end.error is not None:
            lane.end(end)

    def _exhaust(self) -> None:
        self._is_exhausted = True
        self._lanes.put(_End())
        self._openings.put(None)

    def _open_lane(self, worker: "_Worker[T]") -> None:
        if self.shared_lane is None:
            worker.lane = self._new_lane()
            self._lanes.put(worker.lane)

    def _new_lane(self) -> _Lane[T]:
        lane: _Lane[T] = _Lane(self._limits.ahead, self._cancellation)
        self._filling.add(lane)
        return lane


class _Worker(Generic[T]):
    """One thread: it takes units, makes their items and hands them over."""

    def __init__(self, job: _Job[T]) -> None:
        self._job = job
        self.lane = job.shared_lane

    def run(self) -> None:
        """Work until there are no more units or the work is cancelled."""
        job, end = self._job, _End()
        try:
            with closing(job.make(self._units())) as items:
                while (item := self._next(items)) is not _NOTHING:
                    assert self.lane is not None
                    self.lane.put(item, job.cost(item))
        except BaseException as error:  # noqa: BLE001  (whatever it is, the consumer must get it)
            end = _End(error)
        job.leave(self.lane, end)

    def _next(self, items: Iterator[T]) -> Any:
        if self.lane is not None:
            self.lane.await_demand()
        self._job.check()
        return next(items, _NOTHING)

    def _units(self) -> Iterator[Any]:
        while True:
            if self.lane is not None:
                self._job.finish_lane(self.lane, _End())
                self.lane = self._job.shared_lane
            unit = self._job.next_unit(self)
            if unit is _NOTHING:
                return
            yield unit


def one_at_a_time(
    read: Callable[[U], Generator[T, None, None]],
) -> Callable[[Iterator[U]], Generator[T, None, None]]:
    """For `make`: read each unit by itself."""

    def make(units: Iterator[U]) -> Generator[T, None, None]:
        for unit in units:
            with closing(read(unit)) as items:
                yield from items

    return make


def in_parallel(
    make: Callable[[Iterator[U]], Generator[T, None, None]], units: Iterable[U], *, threads: int
) -> Generator[T, None, None]:
    """Yield the items of some units in any order; with one thread, lazily in the caller's own."""
    if threads <= 1:
        yield from make(iter(units))
        return
    limits = Backpressure(threads=threads, ahead=threads)
    with Producer(make, units, backpressure=limits, name="headrace-leaf") as items:
        yield from items


def _one(_: object) -> int:
    return 1
