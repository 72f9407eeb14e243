"""The state of a project between runs: its folders and the newest result of each view.

The project's manifest enters; the folders leave as places, and results with the plans that made
them.
"""

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from headrace.commit.lease import DEFAULT_TTL_MS
from headrace.errors import InvalidProjectError, PipelineError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.last_result import LastResult, LastResults
from headrace.pipeline.place import Place
from headrace.pipeline.project.manifest import MANIFEST, ProjectTable
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runner_kind import RunnerKind, runner_of
from headrace.pipeline.runs.artifact_store import ArtifactStore
from headrace.pipeline.sources.delta import open_options

_LOG = logging.getLogger(__name__)


class ProjectState(msgspec.Struct, frozen=True, kw_only=True):
    """The folders in which a project keeps its outputs and its records."""

    outputs: Place
    folder: Place
    lease_ms: int = DEFAULT_TTL_MS
    """After how long without renewal the lock of a state folder in a store expires."""

    @classmethod
    def of(cls, root: Path, section: ProjectTable) -> "ProjectState":
        """Resolve the folders that a manifest names, relative to the project's folder.

        Raises:
            InvalidProjectError: outputs would be removed with the staging tables.
        """
        options = open_options(section.options)
        state = cls(
            outputs=_resolve(root, section.outputs, options),
            folder=_resolve(root, section.state, options),
            lease_ms=section.lease_seconds * 1000,
        )
        if f"{state.outputs}/".startswith(f"{state.staging}/"):
            reason = f"tables in {state.staging} are removed after each run: choose another folder"
            raise InvalidProjectError(file=MANIFEST, key="project.outputs", reason=reason)
        return state

    @property
    def store(self) -> ArtifactStore:
        """The artifact store, which has the records of runs."""
        return ArtifactStore(self.folder, outputs=self.outputs)

    @property
    def staging(self) -> Place:
        """The folder of staging tables, which live as long as a run."""
        return self.folder / "staging"

    def last_results(self, views: Collection[str]) -> LastResults:
        """Return the newest result of each view, with its plan.

        A view whose plan is missing, damaged or of an unknown format has no result. The plan is
        logged once, and the view is listed as unreadable.
        """
        store = self.store
        bundles: dict[str, Bundle | str] = {}
        results, unreadable = {}, {}
        newest_results = store.last_results(views)
        for view, newest in newest_results.items():
            if newest.bundle not in bundles:
                bundles[newest.bundle] = _read_bundle(store, newest.bundle)
            bundle = bundles[newest.bundle]
            if isinstance(bundle, str):
                unreadable[view] = f"the plan of run {newest.run} cannot be read: {bundle}"
            elif view in bundle.views:
                results[view] = LastResult(
                    run=newest.run, record=newest.record, plan=bundle[view], plans=bundle.views
                )
        newest_ms = max((result.started_ms for result in newest_results.values()), default=0)
        return LastResults(results, unreadable=unreadable, newest_ms=newest_ms)

    def last_runner(self, views: Collection[str]) -> RunnerKind:
        """Return the runner of the newest result of these views; Spark if there is none."""
        results = self.last_results(views).values()
        if not results:
            return RunnerKind.SPARK
        return runner_of(max(results, key=lambda result: result.run).plan.key.engine)


def project_state(project: ProjectFiles) -> ProjectState:
    """Return the state of a project."""
    return ProjectState.of(project.root, project.manifest.project)


def _read_bundle(store: ArtifactStore, bundle: str) -> Bundle | str:
    """Return a bundle, or why it cannot be read."""
    try:
        return store.bundle(bundle)
    except PipelineError as error:
        _LOG.warning("views that were last planned in bundle %s run again: %s", bundle, error)
        return str(error)


def _resolve(root: Path, address: str, options: Mapping[str, Any]) -> Place:
    return Place(address if "://" in address else (root / address).resolve(), options=options)
