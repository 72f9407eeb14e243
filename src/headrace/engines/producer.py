"""A bounded producer: threads produce items for an iterator, with backpressure.

Units of work enter: files, row groups, or a single generator. Items leave through an iterator, in
the order of the units or as they are produced. The items that wait for the consumer are bounded,
by number or by size. Closing the iterator, dropping it or requesting its cancellation ends the
threads at their next step; a waiting consumer then gets an error instead of a short answer.

Consumer and threads share only `SimpleQueue`s, and only the threads take the locks of `Lane` and
`Job`. A signal handler may therefore close the iterator at any point of its consumer.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Generic, Self, TypeVar

from headrace.engines.background import Background
from headrace.engines.lane import End
from headrace.engines.production import Backpressure, Job, Order, Worker
from headrace.errors import ReaderClosedError
from headrace.plan.cancellation import Cancellation, Cancelled

U = TypeVar("U")
T = TypeVar("T")


class Producer(Generic[T]):
    """An iterator over items that threads produce; they start with the first `next`."""

    def __init__(  # noqa: PLR0913  (the parts of a producer)
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
            make: Produces the items of the units that one thread takes, in that thread.
            units: The units of work; advanced by one thread at a time.
            backpressure: How far the threads may be ahead of the consumer.
            order: The order of the items.
            cancellation: Ends the work when requested; the work itself may check it too.
            release: Called once, after all threads have ended.
            cost: The cost of an item against `ahead`; by default 1.
            name: The name of the threads.
        """
        self._job = Job(
            make,
            units,
            limits=backpressure or Backpressure(),
            order=order,
            cancellation=cancellation or Cancellation(),
            release=release,
            cost=cost,
        )
        self._name = name
        self._changing = threading.RLock()  # a signal handler may close it meanwhile
        self._workers: list[Background] = []
        self._lane = self._job.shared_lane
        self._end: End | None = None
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
            raise ReaderClosedError  # a plain end would look like a complete answer
        while True:
            lane = self._lane
            if lane is None:
                next_lane = self._job.next_lane()
                if isinstance(next_lane, End):
                    raise self._finish(next_lane)
                self._lane = lane = next_lane
            item = lane.take()
            if not isinstance(item, End):
                return item
            if lane is self._job.shared_lane or item.error is not None or self._was_cut:
                raise self._finish(item)
            self._lane = None
            self._job.open_more()
            self._start()

    def next_within(self, seconds: float) -> T | None:
        """Return the next item, or None if it takes longer; only for `Order.AS_MADE`.

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
        if isinstance(item, End):
            raise self._finish(item)
        return item

    def lift_backpressure(self) -> None:
        """Produce the remaining items without waiting; only for `Order.BY_UNIT`.

        For a consumer that keeps every item: holding the threads back would save no memory. They
        still work on at most `threads` units at once.
        """
        assert self._job.shared_lane is None, "items as made have no lanes to widen"
        self._job.lift_limits()

    def stop(self) -> None:
        """End the work soon, without waiting for it."""
        with self._changing:
            self._was_cut = not self._has_ended
        self._job.stop()

    def close(self) -> None:
        """End the work and wait until no thread runs.

        A consumer that waits or asks for an item gets `ReaderClosedError`, unless the end had been
        reached.
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
        """Start the threads that may work now; False if it was closed."""
        with self._changing:
            if not self._was_cut:
                while len(self._workers) < self._job.threads_now:
                    worker = Worker(self._job)
                    number = f"-{len(self._workers)}" if self._job.is_parallel else ""
                    self._workers.append(Background(worker.run, name=self._name + number))
                for started in self._workers:
                    started.start()
            return not self._was_cut

    def _wait(self) -> None:
        if any(worker.is_current for worker in self._workers):
            return  # a thread closes its own producer: it ends at its next step
        for worker in tuple(self._workers):
            worker.wait()
        with self._changing:
            is_first, self._was_released = not self._was_released, True
            if is_first:
                self._job.release()
        self._job.abandon()

    def _finish(self, end: End) -> BaseException:
        """Wait for the threads, and return the exception that ends the iteration."""
        self._end = self._end or end
        was_cancelled = isinstance(end.error, Cancelled) and self._job.was_cancelled
        if end.error is not None:
            self._job.stop()  # the work of the other threads is not needed
        self._wait()
        if self._was_cut or was_cancelled:
            self._was_cut = True
            return ReaderClosedError()
        self._has_ended = True
        return StopIteration() if end.error is None else end.error


def one_at_a_time(
    read: Callable[[U], Generator[T, None, None]],
) -> Callable[[Iterator[U]], Generator[T, None, None]]:
    """Build a `make` function that reads each unit separately."""

    def make(units: Iterator[U]) -> Generator[T, None, None]:
        for unit in units:
            with closing(read(unit)) as items:
                yield from items

    return make


def in_order(
    read: Callable[[U], T], units: Iterable[U], *, threads: int, name: str
) -> Generator[T, None, None]:
    """Yield the result of each unit, in the order of the units.

    At most `threads` units are in progress or wait for the consumer. With one thread, each is read
    lazily in the calling thread.
    """
    if threads <= 1:
        yield from map(read, units)
        return

    def read_one(unit: U) -> Generator[T, None, None]:
        yield read(unit)

    limits = Backpressure(threads=threads)
    make = one_at_a_time(read_one)
    with Producer(make, units, order=Order.BY_UNIT, backpressure=limits, name=name) as results:
        yield from results


def in_parallel(
    make: Callable[[Iterator[U]], Generator[T, None, None]], units: Iterable[U], *, threads: int
) -> Generator[T, None, None]:
    """Yield the items of units in any order; with one thread, lazily in the calling thread."""
    if threads <= 1:
        yield from make(iter(units))
        return
    limits = Backpressure(threads=threads, ahead=threads)
    with Producer(make, units, backpressure=limits, name="headrace-leaf") as items:
        yield from items
