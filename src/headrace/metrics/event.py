"""Events: log anomalies that were tolerated, and replays that completed.

Each event is a plain value named by a past participle. No event changes an answer; anything
that would is an error.
"""

from enum import Enum
from typing import TypeAlias

import msgspec

from headrace.metrics.counts import Counts


class TableEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The table that an event is about. Other paths of the event are relative to it."""

    table: str


class HintIgnored(TableEvent, frozen=True, kw_only=True):
    """`_last_checkpoint` was missing or unusable, so the whole log was listed."""

    reason: str

    def __str__(self) -> str:
        return f"{self.table}: _last_checkpoint was ignored: {self.reason}"


class ChecksumIgnored(TableEvent, frozen=True, kw_only=True):
    """A `.crc` file could not be decoded or is inconsistent, so the log itself was read."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.table}: {self.path} was ignored: {self.reason}"


class ChecksumMismatched(TableEvent, frozen=True, kw_only=True):
    """A `.crc` file contradicts the log; the log is right."""

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
        return f"{self.table}: {unread}; continuing from an older base"


class CompactionAbandoned(TableEvent, frozen=True, kw_only=True):
    """A log-compaction file could not be read, so the commits it covers were read instead."""

    path: str
    reason: str

    def __str__(self) -> str:
        unread = f"{self.path} cannot be read ({self.reason})"
        return f"{self.table}: {unread}; reading its commits one by one"


class StateAbandoned(TableEvent, frozen=True, kw_only=True):
    """A state next to the log could not be used, so the log itself was read."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.table}: {self.path} is not used: {self.reason}; reading the log instead"


class LegacyCheckpointRead(TableEvent, frozen=True, kw_only=True):
    """A JSON checkpoint of an IndexTables log was read, which takes longer than a state."""

    path: str

    def __str__(self) -> str:
        return (
            f"{self.table}: {self.path} is a JSON checkpoint; CHECKPOINT INDEXTABLES writes a "
            "state, which is read faster"
        )


class RefreshRestarted(TableEvent, frozen=True, kw_only=True):
    """An incremental refresh was not possible, so a new snapshot was taken."""

    reason: str

    def __str__(self) -> str:
        return f"{self.table}: a new snapshot was taken instead of a refresh: {self.reason}"


class ReplayPhase(Enum):
    """Which part of a scan a replay covered: one of its two halves, or all of it."""

    SEQUENTIAL = "sequential"
    PARALLEL = "parallel"
    SCAN = "scan"


class LogReplayCompleted(TableEvent, frozen=True, kw_only=True):
    """A replay ended or was closed early; emitted once per replay."""

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
            f"{self.table}: {self.phase.value} of version {self.version} emitted "
            f"{self.counts.adds_emitted} files in {self.duration_ns / 1e6:.1f} ms"
        )


class FellBack(TableEvent, frozen=True, kw_only=True):
    """A scan fell back to the forward strategy because its policy requires it."""

    reason: str

    def __str__(self) -> str:
        return f"{self.table}: fell back to the forward strategy: {self.reason}"


Warned: TypeAlias = (
    HintIgnored
    | ChecksumIgnored
    | ChecksumMismatched
    | CheckpointAbandoned
    | CompactionAbandoned
    | StateAbandoned
    | LegacyCheckpointRead
    | RefreshRestarted
    | FellBack
)
"""Events that are logged as warnings."""


class StateRead(TableEvent, frozen=True, kw_only=True):
    """A state was read, or the part of it that a scan needs."""

    version: int
    duration_ns: int
    manifest_count: int
    """The manifests that were read, after pruning."""
    file_count: int
    """The entries that were read."""
    tombstone_count: int = 0
    num_files: int = 0
    """The live files of the whole state."""
    state_manifest_count: int = 0
    """The manifests of the whole state."""

    def __str__(self) -> str:
        return (
            f"{self.table}: read {self.file_count} entries of state {self.version} in "
            f"{self.duration_ns / 1e6:.1f} ms; partition pruning: {self.state_manifest_count} "
            f"manifests -> {self.manifest_count}"
        )


class StateWritten(TableEvent, frozen=True, kw_only=True):
    """A state was committed."""

    version: int
    duration_ns: int
    compacted: bool
    tombstone_count: int
    num_files: int

    def __str__(self) -> str:
        how = "compacted state" if self.compacted else "state"
        return (
            f"{self.table}: wrote {how} {self.version} of {self.num_files} files in "
            f"{self.duration_ns / 1e6:.1f} ms"
        )


Measured: TypeAlias = LogReplayCompleted | StateRead | StateWritten
"""Events that report completed work and its duration."""

Event: TypeAlias = Warned | Measured
