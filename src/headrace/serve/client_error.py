"""Errors of a server, raised in its client as what they are."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyarrow import flight

from headrace import errors
from headrace.errors import HeadraceError, RemoteFailedError

_TEXT = re.compile(
    r"(?P<code>[A-Z][A-Z_]+): (?P<text>.*?)(?:\. (?:Detail|gRPC client debug)|$)", re.DOTALL
)
_KINDS: dict[str, type[HeadraceError]] = {
    kind.code: kind
    for kind in (getattr(errors, name) for name in errors.__all__)
    if "code" in kind.__dict__
}


@contextmanager
def remote_errors(location: str) -> Iterator[None]:
    """Raise what a server has refused as an error of ours, with the same code.

    Raises:
        HeadraceError: of the server's code, with its text; its fields stay on the server.
        RemoteFailedError: the server is not there, or failed without a code.
    """
    try:
        yield
    except (flight.FlightError, pa.ArrowException) as error:
        raise error_of(str(error), location=location) from error


def error_of(text: str, *, location: str) -> HeadraceError:
    """The error that a text tells of: a code, a colon and what happened."""
    match = _TEXT.match(text)
    kind = _KINDS.get(match["code"]) if match else None
    if match is None or kind is None or kind is HeadraceError:
        return RemoteFailedError(location=location, reason=text.partition("\n")[0])
    error = kind.__new__(kind, match["text"])
    error.args = (match["text"],)
    return error
