"""The limits of one store call: timeout, deadline and cancellation.

`Retrier` sets them around each attempt, in the thread that makes it, and a remote store looks them
up there. So the store interface needs no arguments for them.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import msgspec


class Stop(Protocol):
    """A cancellation signal."""

    def check(self) -> None:
        """Raise if a stop has been requested."""

    def on_request(self, action: Callable[[], object]) -> Callable[[], None]:
        """Call `action` once a stop is requested; return a function that unregisters it."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a call."""

    timeout_ms: int = 20_000
    """The longest time to wait for an answer, or for the next part of one."""
    deadline: float | None = None
    """The `time.monotonic` time after which the whole call has failed."""
    stop: Stop | None = None

    def remaining_s(self) -> float | None:
        """Return the time until the deadline; None if there is none."""
        return None if self.deadline is None else max(self.deadline - time.monotonic(), 0.001)

    def timeout_s(self) -> float:
        """Return the timeout of the next step."""
        longest_s, remaining_s = self.timeout_ms / 1000, self.remaining_s()
        return longest_s if remaining_s is None else min(longest_s, remaining_s)


_UNLIMITED = Call()
_CURRENT: ContextVar[Call | None] = ContextVar("headrace_call", default=None)


def current_call() -> Call:
    """Return the limits of this thread's current call."""
    return _CURRENT.get() or _UNLIMITED


@contextmanager
def limited(call: Call) -> Iterator[None]:
    """Set the limits for this thread's calls inside the context."""
    token = _CURRENT.set(call)
    try:
        yield
    finally:
        _CURRENT.reset(token)
