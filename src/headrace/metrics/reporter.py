"""Where events go: by default to Python's own logging, under the name `headrace`."""

import logging
from collections.abc import Callable
from typing import TypeAlias

from headrace.metrics.event import Event, LogReplayCompleted

Reporter: TypeAlias = Callable[[Event], None]
"""Anything that takes an event; it must not raise."""

_logger = logging.getLogger("headrace")


def log_event(event: Event) -> None:
    """Log an event: what was survived as a warning, what was done for those who debug."""
    level = logging.DEBUG if isinstance(event, LogReplayCompleted) else logging.WARNING
    _logger.log(level, "%s", event, extra={"headrace_event": event})
