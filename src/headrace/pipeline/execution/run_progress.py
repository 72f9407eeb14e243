"""The observer of a run's progress, and one that ignores everything.

The caller of a run passes it; the run calls it as views start, advance and end.
"""

from collections.abc import Mapping
from typing import Protocol

from headrace.pipeline.execution.decision import Decision
from headrace.pipeline.runs.run_record import RunRecord, ViewRun


class Progress(Protocol):
    """Observes a run. Methods about views can be called from several threads."""

    def run_started(self, record: RunRecord, decisions: Mapping[str, Decision]) -> None:
        """Called when a run starts."""

    def view_started(self, view: str) -> None:
        """Called when a view starts."""

    def tasks_counted(self, view: str, *, done: int, known: int) -> None:
        """Called with the number of finished tasks of a view, and of those known so far."""

    def view_finished(self, view: ViewRun) -> None:
        """Called when a view has ended, successfully or not."""

    def run_finished(self, record: RunRecord) -> None:
        """Called when a run has ended."""


class Quiet:
    """An observer that ignores everything."""

    def run_started(self, record: RunRecord, decisions: Mapping[str, Decision]) -> None:
        """Do nothing."""

    def view_started(self, view: str) -> None:
        """Do nothing."""

    def tasks_counted(self, view: str, *, done: int, known: int) -> None:
        """Do nothing."""

    def view_finished(self, view: ViewRun) -> None:
        """Do nothing."""

    def run_finished(self, record: RunRecord) -> None:
        """Do nothing."""
