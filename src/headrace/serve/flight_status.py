"""Errors as Flight sends them: the right gRPC status, the code and text, and nothing else.

Arrow sends the traceback of a Python error that is not one of Flight's own along with its text.
Only such errors have the statuses INVALID_ARGUMENT and NOT_FOUND. So errors are raised anew, in
functions whose code names no file: the traceback then tells nothing of the server.
"""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa
from pyarrow import flight

from headrace.errors import (
    DeadlineExceededError,
    HeadraceError,
    InvalidTicketError,
    RequestError,
    RequestTooLargeError,
    ServerBusyError,
    ServerDrainingError,
    TableError,
    TableNotServedError,
    TicketExpiredError,
    TimestampNotFoundError,
    UnauthenticatedError,
    VersionNotFoundError,
)
from headrace.plan.cancellation import Cancelled
from headrace.serve.outcome import Refusal

P = ParamSpec("P")
T = TypeVar("T")

Explain = Callable[[BaseException], Refusal]
"""What a client is told of an error."""

_STATUSES: tuple[tuple[type[HeadraceError] | tuple[type[HeadraceError], ...], Any], ...] = (
    (UnauthenticatedError, flight.FlightUnauthenticatedError),
    ((InvalidTicketError, TicketExpiredError), flight.FlightUnauthorizedError),
    ((ServerBusyError, ServerDrainingError), flight.FlightUnavailableError),
    (DeadlineExceededError, flight.FlightTimedOutError),
    ((TableNotServedError, VersionNotFoundError, TimestampNotFoundError), pa.ArrowKeyError),
    ((RequestError, TableError, RequestTooLargeError), pa.ArrowInvalid),
    (HeadraceError, flight.FlightServerError),
)
"""Which gRPC status tells of an error, most special first."""


def flight_error(error: BaseException, explain: Explain) -> Exception:
    """The error that Flight sends for one of ours."""
    if isinstance(error, Cancelled):
        gone: Exception = flight.FlightCancelledError("the client has gone")
        return gone
    refusal = explain(error)
    text = f"{refusal.code}: {refusal.message}"
    for kinds, status in _STATUSES:
        if isinstance(error, kinds):
            found: Exception = status(text)
            return found
    fault: Exception = flight.FlightInternalError(text)
    return fault


def translated(call: Callable[P, T], explain: Explain) -> Callable[P, T]:
    """A function whose errors are Flight's."""

    def translating(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except (StopIteration, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001  (whatever it is, a client hears a status)
            refused = flight_error(error, explain)
        raise refused

    return _nameless(translating)


class TranslatedStream(Iterator[T]):
    """An iterator whose errors are Flight's; it is closed when nobody holds it any more."""

    def __init__(self, items: Iterator[T], explain: Explain) -> None:
        self._items = items
        self._next = translated(items.__next__, explain)

    def __next__(self) -> T:
        return self._next()

    def __del__(self) -> None:
        close = getattr(self._items, "close", None)
        if close is not None:
            close()


def _nameless(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with a code that does not say where it was written."""
    assert isinstance(function, FunctionType)
    function.__code__ = function.__code__.replace(co_filename="headrace")
    return function


_nameless(TranslatedStream.__next__)
