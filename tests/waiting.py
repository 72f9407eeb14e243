"""Wait for what other threads and processes bring about, instead of sleeping for a guessed time."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], *, within_s: float = 20.0) -> float:
    """Wait until a condition is true, and return how long it took in seconds."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < within_s, "it did not become true in time"
        time.sleep(0.002)
    return time.monotonic() - start


def settled(count: Callable[[], int], *, quiet_s: float = 0.05) -> int:
    """Return a count that other threads change, once it has not changed for `quiet_s` seconds."""
    before, now = -1, count()
    while before != now:
        time.sleep(quiet_s)
        before, now = now, count()
    return now
