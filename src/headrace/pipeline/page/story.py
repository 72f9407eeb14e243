"""What runs tell of a view: how it stands, why, and its latest runs."""

from enum import StrEnum

import msgspec


class Status(StrEnum):
    """How a view came out of the latest run that touched it."""

    RAN = "ran"
    SKIPPED = "skipped"
    FAILED = "failed"
    NEVER_RUN = "never run"


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line in the list of a view's runs."""

    run: str
    started: str
    outcome: str
    took: str = ""
    rows: str = ""
    note: str = ""
    """Why it ran or was skipped, or how it failed."""


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that runs tell of one view."""

    status: Status = Status.NEVER_RUN
    why: str = ""
    """Why it stands as it does, in one line."""
    next_run: tuple[str, ...] | None = None
    """Why it would run now; empty if it would be skipped, None if nobody asked."""
    runs_newest_first: tuple[RunLine, ...] = ()


NO_STORY = Story()
"""Of a view that no run has touched."""
