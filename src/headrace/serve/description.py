"""The description of a snapshot, which a server sends and a client reads before files or rows."""

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
