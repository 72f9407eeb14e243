"""Keeps tracebacks out of the errors that Arrow passes on from Python.

Arrow adds the traceback to the text of an error when it leaves Python, for a client or for a C
stream. It adds only the name of the error if the traceback cannot be formatted.
"""

from typing import NoReturn


class Unformatted:
    """An error that `traceback.format_exception` fails to format."""

    @property
    def __suppress_context__(self) -> NoReturn:
        raise RuntimeError("this error has no traceback")
