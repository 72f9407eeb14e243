"""Drops HTTP clients that send headers or read answers too slowly.

It is a protocol class for uvicorn, which has no such timeouts.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 10.0
"""The time that a client may take from connecting to the end of its headers."""
CLOSING_S = 5.0
"""How long a client may take to read pending data after the server closes the connection."""


class HeaderTimeoutProtocol(H11Protocol):
    """uvicorn's protocol with a timeout for headers."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the timeout for the headers of the first request."""
        self._closing = _ClosingTransport(transport, self.loop)
        super().connection_made(self._closing)  # type: ignore[arg-type]
        self._start_waiting()

    def data_received(self, data: bytes) -> None:
        """Stop the timeout when the headers are complete; restart it with the next request."""
        if self._timer is None and not self._is_answering():
            self._start_waiting()
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeouts."""
        self._stop_waiting()
        self._closing.forget_timeout()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request, despite its declared type
        return cycle is not None and not cycle.response_complete

    def _start_waiting(self) -> None:
        self._timer = self.loop.call_later(HEADERS_S, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self._is_answering():
            self.transport.abort()


class _ClosingTransport:
    """A transport whose `close` takes a limited time.

    asyncio sends all buffered bytes before it closes a connection, and so would keep the connection
    of a client that no longer reads.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def close(self) -> None:
        if not self._transport.is_closing():
            self._timer = self._loop.call_later(CLOSING_S, self._transport.abort)
            self._transport.close()

    def forget_timeout(self) -> None:
        """Stop the timeout: a transport that has closed cannot be aborted."""
        if self._timer is not None:
            self._timer.cancel()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
