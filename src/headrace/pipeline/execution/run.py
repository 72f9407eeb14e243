"""A run of a project, in one line: lock, plan, decide, execute, record.

The project's files and a request enter; the record of the run leaves. Replays and verifications
share the second half: they bring decisions of their own.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.engine import engine_version, parse_engine
from headrace.pipeline.execution.decision import Action, Decision, LastResult, decide_views
from headrace.pipeline.execution.environment import describe_environment, new_run_id, now_ms
from headrace.pipeline.execution.execute import RunPlan, execute
from headrace.pipeline.execution.prepare import (
    Prepared,
    check_texts,
    doubtful_views,
    open_bundle,
    plan_project,
)
from headrace.pipeline.execution.progress import Progress
from headrace.pipeline.execution.refusal import check_refusals
from headrace.pipeline.execution.request import RunRequest
from headrace.pipeline.execution.spark import LazySpark
from headrace.pipeline.execution.state import project_state
from headrace.pipeline.execution.workspace import hold
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runs.record import RunKind, RunRecord, RunStatus
from headrace.pipeline.runs.store import ArtifactStore
from headrace.pipeline.translation.provenance import is_current


def run_project(
    project: ProjectFiles, request: RunRequest, *, session: Any = None, progress: Progress
) -> RunRecord:
    """Run what has changed, and skip the rest.

    Raises:
        PipelineError: the project cannot be planned, Spark's analyser refuses a view, or another
            process runs it.
        KeyboardInterrupt: by Ctrl-C; what was committed by then stands.
    """
    state = project_state(project)
    spark = LazySpark(project.profile(request.profile), session)
    with hold(state, project=project.name) as workspace:
        last = state.last_results(project.views)
        prepared = prepare(project, request, last=last, spark=spark, store=state.store)
        decisions = decide_views(prepared.bundle, request, last=last, outputs=state.outputs)
        decisions = _without_foreign_keys(prepared.bundle, decisions, engine=request.engine)
        if request.engine == "datafusion":
            check_refusals(prepared.bundle, decisions)
        else:
            _check_on_spark(project, request, prepared, decisions, spark)
        record = new_record(request, prepared.bundle, after_ms=last.newest_ms)
        plan = RunPlan(record=record, prepared=prepared, decisions=decisions, request=request)
        return execute(
            plan, project, workspace=workspace, spark=spark, store=state.store, progress=progress
        )


def _check_on_spark(
    project: ProjectFiles,
    request: RunRequest,
    prepared: Prepared,
    decisions: Mapping[str, Decision],
    spark: LazySpark,
) -> None:
    """Have Spark judge what the planner could not, before anything is computed."""
    running = [name for name, decision in decisions.items() if decision.action is Action.RUN]
    views = doubtful_views(prepared.bundle, running)
    if views:
        session = spark.open()
        check_texts(project, prepared, views=views, session=session, profile=request.profile)


def prepare(
    project: ProjectFiles,
    request: RunRequest,
    *,
    last: Mapping[str, LastResult],
    spark: LazySpark,
    store: ArtifactStore,
) -> Prepared:
    """Plan the project with what is known of earlier runs, or open the bundle that is asked for.

    Raises:
        RunNotFoundError: there is no such bundle.
        PipelineError, TableError: it cannot be planned, or its sources are not there.
    """
    if request.bundle is not None:
        return open_bundle(project, store.find_bundle(request.bundle))
    return plan_project(
        project,
        engine=request.engine,
        pins=request.pins,
        variables=request.variables,
        previous={name: result.plan for name, result in last.items()},
        builders=spark if request.engine == "spark" else None,
        profile=request.profile,
        session=spark.given,
    )


def _without_foreign_keys(
    bundle: Bundle, decisions: Mapping[str, Decision], *, engine: str
) -> dict[str, Decision]:
    """Drop the keys of views that run on another engine, or other code, than their keys name."""
    is_planned_for_it = bundle.engine == engine_version(parse_engine(engine))
    return {
        name: decision
        if decision.action is not Action.RUN
        or (is_planned_for_it and _is_computed_as_planned(bundle, name))
        else msgspec.structs.replace(decision, skip_key=None)
        for name, decision in decisions.items()
    }


def _is_computed_as_planned(bundle: Bundle, view: str) -> bool:
    """Whether the code that computes a view, and those that it inlines, is what its key names."""
    return all(
        is_current(bundle[name].key.computation, bundle[name].datafusion_sql or "")
        for name in (view, *bundle.inlined(view))
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
    """The record of a run that starts now.

    Results count by the time at which their run started. A run that starts after another one says
    so even if the clock was set back in between: `after_ms` is the start of the other one.
    """
    started_ms = max(now_ms(), after_ms + 1)
    is_planned_for = bundle.engine.startswith(f"{request.engine} ")
    return RunRecord(
        id=request.run_id or new_run_id(started_ms),
        kind=kind,
        project=bundle.project,
        bundle=bundle.id,
        engine=bundle.engine if is_planned_for else request.engine,
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
