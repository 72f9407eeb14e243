"""The limits of one call of a store: how long a request may take, and what breaks it off.

`Retrier` sets them around every try, in the thread that makes it; a remote store looks them up
there. So the port itself needs no arguments for them.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import msgspec


class Stop(Protocol):
    """Tells that an answer is no longer wanted."""

    def check(self) -> None:
        """Raise if it is no longer wanted."""

    def on_request(self, action: Callable[[], object]) -> Callable[[], None]:
        """Call `action` once the stop is requested; what is returned takes that back."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a call."""

    timeout_ms: int = 20_000
    """The longest that a request may go without an answer, or without the next part of one."""
    deadline: float | None = None
    """The time of `time.monotonic` after which the whole call counts as failed."""
    stop: Stop | None = None

    def timeout_s(self) -> float:
        """Return how long the next step may take."""
        longest_s = self.timeout_ms / 1000
        if self.deadline is None:
            return longest_s
        return max(min(longest_s, self.deadline - time.monotonic()), 0.001)


_UNLIMITED = Call()
_CURRENT: ContextVar[Call | None] = ContextVar("headrace_call", default=None)


def current_call() -> Call:
    """Return the limits of the call that this thread makes."""
    return _CURRENT.get() or _UNLIMITED


@contextmanager
def limited(call: Call) -> Iterator[None]:
    """Set the limits of what this thread calls inside."""
    token = _CURRENT.set(call)
    try:
        yield
    finally:
        _CURRENT.reset(token)
