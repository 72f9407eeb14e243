"""Events as Prometheus metrics. Needs the extra `prometheus`."""

import msgspec

from headrace.metrics.counts import Counts
from headrace.metrics.event import Event, LogReplayCompleted
from headrace.metrics.requirement import require_prometheus

require_prometheus()

# isort: split
from prometheus_client import (  # noqa: E402  (only now it is known to be there)
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
_LABELS = ("table", "phase")


class PrometheusReporter:
    """A reporter that counts into a registry; `text()` is what a scrape gets."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Register the metrics, by default in a registry of their own."""
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
                ("fallback_triggered", "Times that another way was taken"),
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
            "Scans, by the strategy that they took",
            ("table", "strategy"),
            registry=self.registry,
        )
        self._events = Counter(
            "headrace_events",
            "What a careful reader survived",
            ("table", "event"),
            registry=self.registry,
        )

    def __call__(self, event: Event) -> None:
        """Count an event."""
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

    def text(self) -> str:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry).decode()
