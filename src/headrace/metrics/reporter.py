"""The reporter interface, and the default reporter, which logs to the logger `headrace`."""

import logging
from collections.abc import Callable
from typing import TypeAlias

from headrace.metrics.event import Event, LogReplayCompleted, StateRead, StateWritten

Reporter: TypeAlias = Callable[[Event], None]
"""A callable that accepts an event; it must not raise."""

_logger = logging.getLogger("headrace")


def log_event(event: Event) -> None:
    """Log an event: completed work at DEBUG level, anomalies as warnings."""
    is_measured = isinstance(event, LogReplayCompleted | StateRead | StateWritten)
    level = logging.DEBUG if is_measured else logging.WARNING
    _logger.log(level, "%s", event, extra={"headrace_event": event})
