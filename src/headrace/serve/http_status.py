"""Maps errors to HTTP statuses: an error enters, a number leaves."""

from headrace.errors import (
    DamageError,
    DeadlineExceededError,
    HeadraceError,
    InvalidTicketError,
    NotAcceptableError,
    RequestError,
    RequestTooLargeError,
    ServerBusyError,
    ServerDrainingError,
    SnapshotExpiredError,
    StorageError,
    TableError,
    TableNotServedError,
    TicketExpiredError,
    TimestampNotFoundError,
    UnauthenticatedError,
    UnsupportedMediaError,
    VersionNotFoundError,
)

STATUSES: tuple[tuple[tuple[type[HeadraceError], ...], int], ...] = (
    ((UnauthenticatedError,), 401),
    ((InvalidTicketError, TicketExpiredError), 403),
    ((TableNotServedError, VersionNotFoundError, TimestampNotFoundError), 404),
    ((NotAcceptableError,), 406),
    ((SnapshotExpiredError,), 410),
    ((RequestTooLargeError,), 413),
    ((UnsupportedMediaError,), 415),
    ((RequestError,), 400),
    ((TableError,), 422),
    ((DamageError, StorageError), 502),
    ((ServerBusyError, ServerDrainingError), 503),
    ((DeadlineExceededError,), 504),
)
"""The HTTP status of each error, most specific first."""


def status_of(error: BaseException) -> int:
    """Return the HTTP status of an error; 500 for an unexpected one."""
    statuses = (status for kinds, status in STATUSES if isinstance(error, kinds))
    return next(statuses, 500)
