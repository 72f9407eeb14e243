"""Things that its user may want to hear of: what a careful reader survived, and what it did.

Each is a past participle and a plain value. None of them changes an answer: what would is
an error.
"""

from enum import Enum
from typing import TypeAlias

import msgspec

from headrace.metrics.counts import Counts


class TableEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What every event says: the table it is of. Other paths are relative to it."""

    table: str


class HintIgnored(TableEvent, frozen=True, kw_only=True):
    """`_last_checkpoint` was of no use, so the whole log was listed."""

    reason: str

    def __str__(self) -> str:
        return f"{self.table}: _last_checkpoint was ignored: {self.reason}"


class ChecksumIgnored(TableEvent, frozen=True, kw_only=True):
    """A `.crc` file could not be decoded, or believed, so the log itself was read."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.table}: {self.path} was ignored: {self.reason}"


class ChecksumMismatched(TableEvent, frozen=True, kw_only=True):
    """A `.crc` file claims another content than the log has; the log is right."""

    path: str
    field: str
    claimed: int
    found: int

    def __str__(self) -> str:
        claim = f"{self.path} claims {self.field} = {self.claimed}"
        return f"{self.table}: {claim}, but the log has {self.found}"


class CheckpointAbandoned(TableEvent, frozen=True, kw_only=True):
    """A checkpoint could not be read, so an older base and its commits were used instead."""

    path: str
    reason: str

    def __str__(self) -> str:
        unread = f"{self.path} cannot be read ({self.reason})"
        return f"{self.table}: {unread}; going on from an older base"


class CompactionAbandoned(TableEvent, frozen=True, kw_only=True):
    """A log-compaction file could not be read, so the commits it sums up were used instead."""

    path: str
    reason: str

    def __str__(self) -> str:
        unread = f"{self.path} cannot be read ({self.reason})"
        return f"{self.table}: {unread}; reading its commits one by one"


class RefreshRestarted(TableEvent, frozen=True, kw_only=True):
    """An incremental refresh was not possible, so the snapshot was taken anew."""

    reason: str

    def __str__(self) -> str:
        return f"{self.table}: the snapshot was taken anew: {self.reason}"


class ReplayPhase(Enum):
    """What a replay was: one of the two halves, or a whole scan."""

    SEQUENTIAL = "sequential"
    PARALLEL = "parallel"
    SCAN = "scan"


class LogReplayCompleted(TableEvent, frozen=True, kw_only=True):
    """A replay came to its end, or was closed before it; said once."""

    version: int
    phase: ReplayPhase
    duration_ns: int
    time_to_first_file_ns: int | None
    dedup_hashmap_size: int
    counts: Counts
    strategy: str | None = None
    """The strategy of a whole scan."""

    def __str__(self) -> str:
        return (
            f"{self.table}: {self.phase.value} of version {self.version} gave "
            f"{self.counts.adds_emitted} files in {self.duration_ns / 1e6:.1f} ms"
        )


class FellBack(TableEvent, frozen=True, kw_only=True):
    """A scan took the forward way, because the policy asks for it here."""

    reason: str

    def __str__(self) -> str:
        return f"{self.table}: fell back to the forward strategy: {self.reason}"


Warned: TypeAlias = (
    HintIgnored
    | ChecksumIgnored
    | ChecksumMismatched
    | CheckpointAbandoned
    | CompactionAbandoned
    | RefreshRestarted
    | FellBack
)
"""What deserves a warning."""

Event: TypeAlias = Warned | LogReplayCompleted
