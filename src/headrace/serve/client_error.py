"""Turns the errors of a server into the matching Headrace errors in the client.

The text of a Flight error enters, `CODE: message`; the error class with that code leaves.
"""

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
    """Translate Flight errors into Headrace errors with the server's code.

    Raises:
        HeadraceError: the error with the server's code and text, but without its fields.
        RemoteFailedError: the server is unreachable, or failed without a code.
    """
    try:
        yield
    except (flight.FlightError, pa.ArrowException) as error:
        raise error_of(str(error), location=location) from error


def error_of(text: str, *, location: str) -> HeadraceError:
    """Parse an error text of the form `CODE: message` into the matching error."""
    match = _TEXT.match(text)
    kind = _KINDS.get(match["code"]) if match else None
    if match is None or kind is None or kind is HeadraceError:
        return RemoteFailedError(location=location, reason=text.partition("\n")[0])
    error = kind.__new__(kind, match["text"])
    error.args = (match["text"],)
    return error
