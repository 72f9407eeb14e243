"""An HTTP protocol for uvicorn that drops clients that send their headers too slowly."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 10.0
"""The time that a client may take from connecting to the end of its headers."""


class PatientlessProtocol(H11Protocol):
    """uvicorn's protocol with a timeout for headers."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the timeout for the headers of the first request."""
        super().connection_made(transport)
        self._start_waiting()

    def data_received(self, data: bytes) -> None:
        """Stop the timeout when the headers are complete; restart it with the next request."""
        if self._timer is None and not self._is_answering():
            self._start_waiting()
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeout."""
        self._stop_waiting()
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
