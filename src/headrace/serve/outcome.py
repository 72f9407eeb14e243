"""The last message of an answer: whether it is whole, how much there was, and what it took."""

from enum import StrEnum
from typing import Any

import msgspec

from headrace.errors import HeadraceError


class Ending(StrEnum):
    """How an answer ended."""

    COMPLETE = "complete"
    """Everything that was asked for was sent."""
    LIMIT = "limit"
    """As much as the limit allows was sent; there may be more."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a client gets after the last file or row. Without it, an answer is not whole."""

    ending: Ending
    kind: str
    table: str
    version: int
    count: int
    """The files or rows that were sent."""
    metrics: dict[str, Any] = {}
    """What the scan took, by name."""

    def encode(self) -> bytes:
        """The outcome as JSON."""
        return msgspec.json.encode(self)


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """An error as clients see it."""

    code: str
    message: str

    @classmethod
    def of(cls, error: HeadraceError, message: str) -> "Refusal":
        """The refusal that tells of an error, in a text that is fit for clients."""
        return cls(code=error.code, message=message)
