"""Defers Ctrl-C to a safe point.

A `KeyboardInterrupt` in the middle of a call to the JVM leaves an unread reply, which the next call
would take for its own. PySpark's own handler calls the JVM and waits for a reply that never comes.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupts:
    """Remembers that Ctrl-C was pressed."""

    def __init__(self) -> None:
        """Start without a pending interrupt."""
        self._pressed = threading.Event()

    def note(self, *_: object) -> None:
        """Remember an interrupt; this is the signal handler."""
        self._pressed.set()

    def raise_pending(self) -> None:
        """Raise the pending interrupt, if there is one.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        if self._pressed.is_set():
            raise KeyboardInterrupt


@contextmanager
def deferred_interrupts() -> Iterator[Interrupts]:
    """Remember Ctrl-C instead of raising; only the main thread receives signals."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    previous_handler = signal.signal(signal.SIGINT, interrupts.note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, previous_handler)
