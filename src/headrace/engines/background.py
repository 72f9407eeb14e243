"""A call in a thread of its own, which can be waited for whatever interrupts its start.

Python starts a thread and then waits until it runs. A signal may come in between: the thread runs
then, and its caller does not know. So the call says by itself that it has begun and
that it has ended; it is made once, however often it is started.
"""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

from headrace.errors import ReaderClosedError


class Background:
    """One call. A handler of signals may wait for it, too: nothing here is held while it waits."""

    def __init__(self, call: Callable[[], None], *, name: str) -> None:
        """Prepare the call; the thread holds on to it, and to nothing else of its caller."""
        self._call = call
        self._name = name
        self._beginning = threading.Lock()  # taken for ever by who begins, or rules it out
        self._ended: SimpleQueue[None] = SimpleQueue()
        self._process: int | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_current(self) -> bool:
        """Whether it is the call itself that asks."""
        return self._thread is threading.current_thread()

    @property
    def _is_elsewhere(self) -> bool:
        """Whether another process has started it, and this one is a fork of that."""
        return self._process not in {None, os.getpid()}

    def start(self) -> None:
        """Start it, unless it was.

        Raises:
            ReaderClosedError: it was started before this process was forked, and is not here.
        """
        if self._is_elsewhere:
            raise ReaderClosedError
        if self._process is None:
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            thread.start()
            self._process = os.getpid()

    def is_over(self) -> bool:
        """Whether it has ended, or is not in this process. What has not begun never will."""
        if self._beginning.acquire(blocking=False):
            self._ended.put(None)
        return self._is_elsewhere or not self._ended.empty()

    def wait(self) -> None:
        """Wait until it has ended, unless it is the call itself that waits."""
        if self.is_current or self._is_elsewhere:
            return
        self.is_over()
        self._ended.get()
        self._ended.put(None)  # for others who wait
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
