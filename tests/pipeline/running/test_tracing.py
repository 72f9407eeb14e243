"""OpenTelemetry spans: one per run, one per view below it, and which of them failed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.pipeline import Project
from tests.pipeline.shop import edit, write_shop

trace = pytest.importorskip("opentelemetry.trace", reason="the extra otel is not installed")
sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="the extra otel is not installed")
export = pytest.importorskip(
    "opentelemetry.sdk.trace.export", reason="the extra otel is not installed"
)
memory = pytest.importorskip(
    "opentelemetry.sdk.trace.export.in_memory_span_exporter",
    reason="the extra otel is not installed",
)


@pytest.fixture(scope="module")
def exporter() -> Iterator[Any]:
    """Export the spans of this process, which can have only one provider."""
    provider = trace.get_tracer_provider()
    if not isinstance(provider, sdk.TracerProvider):
        provider = sdk.TracerProvider()
        trace.set_tracer_provider(provider)
    span_exporter = memory.InMemorySpanExporter()
    provider.add_span_processor(export.SimpleSpanProcessor(span_exporter))
    yield span_exporter
    span_exporter.shutdown()


@pytest.fixture
def spans(exporter: Any, tmp_path: Path) -> dict[str, Any]:
    """Return the spans of a run with one failing view, by view; that of the run by its id."""
    root = write_shop(tmp_path / "shop")
    edit(root / "views" / "forecast.sql", "max(degrees)", "1 / (max(degrees) - 8)")
    exporter.clear()
    record = Project.load(root).run(engine="datafusion")
    finished = exporter.get_finished_spans()
    assert {span.attributes["headrace.run"] for span in finished} == {record.id}
    return {span.attributes.get("headrace.view", "the run"): span for span in finished}


def test_a_run_is_a_span_with_a_child_span_per_view(spans: dict[str, Any]) -> None:
    assert set(spans) == {"the run", "forecast", "revenue", "top"}
    whole = spans.pop("the run")
    assert (whole.name, whole.parent) == ("headrace.run", None)
    assert {span.parent.span_id for span in spans.values()} == {whole.context.span_id}
    assert {span.context.trace_id for span in spans.values()} == {whole.context.trace_id}
    assert whole.attributes["headrace.engine"].startswith("datafusion ")


def test_a_view_that_failed_and_its_run_have_the_status_error(spans: dict[str, Any]) -> None:
    failed = {name for name, span in spans.items() if not span.status.is_ok}
    assert failed == {"the run", "forecast"}
    assert "zero" in spans["forecast"].status.description
    assert spans["the run"].attributes["headrace.status"] == "failed"
    assert spans["revenue"].attributes["headrace.rows"] == 3
