"""The position of a stream, which Spark stores in its checkpoint.

The JSON of a checkpoint enters, and an offset leaves that identifies one file of the log; or the
reverse.
"""

from enum import StrEnum
from typing import Any

import msgspec

from headrace.errors import InvalidArgumentError

_FORMAT = 1


class Part(StrEnum):
    """The part of the log that a stream is reading."""

    BEGINNING = "beginning"
    """Nothing yet: the start depends on its options and the table at that time."""
    SNAPSHOT = "snapshot"
    """The files of the version that it started with."""
    COMMITS = "commits"
    """The files that each version added."""


class Offset(msgspec.Struct, frozen=True, kw_only=True):
    """Everything before the file `index` of a version has been returned.

    The files of a commit are in the order of its lines, those of a snapshot in the order of age and
    path, so that a file has the same index in every read of the log.
    """

    table: str
    """The id of the table."""
    version: int
    index: int = 0
    part: Part = Part.COMMITS
    first: "Offset | None" = None
    """At the end of a stream's first micro-batch: where the stream started.

    Spark requests the start whenever it plans this micro-batch, also after a restart, and does not
    store it. The table may have grown in between, so the choice is stored here.
    """
    format: int = _FORMAT

    def after(self) -> "Offset":
        """Return the start of the next version."""
        return Offset(table=self.table, version=self.version + 1)

    def as_dict(self) -> dict[str, Any]:
        """Return the values that Spark stores as JSON and compares."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        if self.first is None:
            del fields["first"]
        return fields


def parse_offset(stored: dict[str, Any]) -> Offset:
    """Parse an offset that Spark has stored.

    Raises:
        InvalidArgumentError: it is not an offset of this data source.
    """
    try:
        offset = msgspec.convert(stored, Offset)
    except msgspec.ValidationError as error:
        reason = f"{stored!r} is not an offset of this source ({error}): use a new checkpoint"
        raise InvalidArgumentError(argument="checkpoint", reason=reason) from error
    if offset.format != _FORMAT:
        reason = f"its offsets have format {offset.format}, and this version of Headrace reads "
        raise InvalidArgumentError(argument="checkpoint", reason=f"{reason}{_FORMAT}")
    return offset
