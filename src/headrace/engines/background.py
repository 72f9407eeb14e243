"""Runs a call in a thread, and can wait for it even if a signal interrupts its start.

Python starts a thread and then waits until it runs. If a signal arrives in between, the thread
runs without its caller knowing. So the call itself records that it has begun and ended; it runs
once, however often it is started.
"""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

from headrace.errors import ReaderClosedError


class Background:
    """One call. A signal handler may wait for it too: no lock is held while waiting."""

    def __init__(self, call: Callable[[], None], *, name: str) -> None:
        """Prepare the call; the thread references the call, and nothing else of its caller."""
        self._call = call
        self._name = name
        self._beginning = threading.Lock()  # acquired for good, to begin or to prevent it
        self._ended: SimpleQueue[None] = SimpleQueue()
        self._process: int | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_current(self) -> bool:
        """Whether the current thread is the one that runs the call."""
        return self._thread is threading.current_thread()

    @property
    def _is_elsewhere(self) -> bool:
        """Whether it was started in the parent process, before a fork."""
        return self._process not in {None, os.getpid()}

    def start(self) -> None:
        """Start it, unless it was started already.

        Raises:
            ReaderClosedError: it was started before this process was forked, and does not run here.
        """
        if self._is_elsewhere:
            raise ReaderClosedError
        if self._process is None:
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            thread.start()
            self._process = os.getpid()

    def is_over(self) -> bool:
        """Return whether it has ended, or runs in another process. Prevents a later start."""
        if self._beginning.acquire(blocking=False):
            self._ended.put(None)
        return self._is_elsewhere or not self._ended.empty()

    def wait(self) -> None:
        """Wait until it has ended, unless called from the call itself."""
        if self.is_current or self._is_elsewhere:
            return
        self.is_over()
        self._ended.get()
        self._ended.put(None)  # for other waiting threads
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        if not self._beginning.acquire(blocking=False):
            return
        self._thread = threading.current_thread()
        try:
            self._call()
        finally:
            self._ended.put(None)
