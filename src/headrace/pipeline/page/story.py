"""What runs tell of a view: how it stands, why, and its latest runs."""

from enum import StrEnum

import msgspec


class Status(StrEnum):
    """How a view came out of the latest run that touched it."""

    RAN = "ran"
    SKIPPED = "skipped"
    IN_PLACE = "in place"
    """It has no rows of its own: whoever reads it computed it."""
    FAILED = "failed"
    BLOCKED = "blocked"
    """Something that it reads failed."""
    CANCELLED = "cancelled"
    NEVER_RUN = "never run"

    @property
    def look(self) -> str:
        """The name of its colour in the style sheets."""
        return self.value.replace(" ", "-")


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line in the list of a view's runs."""

    run: str
    started: str
    outcome: Status
    took: str = ""
    rows: str = ""
    note: str = ""
    """Why it ran or was skipped, or how it failed."""


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that runs tell of one view."""

    status: Status = Status.NEVER_RUN
    why: str = ""
    """Why it stands as it does, in one line."""
    fallback: str = ""
    """Why its latest run did not run its stored plan; empty if it did."""
    next_run: tuple[str, ...] | None = None
    """Why it would run now; empty if it would be skipped, None if nobody asked."""
    runs_newest_first: tuple[RunLine, ...] = ()


NO_STORY = Story()
"""Of a view that no run has touched."""
