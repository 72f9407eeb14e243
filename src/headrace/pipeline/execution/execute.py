"""Executes a planned run: computes views concurrently, and records each when it ends.

A plan with its decisions enters; tables and the record of the run leave. A view starts as soon as
the views that it reads have results. Ctrl-C cancels the jobs; unfinished views are recorded as
cancelled.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec

from headrace.errors import RunCancelledError
from headrace.pipeline import wiring
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.decision import Action, Decision, with_key
from headrace.pipeline.execution.interrupt import Interrupts, deferred_interrupts
from headrace.pipeline.execution.lazy_spark import LazySpark
from headrace.pipeline.execution.mark_book import MarkBook
from headrace.pipeline.execution.prepare import Prepared
from headrace.pipeline.execution.recorder import Finished, Recorder
from headrace.pipeline.execution.run_progress import Progress, Quiet
from headrace.pipeline.execution.run_request import RunRequest
from headrace.pipeline.execution.schedule import Schedule
from headrace.pipeline.execution.skipped_view import skipped_views
from headrace.pipeline.execution.tracing import span
from headrace.pipeline.execution.view_work import ViewWork
from headrace.pipeline.execution.workspace import Workspace
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runner_kind import RunnerKind
from headrace.pipeline.runners.task import NoRunner, Runner, RunnerContext, Upstream
from headrace.pipeline.runs.artifact_store import ArtifactStore
from headrace.pipeline.runs.run_record import (
    OutputVersion,
    RunRecord,
    RunStatus,
    ViewRun,
    ViewStatus,
)

_LOGGER = logging.getLogger("headrace.pipeline")
_POLL_S = 0.2

Compare: TypeAlias = Callable[[ViewRun], ViewRun]


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is about to start, with all decisions made."""

    record: RunRecord
    prepared: Prepared
    decisions: Mapping[str, Decision]
    request: RunRequest
    compare: Compare | None = None
    """Compares each view that has run with its expected result, and returns it with a verdict."""
    read_instead: Mapping[str, Upstream] = {}
    """What readers read instead of the computed result, by view."""


def execute(  # noqa: PLR0913  (a plan, and the resources of its run)
    plan: RunPlan,
    project: ProjectFiles,
    *,
    workspace: Workspace,
    spark: LazySpark,
    store: ArtifactStore,
    progress: Progress,
) -> RunRecord:
    """Execute the decisions, record the run, and compact the artifact store if that is due.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; tables committed by then remain.
        StorageError: the run cannot be recorded; committed tables remain.
    """
    bundle, decisions = plan.prepared.bundle, plan.decisions
    marks = MarkBook(plan.prepared.sources, earlier=store.marks)
    recorder = Recorder(plan.record, bundle, store=store, marks=marks, progress=progress)
    with _open_runner(plan, project, spark) as runner:
        recorder.begin(is_idle=isinstance(runner, NoRunner))
        progress.run_started(plan.record, decisions)
        results: dict[str, Upstream] = {}
        for finished in skipped_views(bundle, decisions, outputs=workspace.outputs):
            recorder.end_view(finished)
            if finished.result is not None:
                results[finished.view.view] = finished.result
        work = ViewWork(
            record=plan.record,
            bundle=bundle,
            runner=runner,
            project=project,
            marks=marks,
            workspace=workspace,
            full_refresh=plan.request.full_refresh,
            analyse=plan.request.analyse,
        )
        at_once = project.profile(plan.request.profile).views_at_once
        record = _run_and_record(plan, work, results, recorder, progress, at_once=at_once)
    _compact(store)
    return record


@contextmanager
def _open_runner(plan: RunPlan, project: ProjectFiles, spark: LazySpark) -> Iterator[Runner]:
    """Open the runner of a run; a run without views to compute gets `NoRunner`."""
    runner = _runner(plan, project, spark)
    try:
        yield runner
    finally:
        try:
            runner.close()
        except Exception as error:  # noqa: BLE001  (any error of a runner; the run is over)
            _LOGGER.warning("run %s: closing the runner failed: %s", plan.record.id, error)


def _runner(plan: RunPlan, project: ProjectFiles, spark: LazySpark) -> Runner:
    if all(decision.action is not Action.RUN for decision in plan.decisions.values()):
        return NoRunner()
    context = RunnerContext(
        run=plan.record.id,
        sources=plan.prepared.sources,
        catalog=project.catalog,
        settings=plan.prepared.bundle.settings,
        profile=project.profile(plan.request.profile),
        builders=project.builders,
    )
    if plan.request.runner is RunnerKind.DATAFUSION:
        return wiring.datafusion_runner(context)
    return wiring.spark_runner(spark.open(), context)


