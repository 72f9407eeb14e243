"""Cancellation of work across threads."""

import threading
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")


class Cancelled(BaseException):
    """The work was cancelled: no caller is waiting for its result.

    It does not derive from `Exception`, so that no handler treats it as a failure and retries.
    """


class Cancellation:
    """A request, visible to many threads, to end soon without a result.

    Closing an iterator ends it at its next `yield`. Work that may run for long without yielding,
    or that waits, must check here as well.
    """

    def __init__(self) -> None:
        # Re-entrant, unlike an event: the garbage collector may run code that requests the
        # cancellation in the very thread that waits here.
        self._changed = threading.Condition(threading.RLock())
        self._is_requested = False
        self._actions: list[Callable[[], object]] = []

    @property
    def is_requested(self) -> bool:
        """Whether cancellation was requested."""
        return self._is_requested

    def request(self) -> None:
        """Request cancellation."""
        with self._changed:
            self._is_requested = True
            self._changed.notify_all()
            actions, self._actions = self._actions, []
        for action in actions:
            action()

    def on_request(self, action: Callable[[], object]) -> Callable[[], None]:
        """Call `action` once when cancellation is requested, or now if it already was.

        Returns:
            A function that unregisters the action.
        """
        with self._changed:
            if not self._is_requested:
                self._actions.append(action)
                return lambda: self._forget(action)
        action()
        return lambda: None

    def linked(self) -> "Cancellation":
        """Return a cancellation that is requested with this one, and can be requested alone.

        Requesting it also removes the link.
        """
        linked = Cancellation()
        linked._actions.append(self.on_request(linked.request))
        return linked

    def _forget(self, action: Callable[[], object]) -> None:
        with self._changed:
            if action in self._actions:
                self._actions.remove(action)

    def check(self) -> None:
        """Raise if cancellation was requested.

        Raises:
            Cancelled: it was requested.
        """
        if self._is_requested:
            raise Cancelled

    def watched(self, items: Iterable[T]) -> Generator[T, None, None]:
        """Yield the items until cancellation; close their source at the end, if it can be closed.

        Raises:
            Cancelled: cancellation was requested.
        """
        try:
            for item in items:
                self.check()
                yield item
        finally:  # not left to the garbage collector: a traceback may keep a reference
            close = getattr(items, "close", None)
            if close is not None:
                close()

    def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`, or until cancellation.

        Raises:
            Cancelled: cancellation was requested.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_requested, seconds)
        self.check()
