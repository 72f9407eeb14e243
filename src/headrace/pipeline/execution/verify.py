"""Verifies skips: recomputes views that a run would skip, and compares the results.

A difference means that something changed that the skip key does not cover, or that the view is not
deterministic.
"""

import random
from typing import Any

from headrace.pipeline.execution.decision import Action, decide_views
from headrace.pipeline.execution.lazy_spark import LazySpark
from headrace.pipeline.execution.project_state import project_state
from headrace.pipeline.execution.recompute import Baseline, recompute, recompute_decisions
from headrace.pipeline.execution.run import new_record, prepare
from headrace.pipeline.execution.run_progress import Progress
from headrace.pipeline.execution.run_request import RunRequest
from headrace.pipeline.execution.workspace import hold
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runs.run_record import RunKind, RunRecord


def verify_project(
    project: ProjectFiles,
    request: RunRequest,
    *,
    sample: int | None = None,
    session: Any = None,
    progress: Progress,
) -> RunRecord:
    """Recompute views that a run would skip, and compare them with the stored results.

    Args:
        project: The project.
        request: The run whose skips are verified.
        sample: The number of views to compute, chosen at random; None for all.
        session: The caller's Spark session; None to open one.
        progress: Observes the run.

    Raises:
        PipelineError, TableError: as for a run.
    """
    state = project_state(project)
    spark = LazySpark(project.profile(request.profile), session)
    with hold(state, project=project.name) as workspace:
        last = state.last_results(project.views)
        prepared = prepare(project, request, last=last, spark=spark, store=state.store)
        decisions = decide_views(prepared.bundle, request, last=last, outputs=state.outputs)
        skipped = [
            name
            for name, decision in decisions.items()
            if decision.action is Action.SKIP
            and decision.last is not None
            and decision.last.record.digest is not None
        ]
        if sample is not None and sample < len(skipped):
            skipped = random.sample(skipped, sample)
        baseline = Baseline(
            prepared=prepared,
            views={name: result.record for name, result in last.items()},
            reason="a run would skip it, and the skip is verified",
            absent="it is not verified: a run would not skip it, or it is not in the sample",
        )
        record = new_record(request, prepared.bundle, kind=RunKind.VERIFICATION)
        return recompute(
            baseline,
            recompute_decisions(baseline, skipped),
            record,
            project=project,
            request=request,
            state=state,
            workspace=workspace,
            spark=spark,
            progress=progress,
        )