def _run_and_record(  # noqa: PLR0913  (one run)
    plan: RunPlan,
    work: ViewWork,
    results: dict[str, Upstream],
    recorder: Recorder,
    progress: Progress,
    *,
    at_once: int,
) -> RunRecord:
    """Compute the views, and record how the run ended, whatever happens."""
    bundle, status = plan.prepared.bundle, RunStatus.FAILED
    attributes = _attributes(plan.record)
    try:
        with deferred_interrupts() as interrupts, span("headrace.run", attributes) as traced:
            _run_views(
                plan,
                work,
                results,
                recorder,
                _Monitor(work.runner, recorder, progress, interrupts),
                parent=traced.context,
                at_once=at_once,
            )
            failed = recorder.failed()
            status = RunStatus.FAILED if failed else RunStatus.SUCCEEDED
            traced.add({"headrace.status": status.value})
            if failed:
                traced.fail(f"failed: {', '.join(failed)}")
    except (KeyboardInterrupt, RunCancelledError):
        status = RunStatus.CANCELLED
        raise
    finally:
        unfinished = [
            _without_result(bundle, decision, ViewStatus.CANCELLED, decision.reason)
            for decision in plan.decisions.values()
        ]
        record = recorder.finish(status, unfinished)
    return record


class _Monitor:
    """Handles Ctrl-C, progress and periodic saving while views are computed."""

    def __init__(
        self, runner: Runner, recorder: Recorder, progress: Progress, interrupts: Interrupts
    ) -> None:
        self._runner, self._recorder = runner, recorder
        self._progress, self._interrupts = progress, interrupts
        # Counting tasks takes dozens of calls into the JVM, so it is done only for an observer.
        self._counts_tasks = type(progress).tasks_counted is not Quiet.tasks_counted

    def view_started(self, view: str) -> None:
        self._progress.view_started(view)

    def poll(self, running: Mapping[Future[Finished], str]) -> None:
        """Stop on Ctrl-C, report task counts, and save finished views.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        self._interrupts.raise_pending()
        for view in running.values() if self._counts_tasks else ():
            done, known = self._runner.progress(view)
            self._progress.tasks_counted(view, done=done, known=known)
        self._recorder.save_if_due()


def _run_views(  # noqa: PLR0913  (one run)
    plan: RunPlan,
    work: ViewWork,
    results: dict[str, Upstream],
    recorder: Recorder,
    monitor: _Monitor,
    *,
    parent: Any,
    at_once: int,
) -> None:
    """Compute the views that are to run, concurrently where none depends on another."""
    bundle, decisions = plan.prepared.bundle, plan.decisions
    names = [name for name in bundle.order if decisions[name].action is Action.RUN]
    schedule = Schedule({n: [up for up in bundle.upstream(n) if up in names] for n in names})
    running: dict[Future[Finished], str] = {}
    outputs: dict[str, OutputVersion] = {}
    with ThreadPoolExecutor(at_once, thread_name_prefix="headrace-view") as pool:
        try:
            while not schedule.is_done:
                for name in schedule.ready(at_most=at_once):
                    monitor.view_started(name)
                    upstream = {up: results[up] for up in bundle.upstream(name)}
                    decision = with_key(decisions[name], bundle, outputs)
                    future = pool.submit(_run_view, plan, work, decision, upstream, parent=parent)
                    running[future] = name
                ended, _ = wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
                for future in ended:
                    name, finished = running.pop(future), future.result()
                    recorder.end_view(finished)
                    if finished.view.output is not None:
                        outputs[name] = finished.view.output
                    if finished.result is not None:
                        results[name] = plan.read_instead.get(name, finished.result)
                    for blocked, cause in schedule.finish(name, has_result=finished.view.stands):
                        reason = f"{cause}, which it reads, failed"
                        decision = decisions[blocked]
                        view = _without_result(bundle, decision, ViewStatus.BLOCKED, reason)
                        recorder.end_view(Finished(view=view))
                monitor.poll(running)
        except BaseException:  # including Ctrl-C: the pool waits for its threads, so they must end
            pool.shutdown(wait=False, cancel_futures=True)
            work.runner.cancel()
            raise


def _run_view(
    plan: RunPlan,
    work: ViewWork,
    decision: Decision,
    upstream: Mapping[str, Upstream],
    *,
    parent: Any,
) -> Finished:
    """Compute one view, in a thread of the pool."""
    attributes = {"headrace.view": decision.view, "headrace.run": plan.record.id}
    with span("headrace.view", attributes, parent=parent) as traced:
        finished = work.run(decision, upstream)
        view = finished.view
        if plan.compare is not None and view.stands:
            view = plan.compare(view)
            finished = msgspec.structs.replace(finished, view=view)
        traced.add({"headrace.status": view.status.value, "headrace.rows": view.rows or 0})
        if view.failure is not None:
            traced.fail(view.failure.text)
        return finished


def _without_result(bundle: Bundle, decision: Decision, status: ViewStatus, reason: str) -> ViewRun:
    fingerprint = bundle[decision.view].plan_fingerprint
    return ViewRun(view=decision.view, status=status, reason=reason, plan_fingerprint=fingerprint)


def _attributes(record: RunRecord) -> dict[str, str]:
    return {
        "headrace.run": record.id,
        "headrace.project": record.project,
        "headrace.kind": record.kind.value,
        "headrace.engine": record.engine,
        "headrace.bundle": record.bundle,
    }


def _compact(store: ArtifactStore) -> None:
    """Compact the artifact store if that is due; a failure does not fail the run."""
    try:
        store.upkeep()
    except Exception as error:  # noqa: BLE001  (the run is over and recorded)
        _LOGGER.warning("the artifact store was not compacted: %s", error)
