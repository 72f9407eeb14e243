"""Reporters show the counts of a replay under the names that users look for."""

import logging
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint

from headrace import Table
from headrace.metrics.event import ChecksumIgnored, Event, LogReplayCompleted, ReplayPhase
from headrace.metrics.otel import OpenTelemetryReporter
from headrace.metrics.prometheus import PrometheusReporter
from headrace.metrics.reporter import log_event
from tests.lake.action import add, opening, remove
from tests.lake.log import write_history


@pytest.fixture
def table(tmp_path: Path) -> Table:
    history = [[*opening(), add("a"), add("b")], [remove("a"), add("c")]]
    return Table(write_history(tmp_path, history))


def events_of(table: Table, *, stop_after: int | None = None) -> list[Event]:
    events: list[Event] = []
    scan = table.snapshot().scan(reporter=events.append)
    for count, _ in enumerate(scan, start=1):
        if count == stop_after:
            break
    del scan
    return events


def test_a_whole_scan_is_one_event(table: Table) -> None:
    [event] = events_of(table)
    assert isinstance(event, LogReplayCompleted)
    assert event.phase is ReplayPhase.SCAN
    assert event.counts.adds_emitted == 2
    assert event.strategy == "reverse"
    assert event.duration_ns > 0


def test_a_scan_that_is_left_early_is_one_event_too(table: Table) -> None:
    [event] = events_of(table, stop_after=1)
    assert isinstance(event, LogReplayCompleted)
    assert event.counts.adds_emitted == 1


def test_prometheus_text_has_the_counts(table: Table) -> None:
    reporter = PrometheusReporter()
    for event in (*events_of(table), ChecksumIgnored(table="t", path="x", reason="y")):
        reporter(event)
    text = reporter.text()
    assert f'delta_lazy_files_emitted_total{{table="{table.uri}"}} 2.0' in text
    assert f'headrace_removes_processed_total{{phase="scan",table="{table.uri}"}} 1.0' in text
    assert 'headrace_events_total{event="ChecksumIgnored",table="t"} 1.0' in text
    assert f'headrace_scans_total{{strategy="reverse",table="{table.uri}"}} 1.0' in text


def recorded(events: Iterable[Event]) -> dict[str, tuple[float, dict[str, Any]]]:
    """Return what OpenTelemetry recorded: a value (for a histogram, the sum) and its labels."""
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    reporter = OpenTelemetryReporter(provider)
    for event in events:
        reporter(event)
    data = reader.get_metrics_data()
    provider.shutdown()
    assert data is not None
    [scope] = data.resource_metrics[0].scope_metrics
    values = {}
    for metric in scope.metrics:
        [point] = metric.data.data_points
        value = point.value if isinstance(point, NumberDataPoint) else point.sum
        values[metric.name] = (value, dict(point.attributes or {}))
    return values


def test_opentelemetry_has_the_values_under_the_documented_names(table: Table) -> None:
    [event] = events_of(table)
    assert isinstance(event, LogReplayCompleted)
    values = recorded([event, ChecksumIgnored(table="t", path="x", reason="y")])
    of_table = {"table": table.uri}
    of_phase = of_table | {"phase": "scan"}
    assert event.time_to_first_file_ns is not None
    assert values == {
        "delta.lazy.commits_scanned": (2, of_table),
        "delta.lazy.files_emitted": (2, of_table),
        "delta.lazy.fallback_triggered": (0, of_table),
        "delta.lazy.remove_set_size": (3, of_table),
        "delta.lazy.time_to_first_file_ms": (event.time_to_first_file_ns / 1e6, of_table),
        "headrace.replay.duration": (event.duration_ns / 1e6, of_phase),
        "headrace.scans": (1, of_table | {"strategy": "reverse"}),
        "headrace.events": (1, {"table": "t", "event": "ChecksumIgnored"}),
        **{
            f"headrace.{name}": (count, of_phase)
            for name, count in msgspec.structs.asdict(event.counts).items()
        },
    }


def test_a_single_phase_is_not_counted_as_a_scan(table: Table) -> None:
    [event] = events_of(table)
    assert isinstance(event, LogReplayCompleted)
    part = msgspec.structs.replace(event, phase=ReplayPhase.PARALLEL, strategy=None)
    reporter = PrometheusReporter()
    reporter(part)
    assert "headrace_scans_total{" not in reporter.text()
    assert "headrace.scans" not in recorded([part])


def test_logging_warns_of_anomalies_and_logs_the_rest_as_debug(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="headrace"):
        log_event(ChecksumIgnored(table="t", path="x", reason="y"))
        for event in events_of(table):
            log_event(event)
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG"]


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [("prometheus", "prometheus_client", "prometheus"), ("otel", "opentelemetry", "otel")],
)
def test_a_reporter_without_its_library_says_which_extra_to_install(
    module: str, library: str, extra: str
) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from headrace.errors import MissingExtraError\n"
        f"try:\n    import headrace.metrics.{module}\n"
        "except MissingExtraError as error:\n    print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    expected = f"{library} is not installed; run: pip install 'headrace[{extra}]'"
    assert ran.stdout.strip() == expected
