"""When a version was committed: by the commit itself where the table keeps such timestamps."""

import msgspec

from headrace.errors import InvalidTableError
from headrace.protocol.action import Metadata

_ENABLED = "delta.enableInCommitTimestamps"
_SINCE_VERSION = "delta.inCommitTimestampEnablementVersion"
_SINCE_MS = "delta.inCommitTimestampEnablementTimestamp"


class InCommitTimestamps(msgspec.Struct, frozen=True, kw_only=True):
    """From which version, and which time, commits carry their own timestamp."""

    since_version: int
    since_ms: int


def in_commit_timestamps(metadata: Metadata, *, table: str) -> InCommitTimestamps | None:
    """How the table keeps time; None: by the modification time of its commit files.

    Raises:
        InvalidTableError: the properties that tell it are not numbers.
    """
    properties = metadata.configuration
    if (properties.get(_ENABLED) or "").lower() != "true":
        return None
    try:
        return InCommitTimestamps(
            # Both are absent where the table was created with the feature: then it always counts.
            since_version=int(properties.get(_SINCE_VERSION) or 0),
            since_ms=int(properties.get(_SINCE_MS) or 0),
        )
    except ValueError as error:
        reason = f"the enablement of in-commit timestamps is not a number ({error})"
        raise InvalidTableError(table=table, reason=reason) from error
