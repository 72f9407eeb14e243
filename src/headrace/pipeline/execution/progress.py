"""Who is told how a run goes on; by default nobody."""

from collections.abc import Mapping
from typing import Protocol

from headrace.pipeline.execution.decision import Decision
from headrace.pipeline.runs.record import RunRecord, ViewRun


class Progress(Protocol):
    """Hears of a run; views may be told of by several threads."""

    def run_started(self, record: RunRecord, decisions: Mapping[str, Decision]) -> None:
        """A run begins."""

    def view_started(self, view: str) -> None:
        """A view begins."""

    def tasks_counted(self, view: str, *, done: int, known: int) -> None:
        """So many tasks of a view are done, of those that are known of."""

    def view_finished(self, view: ViewRun) -> None:
        """A view has ended, whichever way."""

    def run_finished(self, record: RunRecord) -> None:
        """A run has ended."""


class Quiet:
    """Says nothing."""

    def run_started(self, record: RunRecord, decisions: Mapping[str, Decision]) -> None:
        """Say nothing."""

    def view_started(self, view: str) -> None:
        """Say nothing."""

    def tasks_counted(self, view: str, *, done: int, known: int) -> None:
        """Say nothing."""

    def view_finished(self, view: ViewRun) -> None:
        """Say nothing."""

    def run_finished(self, record: RunRecord) -> None:
        """Say nothing."""
