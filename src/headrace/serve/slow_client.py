"""An HTTP protocol for uvicorn that does not wait for clients who send their headers slowly."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 10.0
"""How long a client may take from its first contact to the end of its headers."""


class PatientlessProtocol(H11Protocol):
    """uvicorn's protocol, with a limit on the time that headers may take."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the headers of the first request."""
        super().connection_made(transport)
        self._start_waiting()

    def data_received(self, data: bytes) -> None:
        """Stop waiting when the headers are complete; begin anew with the next request."""
        if self._timer is None and not self._is_answering():
            self._start_waiting()
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request, whatever its type says
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
