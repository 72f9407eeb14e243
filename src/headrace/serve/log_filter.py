"""Keeps clients from filling a server's log.

The log records of uvicorn enter. Failures of the server leave, and a warning about a request that
is not HTTP now and then, however many such requests clients send.
"""

import asyncio
import logging
import time

_REPORT_S = 10.0


class ClientNoise(logging.Filter):
    """Drops most warnings about clients, and the tracebacks of answers that a shutdown cancels."""

    def __init__(self) -> None:
        """Let the next warning pass."""
        super().__init__()
        self._warn_at = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record."""
        if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
            return False
        if record.levelno != logging.WARNING:
            return True
        if "WebSocket" in record.getMessage():  # it advises to install a library
            return False
        now = time.monotonic()
        if now < self._warn_at:
            return False
        self._warn_at = now + _REPORT_S
        return True
