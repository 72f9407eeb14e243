"""The recorded runs of a project; a run that died is reported as interrupted.

The records of the artifact store enter; they leave with their current status, or compared in pairs.
"""

import msgspec

from headrace.errors import BundleDamagedError, RunNotFoundError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.lock import is_locked
from headrace.pipeline.execution.project_state import ProjectState
from headrace.pipeline.runs.artifact_store import LATEST
from headrace.pipeline.runs.run_difference import RunDifference, diff_runs
from headrace.pipeline.runs.run_record import RunRecord, RunStatus


class History:
    """The recorded runs of a project."""

    def __init__(self, state: ProjectState) -> None:
        """Take the state of a project."""
        self._state, self._store = state, state.store

    def runs(self, *, limit: int | None = None) -> list[RunRecord]:
        """Return the runs, newest first, without their views."""
        return [self._with_current_status(run) for run in self._store.runs(limit=limit)]

    def show(self, run: str = LATEST) -> RunRecord:
        """Return a run with its views, given its id, a prefix of the id, or `latest`.

        Raises:
            RunNotFoundError: no run matches, or more than one.
        """
        return self._with_current_status(self._store.find(run))

    def diff(self, first: str, second: str = LATEST) -> RunDifference:
        """Return the differences between two runs.

        Raises:
            RunNotFoundError: no run matches, or more than one.
        """
        runs = (self.show(first), self.show(second))
        return diff_runs(*runs, bundles=(self._bundle(runs[0]), self._bundle(runs[1])))

    def _bundle(self, run: RunRecord) -> Bundle | BundleDamagedError:
        """Return the plan of a run, or why it cannot be read; records are compared without it."""
        try:
            return self._store.bundle(run.bundle)
        except BundleDamagedError as error:
            return error
        except RunNotFoundError:
            return BundleDamagedError(bundle=run.bundle, reason="it is no longer in the store")

    def _with_current_status(self, record: RunRecord) -> RunRecord:
        """Return a record; a run recorded as running that no process runs was interrupted."""
        if record.status is not RunStatus.RUNNING or is_locked(self._state.folder):
            return record
        return msgspec.structs.replace(record, status=RunStatus.INTERRUPTED)
