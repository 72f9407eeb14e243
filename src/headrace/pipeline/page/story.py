"""The story of a view: its status after the latest runs, and those runs.

`story_reader` fills these values from the records of runs; the panel renders them.
"""

from enum import StrEnum

import msgspec


class Status(StrEnum):
    """The outcome of the latest run that processed a view."""

    RAN = "ran"
    SKIPPED = "skipped"
    IN_PLACE = "in place"
    """The view has no rows of its own; its readers computed it."""
    FAILED = "failed"
    BLOCKED = "blocked"
    """A view that it reads failed."""
    CANCELLED = "cancelled"
    NEVER_RUN = "never run"

    @property
    def style_class(self) -> str:
        """The name of its class in the style sheets."""
        return self.value.replace(" ", "-")


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line in the list of a view's runs."""

    run: str
    started: str
    outcome: Status
    took: str = ""
    rows: str = ""
    note: str = ""
    """Why the view ran or was skipped, or how it failed."""


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """What the records of runs say about one view."""

    status: Status = Status.NEVER_RUN
    why: str = ""
    """The reason for the status, in one line."""
    fallback: str = ""
    """Why its latest run did not use its stored plan; empty if it did."""
    next_run: tuple[str, ...] | None = None
    """Why it would run now; empty if it would be skipped, None if that was not determined."""
    runs_newest_first: tuple[RunLine, ...] = ()


NO_STORY = Story()
"""The story of a view that no run has processed."""
