"""The parameters of a scan, and its terminal value.

Every phase of a scan carries the request; strategies choose the first phase for it.
"""

import msgspec

from headrace.expr.node import BoundPredicate
from headrace.log.dialect import DELTA, Dialect
from headrace.protocol.log_file import LogFile
from headrace.protocol.schema import StructType
from headrace.replay.seen import FrozenSeenSet


class ScanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a scan; its terminal value repeats them."""

    table: str
    version: int
    logical_schema: StructType
    physical_schema: StructType
    predicate: BoundPredicate | None = None
    projection: tuple[str, ...]
    """The requested fields of an add, by their name in the log."""
    memory_limit_bytes: int = 64 << 20
    """The memory that the seen set may use before it spills to disk."""
    stops_after: int | None = None
    """The number of files after which the caller stops; None: it takes all of them. Phases emit
    all files in any case, and only read less ahead."""
    tail: tuple[LogFile, ...] | None = None
    dialect: Dialect = DELTA

    def projected(self, projection: tuple[str, ...]) -> "ScanRequest":
        """Return the same request for fewer fields."""
        return msgspec.structs.replace(self, projection=projection)


class ScanOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a scan that has emitted every live file."""

    request: ScanRequest
    seen: FrozenSeenSet
    """The keys in the commits after the base."""

    @property
    def keys_seen(self) -> int:
        """The number of these keys."""
        return len(self.seen)
