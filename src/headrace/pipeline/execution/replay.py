"""A run, replayed: the same bundle over the same files, and the results compared.

What is missing is named before anything is computed.
"""

from collections.abc import Mapping
from typing import Any

from headrace.errors import FileListMissingError, PinnedFilesChangedError
from headrace.pipeline.bundle.file_list import compare_files
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.execution.decision import Action
from headrace.pipeline.execution.marking import describe_altered_files
from headrace.pipeline.execution.prepare import open_bundle
from headrace.pipeline.execution.progress import Progress
from headrace.pipeline.execution.recompute import Known, recompute, recompute_decisions
from headrace.pipeline.execution.request import RunRequest
from headrace.pipeline.execution.run import new_record
from headrace.pipeline.execution.spark import LazySpark
from headrace.pipeline.execution.state import project_state
from headrace.pipeline.execution.workspace import hold
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runs.record import RunKind, RunRecord
from headrace.pipeline.runs.store import ArtifactStore
from headrace.pipeline.sources.source import Source


def replay_run(  # noqa: PLR0913  (a run, and how it is repeated)
    project: ProjectFiles,
    run: str,
    *,
    engine: str | None,
    profile: str,
    session: Any = None,
    progress: Progress,
) -> RunRecord:
    """Compute the views of a run again, and compare.

    Raises:
        RunNotFoundError: there is no such run.
        PinnedFilesChangedError: files that it read are gone or altered.
        FunctionChangedError: a function is not what it was.
    """
    state = project_state(project)
    then = state.store.find(run)
    prepared = open_bundle(project, state.store.bundle(then.bundle))
    known = Known(
        prepared=prepared,
        views=then.views,
        reason=f"run {then.id} is replayed",
        absent=f"run {then.id} left it out",
    )
    had = {name for name, view in then.views.items() if view.digest is not None and view.stands}
    decisions = recompute_decisions(known, had)
    request = RunRequest(engine=engine or then.engine.partition(" ")[0], profile=profile)
    with hold(state, project=project.name) as workspace:
        store = state.store
        for name, decision in decisions.items():
            if decision.action is Action.RUN:
                origin = _origin(store, then, name)
                _check_files(prepared.bundle[name], store, origin, prepared.sources)
        return recompute(
            known,
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
    """The run that made the result which a view had in a run."""
    known = then.views.get(view)
    origin = None if known is None else known.result_of
    return then if origin is None or origin == then.id else store.find(origin)


def _check_files(
    plan: ViewPlan, store: ArtifactStore, origin: RunRecord, sources: Mapping[str, Source]
) -> None:
    """Make sure that all files are there, and are what they were.

    Raises:
        PinnedFilesChangedError: some are not.
        FileListMissingError: the list of them is not there any more.
    """
    for unit in plan.units:
        source = sources[unit.source]
        pinned = unit.files.read()
        if pinned is None:
            raise FileListMissingError(source=unit.source, digest=unit.digest)
        changed = compare_files(pinned, source.prune(unit.where).files)
        wrong = ["the log names other files now"] if changed else []
        wrong += describe_altered_files(source, unit, store.marks(unit.source, until=origin))
        if wrong:
            raise PinnedFilesChangedError(view=plan.name, source=unit.source, files=wrong)
