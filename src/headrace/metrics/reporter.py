"""Where events go: by default to Python's own logging, under the name `headrace`."""

import logging
from collections.abc import Callable
from typing import TypeAlias

from headrace.metrics.event import Event

Reporter: TypeAlias = Callable[[Event], None]
"""Anything that takes an event; it must not raise."""

_logger = logging.getLogger("headrace")


def log_event(event: Event) -> None:
    """Report an event as a warning of the logger `headrace`."""
    _logger.warning("%s", event, extra={"headrace_event": event})
