"""In-commit timestamps: from which version on commits carry their own timestamp.

A table's metadata enters; the start of in-commit timestamps leaves, or None if they are disabled.
"""

import msgspec

from headrace.errors import InvalidTableError
from headrace.protocol.action import Metadata

_ENABLED = "delta.enableInCommitTimestamps"
_SINCE_VERSION = "delta.inCommitTimestampEnablementVersion"
_SINCE_MS = "delta.inCommitTimestampEnablementTimestamp"


class InCommitTimestamps(msgspec.Struct, frozen=True, kw_only=True):
    """The version and time from which commits carry their own timestamp."""

    since_version: int
    since_ms: int


def in_commit_timestamps(metadata: Metadata, *, table: str) -> InCommitTimestamps | None:
    """Return where in-commit timestamps start; None if the table uses file modification times.

    Raises:
        InvalidTableError: the table properties are not numbers.
    """
    properties = metadata.configuration
    if (properties.get(_ENABLED) or "").lower() != "true":
        return None
    try:
        return InCommitTimestamps(
            # Both are absent if the table was created with the feature: then it always applies.
            since_version=int(properties.get(_SINCE_VERSION) or 0),
            since_ms=int(properties.get(_SINCE_MS) or 0),
        )
    except ValueError as error:
        reason = f"the enablement of in-commit timestamps is not a number ({error})"
        raise InvalidTableError(table=table, reason=reason) from error
