"""Formats the times of a log for people."""

from datetime import UTC, datetime


def moment_of(time_ms: int) -> datetime | None:
    """Convert a time of the log; None if it is outside the calendar."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None


def shown_time(time_ms: int) -> str:
    """Format a time of the log, to the second."""
    moment = moment_of(time_ms)
    return f"{time_ms} ms" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"
