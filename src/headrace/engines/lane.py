"""A bounded queue from the threads that produce items to their consumer.

Items and their cost enter; the same items leave, then an `End`. A thread waits while the lane is
full. Both sides share `SimpleQueue`s; only the producing threads take the lock.
"""

import sys
import threading
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

import msgspec

from headrace.plan.cancellation import Cancellation

T = TypeVar("T")


class End(msgspec.Struct, frozen=True):
    """Marks the end of the items; `error` says why, unless the work is complete."""

    error: BaseException | None = None


class Lane(Generic[T]):
    """Items for the consumer, of one unit or of all units."""

    def __init__(self, limit: int, cancellation: Cancellation, *, is_counted: bool = False) -> None:
        """Create an empty lane.

        Args:
            limit: The total cost that may wait in it; 0: an item is produced on demand.
            cancellation: Ends the wait of threads when it is requested, after `wake`.
            is_counted: Whether every item costs 1. A waiting consumer then frees room before its
                item arrives, and the thread continues without waiting for it to be taken.
        """
        self._limit = limit
        self._is_counted = is_counted
        self._cancellation = cancellation
        self._ready: SimpleQueue[tuple[T, int] | End] = SimpleQueue()
        self._freed: SimpleQueue[int] = SimpleQueue()
        self._filling = threading.Lock()
        self._waiting_cost = 0

    def put(self, item: T, cost: int) -> None:
        """Add an item as soon as there is room for it.

        Raises:
            Cancelled: the work was cancelled.
        """
        with self._filling:
            while self._waiting_cost and self._waiting_cost + cost > self._limit > 0:
                self._cancellation.check()
                self._waiting_cost -= self._freed.get()
            self._waiting_cost += cost
        self._cancellation.check()
        self._ready.put((item, cost))

    def await_demand(self) -> None:
        """If the limit is 0, wait until the consumer asks for an item."""
        if not self._limit:
            self._freed.get()

    def take(self) -> T | End:
        """Wait for the next item and return it; every later call returns the end."""
        if not self._limit:
            self._freed.put(0)
        if not self._is_counted:
            return self._consumed(self._ready.get())
        self._freed.put(1)
        item = self._ready.get()
        if isinstance(item, End):
            self._ready.put(item)
            return item
        return item[0]

    def take_within(self, seconds: float) -> T | End | None:
        """Return the next item, or None if it takes longer. The limit must not be 0."""
        assert self._limit, "each call would ask for another item"
        try:
            item = self._ready.get(timeout=seconds) if seconds > 0 else self._ready.get_nowait()
        except Empty:
            return None
        return self._consumed(item)

    def _consumed(self, item: tuple[T, int] | End) -> T | End:
        if isinstance(item, End):
            self._ready.put(item)
            return item
        if self._limit:
            self._freed.put(item[1])
        return item[0]

    def end(self, end: End) -> None:
        """Signal the consumer that there are no more items."""
        self._ready.put(end)

    def lift_limit(self) -> None:
        """Let threads add items without waiting; only if the limit is not 0."""
        self._limit = sys.maxsize
        self.wake()

    def wake(self) -> None:
        """Make a thread that waits for room check the cancellation and the limit."""
        self._freed.put(0)
