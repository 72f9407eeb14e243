"""Replays a run: the same bundle over the same files, with the results compared.

Missing or altered files are reported before anything is computed.
"""

from collections.abc import Mapping
from typing import Any

from headrace.errors import FileListMissingError, PinnedFilesChangedError
from headrace.pipeline.bundle.file_list import compare_files
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.execution.decision import Action
from headrace.pipeline.execution.lazy_spark import LazySpark
from headrace.pipeline.execution.mark_book import describe_altered_files
from headrace.pipeline.execution.prepare import open_bundle
from headrace.pipeline.execution.project_state import project_state
from headrace.pipeline.execution.recompute import Baseline, recompute, recompute_decisions
from headrace.pipeline.execution.run import new_record
from headrace.pipeline.execution.run_progress import Progress
from headrace.pipeline.execution.run_request import RunRequest
from headrace.pipeline.execution.workspace import hold
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runner_kind import RunnerKind, runner_of
from headrace.pipeline.runs.artifact_store import ArtifactStore
from headrace.pipeline.runs.run_record import RunKind, RunRecord
from headrace.pipeline.sources.source import PinnedSource


def replay_run(  # noqa: PLR0913  (a run, and how to repeat it)
    project: ProjectFiles,
    run: str,
    *,
    runner: RunnerKind | None,
    profile: str,
    session: Any = None,
    progress: Progress,
) -> RunRecord:
    """Recompute the views of a run, and compare them.

    Raises:
        RunNotFoundError: no run matches, or more than one.
        PinnedFilesChangedError: files that the run read are missing or altered.
        FunctionChangedError: a function has changed.
    """
    state = project_state(project)
    then = state.store.find(run)
    prepared = open_bundle(project, state.store.bundle(then.bundle))
    baseline = Baseline(
        prepared=prepared,
        views=then.views,
        reason=f"run {then.id} is replayed",
        absent=f"run {then.id} left it out",
    )
    had_result = {
        name for name, view in then.views.items() if view.digest is not None and view.stands
    }
    decisions = recompute_decisions(baseline, had_result)
    request = RunRequest(runner=runner or runner_of(then.engine), profile=profile)
    with hold(state, project=project.name) as workspace:
        store = state.store
        for name, decision in decisions.items():
            if decision.action is Action.RUN:
                origin = _origin(store, then, name)
                _check_files(prepared.bundle[name], store, origin, prepared.sources)
        return recompute(
            baseline,
            decisions,
            new_record(request, prepared.bundle, kind=RunKind.REPLAY, replay_of=then.id),
            project=project,
            request=request,
            state=state,
            workspace=workspace,
            spark=LazySpark(project.profile(profile), session),
            progress=progress,
        )


def _origin(store: ArtifactStore, then: RunRecord, view: str) -> RunRecord:
    """Return the run that computed the result that a view had in a run."""
    view_run = then.views.get(view)
    origin = None if view_run is None else view_run.result_of
    return then if origin is None or origin == then.id else store.find(origin)


def _check_files(
    plan: ViewPlan, store: ArtifactStore, origin: RunRecord, sources: Mapping[str, PinnedSource]
) -> None:
    """Check that all files of a view exist and are unchanged.

    Raises:
        PinnedFilesChangedError: files are missing or altered.
        FileListMissingError: the list of files no longer exists.
    """
    for unit in plan.units:
        source = sources[unit.source]
        pinned = unit.files.read()
        if pinned is None:
            raise FileListMissingError(source=unit.source, digest=unit.digest)
        changed = compare_files(pinned, source.prune(unit.where).files)
        altered = ["it now consists of other files"] if changed else []
        altered += describe_altered_files(source, unit, store.marks(unit.source, until=origin))
        if altered:
            raise PinnedFilesChangedError(view=plan.name, source=unit.source, files=altered)
