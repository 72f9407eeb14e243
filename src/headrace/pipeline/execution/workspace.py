"""The folders that a run writes to, held by one run at a time."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from headrace import wiring
from headrace.pipeline.execution.lock import run_lock
from headrace.pipeline.execution.project_state import ProjectState
from headrace.pipeline.output.staging import Journal, remove_temporary_table


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """The folders that a run writes to."""

    outputs: Path
    staging: Path
    """For tables that live as long as the run."""
    journal: Journal

    def clear_staging(self) -> None:
        """Remove the staging tables of this run, or of an earlier run that died."""
        for table in list(self.staging.iterdir()) if self.staging.is_dir() else ():
            remove_temporary_table(table)
        with suppress(OSError):  # not empty, or missing
            self.staging.rmdir()


@contextmanager
def hold(state: ProjectState, *, project: str) -> Iterator[Workspace]:
    """Hold a project for one run, after cleaning up after dead runs.

    Raises:
        RunInProgressError: another process holds it.
    """
    with run_lock(state.folder, project=project):
        journal = Journal(wiring.open_writable_store(str(state.folder)))
        workspace = Workspace(outputs=state.outputs, staging=state.staging, journal=journal)
        journal.recover(folders=(state.outputs, state.staging))
        workspace.clear_staging()
        try:
            yield workspace
        finally:
            workspace.clear_staging()
