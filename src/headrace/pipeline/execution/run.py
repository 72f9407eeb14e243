"""Runs a project: lock, plan, decide, check, execute, record.

The project's files and a request enter; the record of the run leaves. Replays and verifications
share `prepare` and `new_record`, but decide differently which views to compute.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.decision import Action, Decision, decide_views
from headrace.pipeline.execution.environment import describe_environment, new_run_id, now_ms
from headrace.pipeline.execution.execute import RunPlan, execute
from headrace.pipeline.execution.last_result import LastResult
from headrace.pipeline.execution.lazy_spark import LazySpark
from headrace.pipeline.execution.pinned_files import check_pinned_files, check_queries
from headrace.pipeline.execution.prepare import Prepared, open_bundle, plan_project
from headrace.pipeline.execution.project_state import project_state
from headrace.pipeline.execution.run_progress import Progress
from headrace.pipeline.execution.run_request import RunRequest
from headrace.pipeline.execution.view_check import check_views
from headrace.pipeline.execution.workspace import hold
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runner_kind import RunnerKind, runner_version
from headrace.pipeline.runs.artifact_store import ArtifactStore
from headrace.pipeline.runs.run_record import RunKind, RunRecord, RunStatus
from headrace.pipeline.translation.provenance import is_current


def run_project(
    project: ProjectFiles, request: RunRequest, *, session: Any = None, progress: Progress
) -> RunRecord:
    """Run the views that have changed, and skip the others.

    Raises:
        PipelineError: the project cannot be planned, a view is rejected, or another process runs
            the project.
        KeyboardInterrupt: Ctrl-C was pressed; tables committed by then remain.
    """
    state = project_state(project)
    spark = LazySpark(project.profile(request.profile), session)
    with hold(state, project=project.name) as workspace:
        last = state.last_results(project.views)
        prepared = prepare(project, request, last=last, spark=spark, store=state.store)
        decisions = decide_views(prepared.bundle, request, last=last, outputs=state.outputs)
        decisions = _without_foreign_keys(prepared.bundle, decisions, runner=request.runner)
        if request.bundle is not None:
            running = [name for name, d in decisions.items() if d.action is Action.RUN]
            check_queries(prepared.bundle, running)
            check_pinned_files(prepared, running)
        check_views(project, request, prepared, decisions, spark)
        record = new_record(request, prepared.bundle, after_ms=last.newest_ms)
        plan = RunPlan(record=record, prepared=prepared, decisions=decisions, request=request)
        return execute(
            plan, project, workspace=workspace, spark=spark, store=state.store, progress=progress
        )


def prepare(
    project: ProjectFiles,
    request: RunRequest,
    *,
    last: Mapping[str, LastResult],
    spark: LazySpark,
    store: ArtifactStore,
) -> Prepared:
    """Plan the project with the plans of earlier runs, or open the requested bundle.

    Raises:
        RunNotFoundError: the requested bundle does not exist.
        PipelineError, TableError: the project cannot be planned, or a source cannot be read.
    """
    if request.bundle is not None:
        return open_bundle(project, store.find_bundle(request.bundle))
    return plan_project(
        project,
        runner=request.runner,
        pins=request.pins,
        variables=request.variables,
        previous={name: result.plan for name, result in last.items()},
        builders=spark if request.runner is RunnerKind.SPARK else None,
        profile=request.profile,
        session=spark.callers_session,
    )


def _without_foreign_keys(
    bundle: Bundle, decisions: Mapping[str, Decision], *, runner: RunnerKind
) -> dict[str, Decision]:
    """Drop the keys of views that run on another runner, or with other code, than planned.

    Their results must not be the reason for a later skip.
    """
    is_planned_for_runner = bundle.engine == runner_version(runner)
    return {
        name: decision
        if decision.action is not Action.RUN
        or (is_planned_for_runner and _is_computed_as_planned(bundle, name))
        else msgspec.structs.replace(decision, skip_key=None)
        for name, decision in decisions.items()
    }


def _is_computed_as_planned(bundle: Bundle, view: str) -> bool:
    """Return whether the current code for a view, and the views it inlines, is that of its key."""
    return all(
        is_current(bundle[name].key.computation, bundle[name].datafusion_sql or "")
        for name in bundle.with_inlined([view])
        if bundle[name].key.computation
    )


def new_record(
    request: RunRequest,
    bundle: Bundle,
    *,
    kind: RunKind = RunKind.RUN,
    replay_of: str | None = None,
    after_ms: int = 0,
) -> RunRecord:
    """Return the record of a run that starts now.

    Results are ordered by the start of their runs. `after_ms` is the start of an earlier run: the
    new run starts later, even if the clock was set back in between.
    """
    started_ms = max(now_ms(), after_ms + 1)
    is_planned_for_runner = bundle.engine.startswith(f"{request.runner} ")
    return RunRecord(
        id=request.run_id or new_run_id(started_ms),
        kind=kind,
        project=bundle.project,
        bundle=bundle.id,
        engine=bundle.engine if is_planned_for_runner else request.runner.value,
        status=RunStatus.RUNNING,
        started_ms=started_ms,
        profile=request.profile,
        select=request.select,
        exclude=request.exclude,
        variables={name: str(value) for name, value in request.variables.items()},
        pins={n: pin.version for n, pin in bundle.pins.items() if pin.version is not None},
        environment=describe_environment(),
        replay_of=replay_of,
    )
