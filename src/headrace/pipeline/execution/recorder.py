"""The record of a run: begun before the first view starts, saved as views end, closed at the end.

A run that dies leaves most of its story. What cannot be saved while views run is saved with the
rest at the end; only then does a failure to record fail the run.
"""

import logging
import time
from collections.abc import Iterable

import msgspec

from headrace.errors import HeadraceError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.environment import now_ms
from headrace.pipeline.execution.marking import MarkBook
from headrace.pipeline.execution.progress import Progress
from headrace.pipeline.runners.task import Upstream
from headrace.pipeline.runs.artifact import PlanStage
from headrace.pipeline.runs.record import RunRecord, RunStatus, ViewRun, ViewStatus
from headrace.pipeline.runs.store import ArtifactStore

_LOGGER = logging.getLogger("headrace.pipeline")
_FLUSH_S = 3.0


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A view that has ended, with all that is kept of it."""

    view: ViewRun
    result: Upstream | None = None
    """What its readers read; None if there is no result."""
    plans: dict[PlanStage, str] = {}


class Recorder:
    """Keeps the record of one run."""

    def __init__(
        self,
        record: RunRecord,
        bundle: Bundle,
        *,
        store: ArtifactStore,
        marks: MarkBook,
        progress: Progress,
    ) -> None:
        """Take the run that is about to begin."""
        self._record, self._bundle, self._store = record, bundle, store
        self._marks, self._progress = marks, progress
        self._ended: dict[str, ViewRun] = {}
        self._unsaved: list[Finished] = []
        self._saved_at = time.monotonic()

    def begin(self, *, is_idle: bool) -> None:
        """Put the run on record: its bundle first, without which the record would be of no use.

        A run in which no view runs is recorded once, when it ends.
        """
        self._store.add_bundle(self._bundle)
        if not is_idle:
            self._store.add_run(self._record)

    def end_view(self, finished: Finished) -> None:
        """Take note of a view that has ended."""
        self._ended[finished.view.view] = finished.view
        self._unsaved.append(finished)
        self._progress.view_finished(finished.view)

    def failed(self) -> list[str]:
        """The views that failed."""
        return [v.view for v in self._ended.values() if v.status is ViewStatus.FAILED]

    def save_now_and_then(self) -> None:
        """Save what has ended, if the last time is a while ago."""
        if not self._unsaved or time.monotonic() - self._saved_at < _FLUSH_S:
            return
        try:
            self._save()
        except (HeadraceError, OSError) as error:
            _LOGGER.warning("run %s: views are not on record yet: %s", self._record.id, error)
        self._saved_at = time.monotonic()

    def finish(self, status: RunStatus, unfinished: Iterable[ViewRun]) -> RunRecord:
        """Save the rest, and how the run ended.

        Raises:
            StorageError: the record cannot be saved; the tables that were written stand.
        """
        for view in unfinished:
            if view.view not in self._ended:
                self.end_view(Finished(view=view))
        self._save()
        in_order = {name: self._ended[name] for name in self._bundle.order}
        finished_ms = max(now_ms(), self._record.started_ms)
        record = msgspec.structs.replace(
            self._record, status=status, finished_ms=finished_ms, views=in_order
        )
        self._store.add_run(record)
        self._progress.run_finished(record)
        return record

    def _save(self) -> None:
        """Save in an order in which a view on record has all that belongs to it."""
        unsaved = list(self._unsaved)
        ran = [done.view.view for done in unsaved if done.view.status is ViewStatus.RAN]
        plans = {finished.view.view: finished.plans for finished in unsaved if finished.plans}
        with self._marks.saving() as marks:
            self._store.add_marks(self._record, marks)
        self._store.add_units(self._record, self._bundle, ran)
        self._store.add_plans(self._record, plans)
        self._store.add_views(self._record, [finished.view for finished in unsaved])
        del self._unsaved[: len(unsaved)]
