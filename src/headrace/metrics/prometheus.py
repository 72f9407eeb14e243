"""Report events as Prometheus metrics. Requires the extra `prometheus`."""

import msgspec

from headrace.metrics.counts import Counts
from headrace.metrics.event import Event, LogReplayCompleted, StateRead, StateWritten
from headrace.metrics.requirement import require_prometheus
from headrace.metrics.state_metric import COUNTERS, DURATIONS, GAUGES, state_metrics

require_prometheus()

# isort: split
from prometheus_client import (  # noqa: E402  (checked above)
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
_MILLISECONDS = (1, 5, 20, 100, 500, 2_000, 10_000, 60_000)
_LABELS = ("table", "phase")


class PrometheusReporter:
    """A reporter that counts into a registry; `text()` returns what a scrape reads."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Register the metrics, by default in a new registry."""
        self.registry = registry or CollectorRegistry()
        self._counters = {
            name: Counter(
                f"headrace_{name}", f"Log replay: {name}", _LABELS, registry=self.registry
            )
            for name in Counts.__struct_fields__
        }
        self._lazy = {
            name: Counter(f"delta_lazy_{name}", text, ("table",), registry=self.registry)
            for name, text in (
                ("commits_scanned", "Commits read before completing"),
                ("files_emitted", "Files returned to the caller"),
                ("fallback_triggered", "Fallbacks to an older base or another strategy"),
            )
        }
        self._seen = Gauge(
            "delta_lazy_remove_set_size", "Keys in the seen set", ("table",), registry=self.registry
        )
        self._first = Histogram(
            "delta_lazy_time_to_first_file_seconds",
            "Time to the first file",
            ("table",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._duration = Histogram(
            "headrace_replay_seconds",
            "Duration of a replay",
            _LABELS,
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._scans = Counter(
            "headrace_scans",
            "Scans by strategy",
            ("table", "strategy"),
            registry=self.registry,
        )
        self._events = Counter(
            "headrace_events",
            "Log anomalies that were tolerated",
            ("table", "event"),
            registry=self.registry,
        )

        self._state_durations = {
            name: Histogram(
                name.replace(".", "_"),
                f"State: {name}",
                ("table",),
                buckets=_MILLISECONDS,
                registry=self.registry,
            )
            for name in DURATIONS
        }
        self._state_gauges = {
            name: Gauge(
                name.replace(".", "_"), f"State: {name}", ("table",), registry=self.registry
            )
            for name in GAUGES
        }
        self._state_counters = {
            name: Counter(
                name.replace(".", "_"), f"State: {name}", ("table",), registry=self.registry
            )
            for name in COUNTERS
        }

    def __call__(self, event: Event) -> None:
        """Count an event."""
        if isinstance(event, StateRead | StateWritten):
            self._count_state(event)
            return
        if not isinstance(event, LogReplayCompleted):
            self._events.labels(event.table, type(event).__name__).inc()
            return
        table, phase = event.table, event.phase.value
        for name, number in msgspec.structs.asdict(event.counts).items():
            self._counters[name].labels(table, phase).inc(number)
        self._duration.labels(table, phase).observe(event.duration_ns / 1e9)
        self._lazy["commits_scanned"].labels(table).inc(event.counts.commits_scanned)
        self._lazy["files_emitted"].labels(table).inc(event.counts.adds_emitted)
        self._lazy["fallback_triggered"].labels(table).inc(event.counts.fallbacks)
        self._seen.labels(table).set(event.dedup_hashmap_size)
        if event.strategy is not None:
            self._scans.labels(table, event.strategy).inc()
        if event.time_to_first_file_ns is not None:
            self._first.labels(table).observe(event.time_to_first_file_ns / 1e9)

    def _count_state(self, event: StateRead | StateWritten) -> None:
        for name, value in state_metrics(event).items():
            if name in self._state_durations:
                self._state_durations[name].labels(event.table).observe(value)
            elif name in self._state_gauges:
                self._state_gauges[name].labels(event.table).set(value)
            else:
                self._state_counters[name].labels(event.table).inc(value)

    def text(self) -> str:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self.registry).decode()
