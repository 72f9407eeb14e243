"""The state of a project between runs: its folders, and the newest result of each view."""

import logging
from collections.abc import Collection
from pathlib import Path

import msgspec

from headrace.errors import PipelineError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.decision import LastResult, LastResults
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runs.store import ArtifactStore
from headrace.storage.location import local_root

_LOG = logging.getLogger(__name__)


class ProjectState(msgspec.Struct, frozen=True, kw_only=True):
    """Where a project keeps what it made."""

    outputs: Path
    folder: Path

    @classmethod
    def of(cls, root: Path, *, outputs: str, state: str) -> "ProjectState":
        """The folders that a project's file names, relative to its own."""
        return cls(outputs=_below(root, outputs), folder=_below(root, state))

    @property
    def store(self) -> ArtifactStore:
        """The records of runs."""
        return ArtifactStore(self.folder, outputs=self.outputs)

    @property
    def staging(self) -> Path:
        """The folder of tables that last as long as a run."""
        return self.folder / "staging"

    def last_results(self, views: Collection[str]) -> LastResults:
        """By view, its newest result, with the plan that led to it.

        A plan that is missing, damaged or of an unknown format is no result. It is logged once,
        and said of the views concerned.
        """
        store = self.store
        bundles: dict[str, Bundle | str] = {}
        results, unreadable = {}, {}
        standing_results = store.last_results(views)
        for view, standing in standing_results.items():
            if standing.bundle not in bundles:
                bundles[standing.bundle] = _read_bundle(store, standing.bundle)
            bundle = bundles[standing.bundle]
            if isinstance(bundle, str):
                unreadable[view] = f"the plan of run {standing.run} cannot be read: {bundle}"
            elif view in bundle.views:
                results[view] = LastResult(
                    run=standing.run, record=standing.record, plan=bundle[view]
                )
        newest_ms = max((found.started_ms for found in standing_results.values()), default=0)
        return LastResults(results, unreadable=unreadable, newest_ms=newest_ms)


def project_state(project: ProjectFiles) -> ProjectState:
    """Where a project keeps what it made."""
    table = project.manifest.project
    return ProjectState.of(project.root, outputs=table.outputs, state=table.state)


def _read_bundle(store: ArtifactStore, bundle: str) -> Bundle | str:
    """A bundle, or why it cannot be read."""
    try:
        return store.bundle(bundle)
    except PipelineError as error:
        _LOG.warning("views whose last plan is in bundle %s run again: %s", bundle, error)
        return str(error)


def _below(root: Path, place: str) -> Path:
    return Path(local_root(place)) if "://" in place else (root / place).resolve()
