"""The newest results of the views of a project, from which decisions start.

The artifact store's records enter, through `ProjectState.last_results`; decisions and plans read
the values.
"""

from collections.abc import Iterator, Mapping

import msgspec

from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.runs.run_record import ViewRun


class LastResult(msgspec.Struct, frozen=True, kw_only=True):
    """The newest result of a view: its run, its record in that run, and its plan."""

    run: str
    record: ViewRun
    plan: ViewPlan
    plans: Mapping[str, ViewPlan] = {}
    """The plans of all views at that time, which explain changes of inlined ones."""


class LastResults(Mapping[str, LastResult]):
    """The newest result of each view, and the views whose last plan cannot be read any more."""

    def __init__(
        self,
        results: Mapping[str, LastResult] | None = None,
        *,
        unreadable: Mapping[str, str] | None = None,
        newest_ms: int = 0,
    ) -> None:
        """Take both; a view is in at most one of them."""
        self._results = results or {}
        self.unreadable = unreadable or {}
        """Why the last plan of a view cannot be read, by view; such a view runs again."""
        self.newest_ms = newest_ms
        """When the newest run started that has one of the results."""

    def __getitem__(self, view: str) -> LastResult:
        return self._results[view]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)
