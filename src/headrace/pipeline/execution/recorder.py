"""Records a run: before the first view starts, while views end, and at the end.

A run that dies leaves the record of the views that had ended. If saving fails while views run, it
is tried again at the end; only then does the failure fail the run.
"""

import logging
import time
from collections.abc import Iterable

import msgspec

from headrace.errors import HeadraceError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.environment import now_ms
from headrace.pipeline.execution.mark_book import MarkBook
from headrace.pipeline.execution.run_progress import Progress
from headrace.pipeline.runners.task import Upstream
from headrace.pipeline.runs.artifact import PlanStage
from headrace.pipeline.runs.artifact_store import ArtifactStore
from headrace.pipeline.runs.run_record import RunRecord, RunStatus, ViewRun, ViewStatus

_LOGGER = logging.getLogger("headrace.pipeline")
_SAVE_INTERVAL_S = 3.0


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A view that has ended, with everything that is recorded about it."""

    view: ViewRun
    result: Upstream | None = None
    """What readers of the view read; None if it has no result."""
    plans: dict[PlanStage, str] = {}


class Recorder:
    """Writes the record of one run."""

    def __init__(
        self,
        record: RunRecord,
        bundle: Bundle,
        *,
        store: ArtifactStore,
        marks: MarkBook,
        progress: Progress,
    ) -> None:
        """Take the run that is about to start."""
        self._record, self._bundle, self._store = record, bundle, store
        self._marks, self._progress = marks, progress
        self._ended: dict[str, ViewRun] = {}
        self._unsaved: list[Finished] = []
        self._saved_at = time.monotonic()

    def begin(self, *, is_idle: bool) -> None:
        """Record the start of the run: first the bundle, which the record refers to.

        A run that computes no view is recorded once, at its end.
        """
        self._store.add_bundle(self._bundle)
        if not is_idle:
            self._store.add_run(self._record)

    def end_view(self, finished: Finished) -> None:
        """Add a view that has ended; it is saved later."""
        self._ended[finished.view.view] = finished.view
        self._unsaved.append(finished)
        self._progress.view_finished(finished.view)

    def failed(self) -> list[str]:
        """Return the views that failed."""
        return [v.view for v in self._ended.values() if v.status is ViewStatus.FAILED]

    def save_if_due(self) -> None:
        """Save finished views if the last save is long enough ago."""
        if not self._unsaved or time.monotonic() - self._saved_at < _SAVE_INTERVAL_S:
            return
        try:
            self._save()
        except (HeadraceError, OSError) as error:
            _LOGGER.warning(
                "run %s: finished views are not recorded yet: %s", self._record.id, error
            )
        self._saved_at = time.monotonic()

    def finish(self, status: RunStatus, unfinished: Iterable[ViewRun]) -> RunRecord:
        """Save the remaining views and the status of the run.

        Raises:
            StorageError: the record cannot be saved; committed tables remain.
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
        """Save marks, units and plans before the views that refer to them."""
        unsaved = list(self._unsaved)
        ran = [f.view.view for f in unsaved if f.view.status is ViewStatus.RAN]
        plans = {finished.view.view: finished.plans for finished in unsaved if finished.plans}
        with self._marks.saving() as marks:
            self._store.add_marks(self._record, marks)
        self._store.add_units(self._record, self._bundle, ran)
        self._store.add_plans(self._record, plans)
        self._store.add_views(self._record, [finished.view for finished in unsaved])
        del self._unsaved[: len(unsaved)]
