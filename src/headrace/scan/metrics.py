"""The metrics of a scan, readable while it runs.

A meter and the planned decision enter; counts, times and the strategy that was used leave, by name.
"""

from typing import Any

import msgspec

from headrace.metrics.counts import Counts
from headrace.metrics.event import LogReplayCompleted, ReplayPhase, StateRead
from headrace.metrics.meter import Meter
from headrace.protocol.state import StateManifest, Tombstones
from headrace.scan.options import Strategy
from headrace.scan.strategy import ScanDecision


class ScanMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of one iteration of a scan; they grow while it runs."""

    meter: Meter
    planned: ScanDecision

    @property
    def decision(self) -> ScanDecision:
        """The strategy that the scan has taken, and why."""
        if self.meter.fell_back is None:
            return self.planned
        return msgspec.structs.replace(
            self.planned,
            strategy=Strategy.FORWARD,
            rule="tripwire",
            because=self.meter.fell_back,
        )

    @property
    def counts(self) -> Counts:
        """The current counts."""
        return self.meter.counts

    @property
    def duration_ns(self) -> int:
        """The duration of the scan so far."""
        return self.meter.duration_ns

    @property
    def time_to_first_file_ns(self) -> int | None:
        """How long the caller waited for the first file."""
        return self.meter.time_to_first_file_ns

    @property
    def dedup_hashmap_size(self) -> int:
        """The number of keys in the seen set."""
        return self.meter.dedup_hashmap_size

    def as_dict(self) -> dict[str, Any]:
        """Return all metrics by name, as shown by reporters and the command line."""
        counts = self.counts
        first_ns = self.time_to_first_file_ns
        return {
            **msgspec.structs.asdict(counts),
            "dedup_hashmap_size": self.dedup_hashmap_size,
            "duration_ms": self.duration_ns / 1e6,
            **msgspec.structs.asdict(self.decision),
            "strategy": self.decision.strategy.value,
            "delta.lazy.commits_scanned": counts.commits_scanned,
            "delta.lazy.files_emitted": counts.adds_emitted,
            "delta.lazy.fallback_triggered": counts.fallbacks,
            "delta.lazy.remove_set_size": self.dedup_hashmap_size,
            "delta.lazy.time_to_first_file_ms": None if first_ns is None else first_ns / 1e6,
        }

    def completed(self, *, table: str, version: int) -> LogReplayCompleted:
        """Return the event that reports its end."""
        return LogReplayCompleted(
            table=table,
            version=version,
            phase=ReplayPhase.SCAN,
            duration_ns=self.duration_ns,
            time_to_first_file_ns=self.time_to_first_file_ns,
            dedup_hashmap_size=self.dedup_hashmap_size,
            counts=self.counts,
            strategy=self.decision.strategy.value,
        )

    def state_read(self, *, table: str, state: StateManifest) -> StateRead:
        """Return the event that reports how much of the state was read."""
        counts = self.counts
        return StateRead(
            table=table,
            version=state.state_version,
            duration_ns=self.duration_ns,
            manifest_count=counts.manifests_read,
            file_count=counts.manifest_entries_read,
            tombstone_count=len(Tombstones.of(state)),
            num_files=state.num_files,
            state_manifest_count=len(state.manifests),
        )
