"""What operators see of a server: Prometheus metrics, and a log line for every request.

Finished requests and the events of scans enter; metrics in text and lines of JSON leave.

Neither contains tokens, tickets, conditions or store addresses.
"""

import logging
import os
import time
from datetime import UTC, datetime
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from headrace.metrics.event import Event
from headrace.metrics.prometheus import PrometheusReporter
from headrace.metrics.reporter import log_event

_access = logging.getLogger("headrace.access")
_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
_MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"


class Access(msgspec.Struct, kw_only=True):
    """One request, as written to the access log."""

    protocol: str
    method: str
    caller: str = "-"
    peer: str = "-"
    kind: str | None = None
    table: str | None = None
    version: int | None = None
    status: str = "OK"
    """OK, CANCELLED, or the code of the error."""
    count: int = 0
    """The number of files or rows sent."""
    first_ms: float | None = None
    is_cached: bool | None = None
    """True if the answer came from the cache, else None, which the log omits."""
    started: float = msgspec.field(default_factory=time.monotonic)
    """When the request arrived, by the monotonic clock; not logged."""


class Monitor:
    """Counts and logs the requests and streams of a server."""

    def __init__(self) -> None:
        """Register the metrics in a separate registry."""
        self._registry = CollectorRegistry()
        self._reporter = PrometheusReporter(self._registry)
        self._requests = Counter(
            "headrace_server_requests",
            "Requests, by outcome",
            ("protocol", "method", "status"),
            registry=self._registry,
        )
        self._sent = Counter(
            "headrace_server_sent",
            "Files and rows sent",
            ("kind",),
            registry=self._registry,
        )
        self._first = Histogram(
            "headrace_server_first_message_seconds",
            "Time from a request to its first message",
            ("kind",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._streams = Gauge(
            "headrace_server_streams",
            "Running streams",
            registry=self._registry,
            multiprocess_mode="livesum",
        )

    def report(self, event: Event) -> None:
        """Report an event of a scan."""
        self._reporter(event)
        log_event(event)

    def stream_started(self) -> None:
        """Count a started stream."""
        self._streams.inc()

    def stream_ended(self) -> None:
        """Count an ended stream."""
        self._streams.dec()

    def record(self, access: Access) -> None:
        """Count a request, and log it."""
        self._requests.labels(access.protocol, access.method, access.status).inc()
        if access.kind is not None:
            self._sent.labels(access.kind).inc(access.count)
            if access.first_ms is not None:
                self._first.labels(access.kind).observe(access.first_ms / 1000)
        if _access.isEnabledFor(logging.INFO):
            line: dict[str, Any] = {"time": datetime.now(UTC).isoformat(timespec="milliseconds")}
            fields = msgspec.structs.asdict(access)
            line |= {k: v for k, v in fields.items() if v is not None and k != "started"}
            line["duration_ms"] = round((time.monotonic() - access.started) * 1000, 3)
            _access.info(msgspec.json.encode(line).decode())

    def text(self) -> bytes:
        """Return the metrics of all workers in the Prometheus text format."""
        if _MULTIPROCESS in os.environ:
            merged = CollectorRegistry()
            MultiProcessCollector(merged)  # type: ignore[no-untyped-call]
            return bytes(generate_latest(merged))
        return bytes(generate_latest(self._registry))
