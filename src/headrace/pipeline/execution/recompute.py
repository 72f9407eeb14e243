"""Results, computed once more and compared: what replays and verifications have in common.

Nothing of the project is changed: rows go into a folder of the run's own, which is gone
afterwards.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from shutil import rmtree

import msgspec

from headrace.errors import HeadraceError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.execution.comparison import Rows, compare_results
from headrace.pipeline.execution.decision import Action, Decision, LastResult
from headrace.pipeline.execution.execute import RunPlan, execute
from headrace.pipeline.execution.prepare import Prepared
from headrace.pipeline.execution.progress import Progress
from headrace.pipeline.execution.request import RunRequest
from headrace.pipeline.execution.spark import LazySpark
from headrace.pipeline.execution.state import ProjectState
from headrace.pipeline.execution.workspace import Workspace
from headrace.pipeline.project.header import Materialise, WriteMode
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runners.task import TableResult, Upstream
from headrace.pipeline.runs.record import Failure, RunRecord, ViewRun, ViewStatus
from headrace.table import Table

_DIFFERS = "REPLAY_DIFFERS"


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The results that are to be computed again, and compared with."""

    prepared: Prepared
    views: Mapping[str, ViewRun]
    """By view, its result then, as far as it had one."""
    reason: str
    """Why a view is computed again."""
    absent: str
    """Why one is not."""

    @property
    def bundle(self) -> Bundle:
        """The plan that led to the results."""
        return self.prepared.bundle


def recompute(  # noqa: PLR0913  (a run, and what it works with)
    known: Known,
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
    """Compute views again in a folder of the run's own; one that differs is recorded as failed."""
    private = msgspec.structs.replace(workspace, outputs=state.folder / "replays" / record.id)
    plan = RunPlan(
        record=record,
        prepared=known.prepared,
        decisions=decisions,
        request=msgspec.structs.replace(request, full_refresh=True),
        judge=_Comparer(known).judge,
        read_instead=_read_instead(known),
    )
    try:
        return execute(
            plan, project, workspace=private, spark=spark, store=state.store, progress=progress
        )
    finally:
        rmtree(private.outputs, ignore_errors=True)


def recompute_decisions(known: Known, views: Collection[str]) -> dict[str, Decision]:
    """Compute some views, and what these need that is not kept."""
    bundle, needed = known.bundle, set(views)
    for name in reversed(bundle.order):
        if name in needed:
            passing = (Materialise.MEMORY, Materialise.STAGING)
            upstream = bundle.upstream(name)
            needed |= {up for up in upstream if bundle[up].header.materialise in passing}
    return {
        name: _decision(known, bundle[name], is_computed=name in needed) for name in bundle.order
    }


def _decision(known: Known, plan: ViewPlan, *, is_computed: bool) -> Decision:
    record = known.views.get(plan.name)
    run = "" if record is None else record.result_of or ""
    last = None if record is None else LastResult(run=run, record=record, plan=plan)
    decision = Decision(view=plan.name, action=Action.LEAVE_OUT, reason=known.absent, last=last)
    if plan.header.materialise is Materialise.NONE:
        reason = "it is computed as part of the views that read it"
        return msgspec.structs.replace(decision, action=Action.INLINE, reason=reason)
    if not is_computed:
        return decision
    return msgspec.structs.replace(
        decision,
        action=Action.RUN,
        reason=known.reason,
        skip_key=plan.skip_key,
        upstream_keys={} if record is None else record.upstream_keys,
    )


def _read_instead(known: Known) -> dict[str, Upstream]:
    """What readers of a table read that is more than its view's own rows: that table."""
    return {
        name: TableResult(uri=view.output.uri, version=view.output.version)
        for name, view in known.views.items()
        if view.output is not None and known.bundle[name].header.write is not WriteMode.OVERWRITE
    }


class _Comparer:
    """Compares what each view gives with what it gave."""

    def __init__(self, known: Known) -> None:
        self._known = known

    def judge(self, now: ViewRun) -> ViewRun:
        """The view as it is recorded: failed, if it gives something else than it gave."""
        then = self._known.views.get(now.view)
        if then is None or then.digest is None or now.digest is None:
            return now
        header = self._known.bundle[now.view].header
        difference = compare_results(
            then.digest,
            now.digest,
            tier=header.tier,
            tolerance=header.tolerance,
            rows_then=_rows(then) if header.write is WriteMode.OVERWRITE else None,
            rows_now=_rows(now),
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


def _rows(view: ViewRun) -> Rows | None:
    """A reader of the rows of a view's table; None if it has none, or its files are gone."""
    output = view.output
    if output is None:
        return None
    try:
        snapshot = Table(output.uri).snapshot(version=output.version)
        there = all(Path(file.uri).exists() for file in snapshot.scan())
    except HeadraceError:
        return None
    return (lambda: snapshot.rows().read_all()) if there else None
