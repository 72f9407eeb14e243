"""What a server says about a snapshot, in a form that servers and clients share."""

import msgspec

from headrace.protocol.action import Metadata, Protocol


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot, as clients see it."""

    table: str
    uri: str
    version: int
    protocol: Protocol
    metadata: Metadata
    not_evaluated: tuple[str, ...] = ()
    """The parts of the condition that cannot prune files."""
