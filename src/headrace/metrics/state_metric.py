"""The metrics of a state, by name, and the values that an event sets.

Durations are histograms, counts and the ratio are gauges, `compacted` is a counter.
"""

from headrace.metrics.event import StateRead, StateWritten

READ_DURATION = "indextables.state.read.duration_ms"
WRITE_DURATION = "indextables.state.write.duration_ms"
READ_MANIFESTS = "indextables.state.read.manifest_count"
READ_FILES = "indextables.state.read.file_count"
COMPACTED = "indextables.state.write.compacted"
TOMBSTONES = "indextables.state.tombstone_count"
RATIO = "indextables.state.tombstone_ratio"

DURATIONS = (READ_DURATION, WRITE_DURATION)
COUNTERS = (COMPACTED,)
GAUGES = (READ_MANIFESTS, READ_FILES, TOMBSTONES, RATIO)


def state_metrics(event: StateRead | StateWritten) -> dict[str, float]:
    """Return the metric values that an event sets, by metric name."""
    duration_ms = event.duration_ns / 1e6
    shared = {
        TOMBSTONES: float(event.tombstone_count),
        RATIO: event.tombstone_count / event.num_files if event.num_files else 0.0,
    }
    if isinstance(event, StateRead):
        read = {READ_MANIFESTS: float(event.manifest_count), READ_FILES: float(event.file_count)}
        return {READ_DURATION: duration_ms, **read, **shared}
    return {WRITE_DURATION: duration_ms, COMPACTED: float(event.compacted), **shared}
