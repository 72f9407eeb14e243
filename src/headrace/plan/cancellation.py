"""Calling off work that other threads do."""

import threading
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")


class Cancelled(BaseException):
    """The work was cancelled: nobody waits for its result.

    It is no `Exception`, so that nothing on its way takes it for a failure, and tries again.
    """


class Cancellation:
    """One wish that many threads see: to end soon, without an answer.

    Closing an iterator ends it where it gives something. Work that may go on for long without
    giving anything, or that waits, looks here as well.
    """

    def __init__(self) -> None:
        # Re-entrant, unlike an event: what requests it may be collected while its thread waits.
        self._changed = threading.Condition(threading.RLock())
        self._is_requested = False
        self._actions: list[Callable[[], object]] = []

    @property
    def is_requested(self) -> bool:
        """Whether the work is to end."""
        return self._is_requested

    def request(self) -> None:
        """Let the work end."""
        with self._changed:
            self._is_requested = True
            self._changed.notify_all()
            actions, self._actions = self._actions, []
        for action in actions:
            action()

    def on_request(self, action: Callable[[], object]) -> Callable[[], None]:
        """Call `action` once, when the end is requested, or at once if it has been.

        Returns:
            A function that takes this back.
        """
        with self._changed:
            if not self._is_requested:
                self._actions.append(action)
                return lambda: self._forget(action)
        action()
        return lambda: None

    def _forget(self, action: Callable[[], object]) -> None:
        with self._changed:
            if action in self._actions:
                self._actions.remove(action)

    def check(self) -> None:
        """Go on, if the work is still wanted.

        Raises:
            Cancelled: it is not.
        """
        if self._is_requested:
            raise Cancelled

    def watched(self, items: Iterable[T]) -> Generator[T, None, None]:
        """The items, as long as they are wanted; what can be closed is closed at the end.

        Raises:
            Cancelled: they are not wanted any more.
        """
        try:
            for item in items:
                self.check()
                yield item
        finally:  # and not whenever nobody holds on to it: a traceback may
            close = getattr(items, "close", None)
            if close is not None:
                close()

    def sleep(self, seconds: float) -> None:
        """Wait, as long as the work is wanted.

        Raises:
            Cancelled: it is not.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_requested, seconds)
        self.check()
