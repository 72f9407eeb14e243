"""Report events as OpenTelemetry metrics. Requires the extra `otel`."""

import msgspec

from headrace.metrics.counts import Counts
from headrace.metrics.event import Event, LogReplayCompleted, StateRead, StateWritten
from headrace.metrics.requirement import require_opentelemetry
from headrace.metrics.state_metric import COUNTERS, DURATIONS, GAUGES, state_metrics

require_opentelemetry()

# isort: split
from opentelemetry.metrics import (  # noqa: E402  (checked above)
    MeterProvider,
    get_meter_provider,
)


class OpenTelemetryReporter:
    """A reporter that records into a meter provider, by default the global one."""

    def __init__(self, provider: MeterProvider | None = None) -> None:
        """Create the instruments."""
        meter = (provider or get_meter_provider()).get_meter("headrace")
        self._counters = {
            name: meter.create_counter(f"headrace.{name}") for name in Counts.__struct_fields__
        }
        self._commits = meter.create_counter("delta.lazy.commits_scanned")
        self._files = meter.create_counter("delta.lazy.files_emitted")
        self._fallbacks = meter.create_counter("delta.lazy.fallback_triggered")
        self._seen = meter.create_histogram("delta.lazy.remove_set_size", unit="{key}")
        self._first = meter.create_histogram("delta.lazy.time_to_first_file_ms", unit="ms")
        self._duration = meter.create_histogram("headrace.replay.duration", unit="ms")
        self._scans = meter.create_counter("headrace.scans")
        self._events = meter.create_counter("headrace.events")
        self._state_durations = {
            name: meter.create_histogram(name, unit="ms") for name in DURATIONS
        }
        self._state_gauges = {name: meter.create_gauge(name) for name in GAUGES}
        self._state_counters = {name: meter.create_counter(name) for name in COUNTERS}

    def __call__(self, event: Event) -> None:
        """Record an event."""
        if isinstance(event, StateRead | StateWritten):
            self._record_state(event)
            return
        if not isinstance(event, LogReplayCompleted):
            self._events.add(1, {"table": event.table, "event": type(event).__name__})
            return
        of_phase = {"table": event.table, "phase": event.phase.value}
        of_table = {"table": event.table}
        for name, number in msgspec.structs.asdict(event.counts).items():
            self._counters[name].add(number, of_phase)
        self._duration.record(event.duration_ns / 1e6, of_phase)
        self._commits.add(event.counts.commits_scanned, of_table)
        self._files.add(event.counts.adds_emitted, of_table)
        self._fallbacks.add(event.counts.fallbacks, of_table)
        self._seen.record(event.dedup_hashmap_size, of_table)
        if event.strategy is not None:
            self._scans.add(1, of_table | {"strategy": event.strategy})
        if event.time_to_first_file_ns is not None:
            self._first.record(event.time_to_first_file_ns / 1e6, of_table)

    def _record_state(self, event: StateRead | StateWritten) -> None:
        of_table = {"table": event.table}
        for name, value in state_metrics(event).items():
            if name in self._state_durations:
                self._state_durations[name].record(value, of_table)
            elif name in self._state_gauges:
                self._state_gauges[name].set(value, of_table)
            else:
                self._state_counters[name].add(value, of_table)
