"""Traces runs and views as OpenTelemetry spans, if OpenTelemetry is installed.

The names and attributes of steps enter; spans leave for the exporter that the process has set up.
Without OpenTelemetry nothing happens, so callers need no conditions.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from headrace.pipeline import wiring

Attributes = Mapping[str, str | int]


class Span:
    """An open span; without OpenTelemetry its methods do nothing."""

    def __init__(self, trace: Any = None, opened: Any = None) -> None:
        """Take the module `opentelemetry.trace` and one of its spans."""
        self._trace, self._opened = trace, opened

    @property
    def context(self) -> Any:
        """The context to pass as `parent` to spans in other threads, which do not inherit it."""
        return None if self._opened is None else self._trace.set_span_in_context(self._opened)

    def add(self, attributes: Attributes) -> None:
        """Add attributes that are known only at the end."""
        if self._opened is not None:
            self._opened.set_attributes(dict(attributes))

    def fail(self, reason: str) -> None:
        """Mark the span as failed."""
        if self._opened is not None:
            self._opened.set_status(self._trace.Status(self._trace.StatusCode.ERROR, reason))


@contextmanager
def span(name: str, attributes: Attributes, *, parent: Any = None) -> Iterator[Span]:
    """Trace the body of a `with` block; an exception marks the span as failed."""
    trace = wiring.open_tracing()
    if trace is None:
        yield Span()
        return
    tracer = trace.get_tracer("headrace")
    with tracer.start_as_current_span(name, context=parent, attributes=dict(attributes)) as opened:
        yield Span(trace, opened)
