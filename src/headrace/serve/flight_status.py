"""Turns errors into Flight errors with the right gRPC status, the code and the text.

For a Python error that is not a Flight error, Arrow sends the traceback along with the text. Only
such errors map to the statuses INVALID_ARGUMENT and NOT_FOUND, so these errors are `Unformatted`.
They are also raised in functions whose code object names no file, in case a traceback is formatted
after all.
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
from headrace.serve.unformatted import Unformatted

P = ParamSpec("P")
T = TypeVar("T")

Explain = Callable[[BaseException], Refusal]
"""Returns the text and code that a client may see for an error."""


class Refused(Unformatted, pa.ArrowInvalid):  # type: ignore[misc]
    """The request is wrong: INVALID_ARGUMENT."""


class NotFound(Unformatted, pa.ArrowKeyError):  # type: ignore[misc]
    """There is no such table or version: NOT_FOUND."""


_STATUSES: tuple[tuple[type[HeadraceError] | tuple[type[HeadraceError], ...], Any], ...] = (
    (UnauthenticatedError, flight.FlightUnauthenticatedError),
    ((InvalidTicketError, TicketExpiredError), flight.FlightUnauthorizedError),
    ((ServerBusyError, ServerDrainingError), flight.FlightUnavailableError),
    (DeadlineExceededError, flight.FlightTimedOutError),
    ((TableNotServedError, VersionNotFoundError, TimestampNotFoundError), NotFound),
    ((RequestError, TableError, RequestTooLargeError), Refused),
    (HeadraceError, flight.FlightServerError),
)
"""The gRPC status of each error, most specific first."""
_MAX_TEXT_BYTES = 1_024
"""gRPC clients refuse trailers of more than 8 KiB, and Arrow's hold an error's text twice: once in
Base64, and once with up to three characters per byte."""


def flight_error(error: BaseException, explain: Explain) -> Exception:
    """Return the Flight error for an error."""
    if isinstance(error, Cancelled):
        cancelled: Exception = flight.FlightCancelledError("the client disconnected")
        return cancelled
    refusal = explain(error)
    text = _shortened(f"{refusal.code}: {refusal.message}")
    for kinds, status in _STATUSES:
        if isinstance(error, kinds):
            refused: Exception = status(text)
            return refused
    fault: Exception = flight.FlightInternalError(text)
    return fault


def translated(call: Callable[P, T], explain: Explain) -> Callable[P, T]:
    """Wrap a function so that it raises Flight errors."""

    def translating(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except (StopIteration, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001  (every error becomes a status)
            refused = flight_error(error, explain)
        try:
            raise refused
        finally:
            del refused  # in a cycle with its traceback, it would keep the request in memory

    return _nameless(translating)


class TranslatedStream(Iterator[T]):
    """An iterator that raises Flight errors. Its source is closed on garbage collection."""

    def __init__(self, items: Iterator[T], explain: Explain) -> None:
        self._items = items
        self._next = translated(items.__next__, explain)

    def __next__(self) -> T:
        return self._next()

    def __del__(self) -> None:
        close = getattr(self._items, "close", None)
        if close is not None:
            close()


def _shortened(text: str) -> str:
    """Return a text without its middle if it is too long: the end may say what to do."""
    content = text.encode("utf-8", "replace")
    if len(content) <= _MAX_TEXT_BYTES:
        return text
    half = _MAX_TEXT_BYTES // 2
    parts = (content[:half], content[-half:])
    return " … ".join(part.decode("utf-8", "ignore") for part in parts)


def _nameless(function: Callable[P, T]) -> Callable[P, T]:
    """Remove the file name from the code object of a function."""
    assert isinstance(function, FunctionType)
    function.__code__ = function.__code__.replace(co_filename="headrace")
    return function


_nameless(TranslatedStream.__next__)
