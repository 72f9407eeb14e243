"""Requests flights for one version of a server's table.

A request pinned to a version enters; flights with tickets leave. A ticket expires after minutes, so
a reader that starts later asks for a new one, and gets the same files or an error.
"""

from typing import Any, Protocol

import msgspec

from headrace.errors import SnapshotExpiredError
from headrace.log.name import LOG_DIRECTORY
from headrace.serve.description import Description
from headrace.serve.request import WireRequest


class Caller(Protocol):
    """Sends requests to a server."""

    location: str

    def info(self, request: WireRequest) -> Any:
        """Request a flight."""

    def open(self, ticket: Any) -> Any:
        """Start a stream."""


class PinnedFlight:
    """Requests the same flight again and again."""

    def __init__(self, caller: Caller, request: WireRequest, *, table_id: str) -> None:
        """Take a request with a version, and the id of the table that had it."""
        self.caller = caller
        self.request = request
        self._table_id = table_id

    def info(self) -> Any:
        """Request the flight.

        Raises:
            SnapshotExpiredError: the table was dropped and created again.
            HeadraceError: the server refuses the request.
        """
        info = self.caller.info(self.request)
        described = msgspec.json.decode(info.app_metadata, type=Description)
        if described.metadata.id != self._table_id:
            raise SnapshotExpiredError(
                table=self.request.table,
                version=described.version,
                path=LOG_DIRECTORY,
                replaced=True,
            )
        return info

    def tickets(self) -> list[Any]:
        """Request new tickets, one per endpoint."""
        return [endpoint.ticket for endpoint in self.info().endpoints]

    def with_columns(self, columns: tuple[str, ...]) -> "PinnedFlight":
        """Return the flight with other columns."""
        request = msgspec.structs.replace(self.request, columns=columns)
        return PinnedFlight(self.caller, request, table_id=self._table_id)
