"""Reporters show the counts of a replay under the names that people look for."""

import logging
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

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
    for taken, _ in enumerate(scan, start=1):
        if taken == stop_after:
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
    for event in (*events_of(table), ChecksumIgnored(path="x", reason="y")):
        reporter(event)
    text = reporter.text()
    assert f'delta_lazy_files_emitted_total{{table="{table.uri}"}} 2.0' in text
    assert 'headrace_removes_processed_total{phase="scan"' in text
    assert 'headrace_events_total{event="ChecksumIgnored"} 1.0' in text


def test_opentelemetry_has_the_names_of_the_design(table: Table) -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    reporter = OpenTelemetryReporter(provider)
    for event in events_of(table):
        reporter(event)
    data = reader.get_metrics_data()
    assert data is not None
    [scope] = data.resource_metrics[0].scope_metrics
    names = {metric.name for metric in scope.metrics}
    provider.shutdown()
    assert names >= {
        "delta.lazy.commits_scanned",
        "delta.lazy.files_emitted",
        "delta.lazy.fallback_triggered",
        "delta.lazy.remove_set_size",
        "delta.lazy.time_to_first_file_ms",
    }


def test_logging_warns_of_what_was_survived_and_whispers_the_rest(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="headrace"):
        log_event(ChecksumIgnored(path="x", reason="y"))
        for event in events_of(table):
            log_event(event)
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG"]
