"""A lane carries items from the threads that make them to the consumer that takes them.

Items and their cost enter, the same items leave, then an `End`. A thread waits while the lane is
full. Both sides share `SimpleQueue`s; the lock is taken by the producing threads alone.
"""

import threading
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

import msgspec

from headrace.plan.cancellation import Cancellation

T = TypeVar("T")


class End(msgspec.Struct, frozen=True):
    """There are no more items; `error` says why, unless the work is complete."""

    error: BaseException | None = None


class Lane(Generic[T]):
    """Items on their way to the consumer: of one unit, or of all."""

    def __init__(self, limit: int, cancellation: Cancellation, *, is_counted: bool = False) -> None:
        """Create an empty lane.

        Args:
            limit: How much may wait in it; 0: an item is made when it is asked for.
            cancellation: Ends the waiting of threads when it is requested, after `wake`.
            is_counted: Whether every item costs 1: a consumer that waits then makes room before
                its item is there, and the thread goes on without waiting for it to be taken.
        """
        self._limit = limit
        self._is_counted = is_counted
        self._cancellation = cancellation
        self._ready: SimpleQueue[tuple[T, int] | End] = SimpleQueue()
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

    def take(self) -> T | End:
        """The next item, as soon as it is there; the end is given to everyone who asks."""
        if not self._limit:
            self._freed.put(0)
        if not self._is_counted:
            return self._taken(self._ready.get())
        self._freed.put(1)
        item = self._ready.get()
        if isinstance(item, End):
            self._ready.put(item)
            return item
        return item[0]

    def take_within(self, seconds: float) -> T | End | None:
        """The next item, or None if it takes longer. Something must be allowed to be ahead."""
        assert self._limit, "each call would ask for another item"
        try:
            item = self._ready.get(timeout=seconds) if seconds > 0 else self._ready.get_nowait()
        except Empty:
            return None
        return self._taken(item)

    def _taken(self, item: tuple[T, int] | End) -> T | End:
        if isinstance(item, End):
            self._ready.put(item)
            return item
        if self._limit:
            self._freed.put(item[1])
        return item[0]

    def end(self, end: End) -> None:
        """Let the consumer know that there are no more items."""
        self._ready.put(end)

    def wake(self) -> None:
        """Let the thread that waits for room look at the cancellation."""
        self._freed.put(0)
