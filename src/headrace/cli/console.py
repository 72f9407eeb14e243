"""Text for people, on a terminal or elsewhere."""

from datetime import UTC, datetime

import rich.console


class Console(rich.console.Console):
    """A console that leaves a reader who went away to the command, as all other output does."""

    def on_broken_pipe(self) -> None:
        """Go on raising, where Rich would end the process as if something had failed."""
        raise  # noqa: PLE0704  (it is called while the error is handled)


def moment_of(time_ms: int) -> datetime | None:
    """A time of the log for people; None where no calendar has it, for a log may say anything."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None
