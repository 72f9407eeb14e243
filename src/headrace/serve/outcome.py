"""The end of an answer: an `Outcome` if it was sent, a `Refusal` if it failed.

An outcome is the last message. It reports whether the answer is complete, its count and metrics.
"""

from enum import StrEnum
from typing import Any

import msgspec

from headrace.errors import HeadraceError


class Ending(StrEnum):
    """How an answer ended."""

    COMPLETE = "complete"
    """Everything requested was sent."""
    LIMIT = "limit"
    """The limit was reached; there may be more."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Follows the last file or row. An answer without it is incomplete."""

    ending: Ending
    kind: str
    table: str
    version: int
    count: int
    """The number of files or rows sent."""
    metrics: dict[str, Any] = {}
    """The metrics of the scan, by name."""

    def encode(self) -> bytes:
        """Encode the outcome as JSON."""
        return msgspec.json.encode(self)


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """An error as clients see it."""

    code: str
    message: str

    @classmethod
    def of(cls, error: HeadraceError, message: str) -> "Refusal":
        """Return the refusal for an error, with a text that clients may see."""
        return cls(code=error.code, message=message)
