"""Calling off work that other threads do."""

import threading


class Cancelled(BaseException):
    """The work was called off, and whoever wanted its answer has left.

    It is no `Exception`, so that nothing on its way takes it for a failure, and tries again.
    """


class Cancellation:
    """One wish that many threads see: to end soon, without an answer.

    Closing an iterator ends it where it gives something. Work that may go on for long without
    giving anything, or that waits, looks here as well.
    """

    def __init__(self) -> None:
        self._requested = threading.Event()

    @property
    def is_requested(self) -> bool:
        """Whether the work is to end."""
        return self._requested.is_set()

    def request(self) -> None:
        """Let the work end."""
        self._requested.set()

    def check(self) -> None:
        """Go on, if the work is still wanted.

        Raises:
            Cancelled: it is not.
        """
        if self._requested.is_set():
            raise Cancelled

    def sleep(self, seconds: float) -> None:
        """Wait, as long as the work is wanted.

        Raises:
            Cancelled: it is not.
        """
        self._requested.wait(seconds)
        self.check()
