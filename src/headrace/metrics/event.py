"""Things that a careful reader survives, and that its user should hear of.

Each is a past participle and a plain value. None of them changes an answer: what would is
an error.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class HintIgnored:
    """`_last_checkpoint` was of no use, so the whole log was listed."""

    table: str
    reason: str

    def __str__(self) -> str:
        return f"{self.table}: _last_checkpoint was ignored: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksumIgnored:
    """A `.crc` file could not be decoded, so the log itself was read."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} was ignored: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksumMismatched:
    """A `.crc` file claims another content than the log has; the log is right."""

    path: str
    field: str
    claimed: int
    found: int

    def __str__(self) -> str:
        return f"{self.path} claims {self.field} = {self.claimed}, but the log has {self.found}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAbandoned:
    """A checkpoint could not be read, so an older base and its commits were used instead."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} cannot be read ({self.reason}); going on from an older base"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionAbandoned:
    """A log-compaction file could not be read, so the commits it sums up were used instead."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} cannot be read ({self.reason}); reading its commits one by one"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRestarted:
    """An incremental refresh was not possible, so the snapshot was taken anew."""

    table: str
    reason: str

    def __str__(self) -> str:
        return f"{self.table}: the snapshot was taken anew: {self.reason}"


Event: TypeAlias = (
    HintIgnored
    | ChecksumIgnored
    | ChecksumMismatched
    | CheckpointAbandoned
    | CompactionAbandoned
    | RefreshRestarted
)
