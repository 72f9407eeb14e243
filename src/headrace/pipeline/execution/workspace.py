"""The folders that a run writes to, held by one run at a time.

The state of a project enters; its folders leave, locked and cleaned up after runs that died.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from headrace.pipeline.execution.lock import RunLock, run_lock
from headrace.pipeline.execution.project_state import ProjectState
from headrace.pipeline.output.staging import Journal
from headrace.pipeline.output.temporary import clear_tables
from headrace.pipeline.place import Place


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """The folders that a run writes to."""

    outputs: Place
    staging: Place
    """For tables that live as long as the run."""
    journal: Journal
    lock: RunLock


@contextmanager
def hold(state: ProjectState, *, project: str) -> Iterator[Workspace]:
    """Hold a project for one run, after cleaning up after dead runs.

    Raises:
        RunInProgressError: another process holds it.
        StorageError: a store failed before anything was run.
    """
    with run_lock(state.folder, project=project, lease_ms=state.lease_ms) as lock:
        journal = Journal(state.folder.open(), lock=lock)
        folders = (state.outputs, state.staging)
        if lock.is_taken_over:
            journal.fence(folders=folders)
        journal.recover(folders=folders)
        clear_tables(state.staging)
        # A run that lost its lock must not delete the tables of the one that took over.
        staging = state.staging if lock.token is None else state.staging / str(lock.token)
        workspace = Workspace(outputs=state.outputs, staging=staging, journal=journal, lock=lock)
        try:
            yield workspace
        finally:
            clear_tables(staging)
