"""When to try again, and how long to wait before."""

import random
import time
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import msgspec

from headrace.errors import StoreFailedError, StoreThrottledError
from headrace.storage.call import Call, Stop, limited
from headrace.storage.failure import storage_errors

T = TypeVar("T")

_MOST_DOUBLINGS = 20
_THROTTLED = 3
"""A store that asks to slow down is waited for longer and tried more often, by this factor."""

OnRetry: TypeAlias = Callable[[str, int, StoreFailedError], None]
"""Called with the path, the number of the try that failed, and its error."""


def ignore_retry(path: str, attempt: int, error: StoreFailedError) -> None:
    """Tell nobody."""


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How patient one read is. A read of a long object has its patience anew for every piece."""

    attempts: int = 4
    """How often it is tried before it counts as failed."""
    backoff_ms: int = 50
    """How long to wait before the second try, at most; it doubles from there."""
    deadline_ms: int = 30_000
    """No try starts later than this after the first, and one that hangs is broken off then."""
    timeout_ms: int = 20_000
    """The longest that a request may go without an answer, or without the next part of one."""


class Retrier(msgspec.Struct, frozen=True, kw_only=True):
    """Takes steps until they succeed, or until it makes no sense to go on."""

    policy: RetryPolicy = RetryPolicy()
    on_retry: OnRetry = ignore_retry
    stop: Stop | None = None
    """Breaks off a request that is under way."""
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random

    def run(self, path: str, step: Callable[[], T]) -> T:
        """What the step gives, after as many tries as it takes.

        Raises:
            StorageError: it is not worth another try, or there were enough.
        """
        started = self.clock()
        call = Call(
            timeout_ms=self.policy.timeout_ms,
            deadline=time.monotonic() + self.policy.deadline_ms / 1000,
            stop=self.stop,
        )
        attempt = 1
        while True:
            try:
                with storage_errors(path), limited(call):
                    return step()
            except StoreFailedError as error:
                patience = _THROTTLED if isinstance(error, StoreThrottledError) else 1
                delay = self._delay_s(attempt) * patience
                late = self.clock() - started + delay > self.policy.deadline_ms / 1000
                if not error.transient or attempt >= self.policy.attempts * patience or late:
                    raise
                self.on_retry(path, attempt, error)
            # Outside of the handler, so that what fails next is not told as its consequence.
            self.sleep(delay)
            attempt += 1

    def _delay_s(self, attempt: int) -> float:
        """Between the half and the whole: readers that failed together come back apart."""
        longest_ms = self.policy.backoff_ms << min(attempt - 1, _MOST_DOUBLINGS)
        return longest_ms * (1 + self.jitter()) / 2000
