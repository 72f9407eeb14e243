"""Recomputes results and compares them: the part that replays and verifications share.

The project is not changed: rows are written to a folder of the run, which is removed afterwards.
"""

from collections.abc import Collection, Mapping

import msgspec

from headrace.errors import HeadraceError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.execution.comparison import Rows, compare_results
from headrace.pipeline.execution.decision import Action, Decision
from headrace.pipeline.execution.execute import RunPlan, execute
from headrace.pipeline.execution.last_result import LastResult
from headrace.pipeline.execution.lazy_spark import LazySpark
from headrace.pipeline.execution.prepare import Prepared
from headrace.pipeline.execution.project_state import ProjectState
from headrace.pipeline.execution.run_progress import Progress
from headrace.pipeline.execution.run_request import RunRequest
from headrace.pipeline.execution.staleness import find_damaged_file
from headrace.pipeline.execution.workspace import Workspace
from headrace.pipeline.place import Place
from headrace.pipeline.project.header import Materialise, WriteMode
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runners.task import TableResult, Upstream
from headrace.pipeline.runs.run_record import Failure, RunRecord, ViewRun, ViewStatus

_DIFFERS = "REPLAY_DIFFERS"


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The earlier results that recomputed ones are compared with."""

    prepared: Prepared
    views: Mapping[str, ViewRun]
    """The earlier result of each view that had one."""
    reason: str
    """Why views are recomputed, for their records."""
    absent: str
    """Why other views are not."""

    @property
    def bundle(self) -> Bundle:
        """The plan of the earlier results."""
        return self.prepared.bundle


def recompute(  # noqa: PLR0913  (a plan, and the resources of its run)
    baseline: Baseline,
    decisions: Mapping[str, Decision],
    record: RunRecord,
    *,
    project: ProjectFiles,
    request: RunRequest,
    state: ProjectState,
    workspace: Workspace,
    spark: LazySpark,
    progress: Progress,
) -> RunRecord:
    """Recompute views in a private folder; a view that differs is recorded as failed."""
    private = msgspec.structs.replace(workspace, outputs=state.folder / "replays" / record.id)
    plan = RunPlan(
        record=record,
        prepared=baseline.prepared,
        decisions=decisions,
        request=msgspec.structs.replace(request, full_refresh=True),
        compare=_Comparer(baseline, state.outputs).compare,
        read_instead=_read_instead(baseline, state.outputs),
    )
    try:
        return execute(
            plan, project, workspace=private, spark=spark, store=state.store, progress=progress
        )
    finally:
        private.outputs.remove()


def recompute_decisions(baseline: Baseline, views: Collection[str]) -> dict[str, Decision]:
    """Decide to compute some views, and those upstream whose results do not outlive a run."""
    bundle, computed = baseline.bundle, set(views)
    for name in reversed(bundle.order):
        if name in computed:
            transient = (Materialise.MEMORY, Materialise.STAGING)
            upstream = bundle.upstream(name)
            computed |= {up for up in upstream if bundle[up].header.materialise in transient}
    return {
        name: _decision(baseline, bundle[name], is_computed=name in computed)
        for name in bundle.order
    }


def _decision(baseline: Baseline, plan: ViewPlan, *, is_computed: bool) -> Decision:
    record = baseline.views.get(plan.name)
    run = "" if record is None else record.result_of or ""
    last = None if record is None else LastResult(run=run, record=record, plan=plan)
    decision = Decision(view=plan.name, action=Action.LEAVE_OUT, reason=baseline.absent, last=last)
    if plan.header.materialise is Materialise.NONE:
        reason = "it is computed as part of the views that read it"
        return msgspec.structs.replace(decision, action=Action.INLINE, reason=reason)
    if not is_computed:
        return decision
    return msgspec.structs.replace(
        decision,
        action=Action.RUN,
        reason=baseline.reason,
        skip_key=plan.skip_key,
        upstream_keys={} if record is None else record.upstream_keys,
    )


def _read_instead(baseline: Baseline, outputs: Place) -> dict[str, Upstream]:
    """Return the tables that hold more than their view's own rows; readers read these instead."""
    return {
        name: TableResult(table=outputs.at(view.output.uri), version=view.output.version)
        for name, view in baseline.views.items()
        if view.output is not None and baseline.bundle[name].header.write is not WriteMode.OVERWRITE
    }


class _Comparer:
    """Compares recomputed results with earlier ones."""

    def __init__(self, baseline: Baseline, outputs: Place) -> None:
        self._baseline, self._outputs = baseline, outputs

    def compare(self, now: ViewRun) -> ViewRun:
        """Return the record of a view, marked as failed if its result differs."""
        then = self._baseline.views.get(now.view)
        if then is None or then.digest is None or now.digest is None:
            return now
        header = self._baseline.bundle[now.view].header
        difference = compare_results(
            then.digest,
            now.digest,
            tier=header.tier,
            tolerance=header.tolerance,
            rows_then=self._rows(then) if header.write is WriteMode.OVERWRITE else None,
            rows_now=self._rows(now),
        )
        if difference is None:
            reason = f"equal to run {then.result_of} by {header.tier}"
            return msgspec.structs.replace(now, reason=reason, output=None)
        text = f"{difference} ({header.tier})"
        return msgspec.structs.replace(
            now,
            status=ViewStatus.FAILED,
            reason=text,
            failure=Failure(code=_DIFFERS, text=text),
            output=None,
        )

    def _rows(self, view: ViewRun) -> Rows | None:
        """Return a reader of the rows of a view's table; None if its files are not available."""
        output = view.output
        if output is None:
            return None
        try:
            snapshot = self._outputs.at(output.uri).table().snapshot(version=output.version)
            if find_damaged_file(snapshot) is not None:
                return None
        except HeadraceError:
            return None
        return lambda: snapshot.rows().read_all()
