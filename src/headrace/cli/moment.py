"""Times of the log for people."""

from datetime import UTC, datetime


def moment_of(time_ms: int) -> datetime | None:
    """A time of the log; None where no calendar has it, for a log may say anything."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None


def shown_time(time_ms: int) -> str:
    """A time of the log on one line, to the second."""
    moment = moment_of(time_ms)
    return f"{time_ms} ms" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"
