"""Groups the Spark jobs of a run by view, so that they can be counted, reported and cancelled.

Plans are taken from Spark's status store: the query was planned once for the run, and is not
planned again for the record.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

from pyspark.sql import SparkSession

from headrace.errors import RunCancelledError
from headrace.pipeline.runs.artifact import PlanStage

_TIMEOUT_S = 2.0
_POLL_S = 0.005
_MAX_RECENT_QUERIES = 64
_STAGES = {
    "== Analyzed Logical Plan ==": PlanStage.LOGICAL,
    "== Optimized Logical Plan ==": PlanStage.OPTIMISED,
    "== Physical Plan ==": PlanStage.PHYSICAL,
}


class SparkExecutions:
    """The job groups of one run."""

    def __init__(self, session: SparkSession, *, run: str) -> None:
        """Take the session that runs the jobs."""
        self._session = session
        self._spark = session.sparkContext
        self._tracker = self._spark.statusTracker()
        self._run = run
        self._active: set[str] = set()
        self._cancelled = Event()

    @contextmanager
    def group(self, view: str) -> Iterator["SparkExecution"]:
        """Assign the jobs of this thread to a view.

        Raises:
            RunCancelledError: the run has been cancelled.
        """
        group = self._id(view)
        self._active.add(group)
        if self._cancelled.is_set():
            raise RunCancelledError(run=self._run)
        self._spark.setJobGroup(group, group, interruptOnCancel=True)
        try:
            yield SparkExecution(self._session, group)
        except Exception as error:
            if self._cancelled.is_set():
                raise RunCancelledError(run=self._run) from error
            raise
        finally:
            self._active.discard(group)
            for name in ("spark.jobGroup.id", "spark.job.description"):
                self._spark.setLocalProperty(name, None)  # type: ignore[arg-type]

    def progress(self, view: str) -> tuple[int, int]:
        """Return the numbers of finished and known tasks of a view."""
        tracker = self._tracker
        done = known = 0
        for job in tracker.getJobIdsForGroup(self._id(view)):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                stage_info = tracker.getStageInfo(stage)
                if stage_info is not None:
                    done += stage_info.numCompletedTasks
                    known += stage_info.numTasks
        return done, known

    def cancel(self) -> None:
        """Cancel running jobs, and reject later ones."""
        self._cancelled.set()
        scheduler = self._spark._jsc.sc()  # noqa: SLF001  (PySpark cannot cancel future jobs)
        for group in list(self._active):
            # A view may be about to submit its job, which must not start either.
            scheduler.cancelJobGroupAndFutureJobs(group)

    def _id(self, view: str) -> str:
        return f"headrace/{self._run}/{view}"


class SparkExecution:
    """The jobs and queries of one view."""

    def __init__(self, session: SparkSession, group: str) -> None:
        """Take the group of its jobs."""
        self._spark = session.sparkContext
        self._tracker = self._spark.statusTracker()
        self._query = f"{group}/rows"
        self._store: Any = session._jsparkSession.sharedState().statusStore()  # noqa: SLF001
        self._group = group

    def begin(self) -> None:
        """Mark the start of the query that computes the view; earlier queries only prepared it."""
        self._spark.setJobDescription(self._query)

    def job_ids(self) -> tuple[int, ...]:
        """Return the ids of its jobs."""
        return tuple(sorted(self._tracker.getJobIdsForGroup(self._group)))

    def plans(self, *, sql: str, analyse: bool) -> dict[PlanStage, str]:
        """Return the plans of the query that computes the view."""
        plans = {PlanStage.SQL: sql}
        query = self._first_query()
        if query is None:  # Spark reports a query with a delay, or not at all
            return plans
        plans |= _stages(query.physicalPlanDescription())
        if analyse:
            plans[PlanStage.ANALYSED] = self._analysed(query.executionId())
        return plans

    def _first_query(self) -> Any | None:
        """Return the finished query that computed the view; None if Spark does not report it."""
        deadline = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < deadline:
            count = self._store.executionsCount()
            recent = self._store.executionsList(
                max(0, count - _MAX_RECENT_QUERIES), _MAX_RECENT_QUERIES
            )
            for index in range(recent.size()):
                query = recent.apply(index)
                if query.description() == self._query and query.completionTime().isDefined():
                    return query
            time.sleep(_POLL_S)
        return None

    def _analysed(self, query: int) -> str:
        values = self._store.executionMetrics(query)
        nodes = self._store.planGraph(query).allNodes()
        lines = []
        for node_index in range(nodes.size()):
            node = nodes.apply(node_index)
            lines.append(f"{node.name()} ({node.id()})")
            for metric_index in range(node.metrics().size()):
                metric = node.metrics().apply(metric_index)
                value = values.get(metric.accumulatorId())
                if value.isDefined():
                    lines.append(f"    {metric.name()}: {' '.join(value.get().split())}")
        return "\n".join(lines)


def _stages(description: str) -> dict[PlanStage, str]:
    """Split Spark's extended plan description into stages."""
    sections: dict[PlanStage, list[str]] = {}
    stage: PlanStage | None = None
    for line in description.splitlines():
        if line.startswith("== ") and line.endswith(" =="):
            stage = _STAGES.get(line)
        elif stage is not None:
            sections.setdefault(stage, []).append(line)
    return {stage: "\n".join(lines).strip() for stage, lines in sections.items()}
