"""How far a stream has come: what Spark writes into its checkpoint."""

from enum import StrEnum
from typing import Any

import msgspec

from headrace.errors import InvalidArgumentError

_FORMAT = 1


class Part(StrEnum):
    """What a stream is reading."""

    BEGINNING = "beginning"
    """Nothing yet: it starts where its options say, by the state of the table at that moment."""
    SNAPSHOT = "snapshot"
    """The files of the version that it started with."""
    COMMITS = "commits"
    """What each version has added."""


class Offset(msgspec.Struct, frozen=True, kw_only=True):
    """Everything before the file `index` of a version has been given.

    The files of a commit stand in the order of its lines, those of a snapshot in the order of
    their age and path: whoever reads the log again finds them under the same index.
    """

    table: str
    """The id of the table."""
    version: int
    index: int = 0
    part: Part = Part.COMMITS
    first: "Offset | None" = None
    """In the end of a stream's first micro-batch: what its beginning turned out to be.

    Spark asks for the beginning each time that it plans this micro-batch, also after a restart,
    and keeps no answer. The table may have grown in between: what was chosen has to be kept here.
    """
    format: int = _FORMAT

    def after(self) -> "Offset":
        """The beginning of the version after this one."""
        return Offset(table=self.table, version=self.version + 1)

    def as_dict(self) -> dict[str, Any]:
        """The values that Spark writes as JSON, and compares as such."""
        written: dict[str, Any] = msgspec.to_builtins(self)
        if self.first is None:
            del written["first"]
        return written


def parse_offset(written: dict[str, Any]) -> Offset:
    """An offset that Spark has kept.

    Raises:
        InvalidArgumentError: it is none of ours.
    """
    try:
        offset = msgspec.convert(written, Offset)
    except msgspec.ValidationError as error:
        reason = f"{written!r} is no offset of this source ({error}): start with a new checkpoint"
        raise InvalidArgumentError(argument="checkpoint", reason=reason) from error
    if offset.format != _FORMAT:
        reason = f"its offsets have format {offset.format}, and this version of Headrace knows "
        raise InvalidArgumentError(argument="checkpoint", reason=f"{reason}{_FORMAT}")
    return offset
