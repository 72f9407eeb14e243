"""Ctrl-C, taken note of at once and obeyed at a safe place.

Raised wherever the main thread happens to be, it may break into a call to the JVM, whose answer the
next call would then take for its own. PySpark's handler even calls the JVM itself, and waits for an
answer that never comes.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupts:
    """Whether someone has pressed Ctrl-C."""

    def __init__(self) -> None:
        """Begin without."""
        self._pressed = threading.Event()

    def note(self, *_: object) -> None:
        """Take note of it; this is what a signal calls."""
        self._pressed.set()

    def obey(self) -> None:
        """End what is going on, if someone wants that.

        Raises:
            KeyboardInterrupt: someone does.
        """
        if self._pressed.is_set():
            raise KeyboardInterrupt


@contextmanager
def noted_interrupts() -> Iterator[Interrupts]:
    """Take note of Ctrl-C instead of being interrupted; only the main thread ever hears it."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    before = signal.signal(signal.SIGINT, interrupts.note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
