"""Retry policy: which failures to retry, how often, and how long to wait in between."""

import random
import time
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import msgspec

from headrace.errors import StoreFailedError, StoreThrottledError
from headrace.storage.call import Call, Stop, limited
from headrace.storage.failure import storage_errors

T = TypeVar("T")

_MAX_DOUBLINGS = 20
_THROTTLED = 3
"""When the store throttles, delays and the number of attempts are multiplied by this factor."""

OnRetry: TypeAlias = Callable[[str, int, StoreFailedError], None]
"""Called with the path, the number of the failed attempt, and its error."""


def ignore_retry(path: str, attempt: int, error: StoreFailedError) -> None:
    """Do nothing."""


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Retry limits for one read. A chunked read applies them afresh to each chunk."""

    attempts: int = 4
    """The maximum number of attempts."""
    backoff_ms: int = 50
    """The longest delay before the second attempt; it doubles with each further attempt."""
    deadline_ms: int = 30_000
    """No attempt starts later than this after the first; one that hangs is cancelled then.

    An attempt whose bytes keep arriving is not cancelled."""
    timeout_ms: int = 20_000
    """The longest time to wait for an answer, or for the next part of one."""


class Retrier(msgspec.Struct, frozen=True, kw_only=True):
    """Repeats a step until it succeeds or another attempt is pointless."""

    policy: RetryPolicy = RetryPolicy()
    on_retry: OnRetry = ignore_retry
    stop: Stop | None = None
    """Cancels a request in flight."""
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random

    def run(self, path: str, step: Callable[[], T]) -> T:
        """Run a step, retrying transient failures, and return its result.

        Raises:
            StorageError: the failure is not transient, or the attempts or time are exhausted.
        """
        started = self.clock()
        call = Call(
            timeout_ms=self.policy.timeout_ms,
            deadline=time.monotonic() + self.policy.deadline_ms / 1000,
            stop=self.stop,
        )
        attempt = 1
        while True:
            if self.stop is not None:
                self.stop.check()
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
            # Outside the handler, so that the next failure is not chained to this one.
            self.sleep(delay)
            attempt += 1

    def _delay_s(self, attempt: int) -> float:
        """Return a delay between half and all of the backoff, so that retries spread out."""
        longest_ms = self.policy.backoff_ms << min(attempt - 1, _MAX_DOUBLINGS)
        return longest_ms * (1 + self.jitter()) / 2000
