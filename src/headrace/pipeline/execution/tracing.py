"""A span for each run and each view, where OpenTelemetry is installed; else nothing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from headrace.pipeline import wiring


@contextmanager
def span(name: str, attributes: Mapping[str, str | int], *, parent: Any = None) -> Iterator[Any]:
    """Trace what happens inside; gives what a span below it names as its parent.

    Threads do not inherit spans, so a parent is named.
    """
    trace = wiring.open_tracing()
    if trace is None:
        yield None
        return
    tracer = trace.get_tracer("headrace")
    with tracer.start_as_current_span(name, context=parent, attributes=dict(attributes)) as opened:
        yield trace.set_span_in_context(opened)
