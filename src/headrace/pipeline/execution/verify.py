"""Whether skips are sound: views that a run would skip are computed, and compared.

What a view would give now is compared with the result that stands for it. A difference means that
something changed which its skip key does not know of, or that the view is not deterministic.
"""

import random
from typing import Any

from headrace.pipeline.execution.decision import Action, decide_views
from headrace.pipeline.execution.progress import Progress
from headrace.pipeline.execution.recompute import Known, recompute, recompute_decisions
from headrace.pipeline.execution.request import RunRequest
from headrace.pipeline.execution.run import new_record, prepare
from headrace.pipeline.execution.spark import LazySpark
from headrace.pipeline.execution.state import project_state
from headrace.pipeline.execution.workspace import hold
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runs.record import RunKind, RunRecord


def verify_project(
    project: ProjectFiles,
    request: RunRequest,
    *,
    sample: int | None = None,
    session: Any = None,
    progress: Progress,
) -> RunRecord:
    """Compute views that a run would skip, and compare them with the results that stand.

    Args:
        project: The project.
        request: The run whose skips are meant.
        sample: How many views to compute, chosen at random; None: all.
        session: A Spark session of the caller's.
        progress: Hears of the run.

    Raises:
        PipelineError, TableError: as for a run.
    """
    state = project_state(project)
    spark = LazySpark(project.profile(request.profile), session)
    with hold(state, project=project.name) as workspace:
        last = state.last_results(project.views)
        prepared = prepare(project, request, last=last, spark=spark, store=state.store)
        decided = decide_views(prepared.bundle, request, last=last, outputs=state.outputs)
        skipped = [
            name
            for name, decision in decided.items()
            if decision.action is Action.SKIP
            and decision.last is not None
            and decision.last.record.digest is not None
        ]
        if sample is not None and sample < len(skipped):
            skipped = random.sample(skipped, sample)
        known = Known(
            prepared=prepared,
            views={name: result.record for name, result in last.items()},
            reason="a run would skip it, and the skip is verified",
            absent="it is not verified: a run would not skip it, or it is not in the sample",
        )
        record = new_record(request, prepared.bundle, kind=RunKind.VERIFICATION)
        return recompute(
            known,
            recompute_decisions(known, skipped),
            record,
            project=project,
            request=request,
            state=state,
            workspace=workspace,
            spark=spark,
            progress=progress,
        )
