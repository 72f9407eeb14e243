"""The runs that have been, as they stand: one that died is told as such."""

import msgspec

from headrace.errors import BundleDamagedError, RunNotFoundError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.lock import is_locked
from headrace.pipeline.execution.state import ProjectState
from headrace.pipeline.runs.difference import RunDifference, diff_runs
from headrace.pipeline.runs.record import RunRecord, RunStatus
from headrace.pipeline.runs.store import LATEST


class History:
    """The runs of a project."""

    def __init__(self, state: ProjectState) -> None:
        """Take what a project keeps."""
        self._state, self._store = state, state.store

    def runs(self, *, limit: int | None = None) -> list[RunRecord]:
        """The runs, newest first, without their views."""
        return [self._as_it_stands(run) for run in self._store.runs(limit=limit)]

    def show(self, run: str = LATEST) -> RunRecord:
        """A run with its views: by id, by the beginning of it, or `latest`.

        Raises:
            RunNotFoundError: there is no such run, or more than one.
        """
        return self._as_it_stands(self._store.find(run))

    def diff(self, first: str, second: str = LATEST) -> RunDifference:
        """What is different between two runs.

        Raises:
            RunNotFoundError: there is no such run, or more than one.
        """
        runs = (self.show(first), self.show(second))
        return diff_runs(*runs, bundles=(self._bundle(runs[0]), self._bundle(runs[1])))

    def _bundle(self, run: RunRecord) -> Bundle | BundleDamagedError:
        """The plan of a run, or why it cannot be read: records can be compared without it."""
        try:
            return self._store.bundle(run.bundle)
        except BundleDamagedError as error:
            return error
        except RunNotFoundError:
            return BundleDamagedError(bundle=run.bundle, reason="it is not in the store any more")

    def _as_it_stands(self, record: RunRecord) -> RunRecord:
        """A run that is on record as running, and that nobody runs, has died."""
        if record.status is not RunStatus.RUNNING or is_locked(self._state.folder):
            return record
        return msgspec.structs.replace(record, status=RunStatus.INTERRUPTED)
