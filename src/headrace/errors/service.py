"""Errors of servers and their clients: refused requests and incomplete answers."""

from collections.abc import Sequence

from headrace.errors.root import HeadraceError


class ServiceError(HeadraceError):
    """A server refused a request, or its answer was incomplete."""


class UnauthenticatedError(ServiceError):
    """The request carries no token that the server knows."""

    code = "UNAUTHENTICATED"

    def __init__(self) -> None:
        super().__init__("the token is missing or wrong; send 'authorization: Bearer <token>'")


class InvalidTicketError(ServiceError):
    """A ticket was not made by this server, or was made for another caller."""

    code = "INVALID_TICKET"

    def __init__(self) -> None:
        super().__init__("the ticket is not valid here; ask GetFlightInfo for a new one")


class TicketExpiredError(ServiceError):
    """A ticket is older than the server allows."""

    code = "TICKET_EXPIRED"

    def __init__(self, *, lifetime_s: float) -> None:
        self.lifetime_s = lifetime_s
        super().__init__(
            f"the ticket is older than {lifetime_s:g} seconds; ask GetFlightInfo for a new one"
        )


class TableNotServedError(ServiceError):
    """The server has no table of that name."""

    code = "TABLE_NOT_SERVED"

    def __init__(self, *, table: str, roots: Sequence[str]) -> None:
        self.table, self.roots = table, tuple(roots)
        super().__init__(
            f"no table {table!r} is served here; names begin with one of {', '.join(self.roots)}"
        )


class RequestTooLargeError(ServiceError):
    """A request is larger than the server allows."""

    code = "REQUEST_TOO_LARGE"

    def __init__(self, *, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        super().__init__(f"the request has more than {limit_bytes} bytes; send a shorter condition")


class UnsupportedMediaError(ServiceError):
    """A request has a body of a type that the server does not accept."""

    code = "UNSUPPORTED_MEDIA"

    def __init__(self, *, header: str, value: str) -> None:
        self.header, self.value = header, value
        super().__init__(f"{header} is {value}; send plain application/json")


class NotAcceptableError(ServiceError):
    """A client accepts no format that the server writes."""

    code = "NOT_ACCEPTABLE"

    def __init__(self, *, offered: Sequence[str]) -> None:
        self.offered = tuple(offered)
        super().__init__(
            f"the server writes none of the accepted formats; accept {' or '.join(self.offered)}"
        )


class ServerBusyError(ServiceError):
    """All streams of the server are in use."""

    code = "SERVER_BUSY"

    def __init__(self, *, max_streams: int) -> None:
        self.max_streams = max_streams
        super().__init__(f"all {max_streams} streams of the server are in use; try again later")


class ServerDrainingError(ServiceError):
    """The server is shutting down and takes no new request."""

    code = "SERVER_DRAINING"

    def __init__(self) -> None:
        super().__init__("the server is shutting down; ask another one, or try again later")


class DeadlineExceededError(ServiceError):
    """A stream took longer than the server allows."""

    code = "DEADLINE_EXCEEDED"

    def __init__(self, *, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        super().__init__(
            f"the stream was stopped after {deadline_s:g} seconds; ask for less, or read faster"
        )


class StreamIncompleteError(ServiceError):
    """An answer ended without its outcome, so that a part of it is missing."""

    code = "STREAM_INCOMPLETE"

    def __init__(self, *, location: str) -> None:
        self.location = location
        super().__init__(f"{location}: the answer ended early; request it again")


class RemoteFailedError(ServiceError):
    """A server cannot be reached, or failed with an error that has no code."""

    code = "REMOTE_FAILED"

    def __init__(self, *, location: str, reason: str) -> None:
        self.location, self.reason = location, reason
        super().__init__(f"{location}: {reason}; look at the server's log")
