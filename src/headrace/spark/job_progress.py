"""A progress bar for Spark jobs, in either kind of session.

A thread polls a classic session; a Spark Connect server reports progress by itself. Without a
terminal, neither happens.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from uuid import uuid4

from pyspark import SparkContext
from pyspark.sql import SparkSession
from rich.console import Console

from headrace.engines.spark.any_session import is_connect
from headrace.terminal.progress_bar import ProgressBar

_POLL_S = 0.2
_Stage: TypeAlias = tuple[int, int, int]
"""The numbers of finished, total and running tasks of a stage."""


@contextmanager
def progress(
    spark: SparkSession, title: str = "Spark", *, console: Console | None = None
) -> Iterator[ProgressBar]:
    """Show the progress of the Spark jobs that the `with` block starts in this thread.

    Args:
        spark: The session.
        title: The title of the bar.
        console: Where to draw; by default standard error, if it is a terminal.
    """
    with ProgressBar(title, console=console) as bar:
        if not bar.is_shown:
            yield bar
            return
        with _receive_progress(spark, bar) if is_connect(spark) else _poll_progress(spark, bar):
            yield bar


@contextmanager
def _poll_progress(spark: SparkSession, bar: ProgressBar) -> Iterator[None]:
    """Poll the jobs of this thread from another thread."""
    context = spark.sparkContext
    # A tag, not a job group: a thread has only one group, and the user may have set it.
    tag = f"headrace-{uuid4()}"
    finished = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, tag, bar, finished), daemon=True)
    context.addJobTag(tag)
    watcher.start()
    try:
        yield
    finally:
        context.removeJobTag(tag)
        finished.set()
        watcher.join()


def _watch(context: SparkContext, tag: str, bar: ProgressBar, finished: threading.Event) -> None:
    settled: dict[int, list[_Stage]] = {}
    while not finished.wait(_POLL_S):
        try:
            jobs = context._jsc.sc().statusTracker().getJobIdsForTag(tag)  # noqa: SLF001
            running = [stage for job in jobs for stage in _stages(context, job, settled)]
        except Exception:  # noqa: BLE001  (the session was stopped; the user's call reports it)
            return
        _show(bar, running)


def _stages(context: SparkContext, job: int, settled: dict[int, list[_Stage]]) -> list[_Stage]:
    """Return the progress of a job's stages; finished stages are not polled again."""
    if job in settled:
        return settled[job]
    tracker = context.statusTracker()
    info = tracker.getJobInfo(job)
    infos = map(tracker.getStageInfo, info.stageIds if info else ())
    stages = [(s.numCompletedTasks, s.numTasks, s.numActiveTasks) for s in infos if s is not None]
    if info is not None and info.status != "RUNNING":
        # Stages that turned out not to be needed have tasks that never ran.
        settled[job] = [(completed, completed, 0) for completed, _, _ in stages]
    return stages


@contextmanager
def _receive_progress(spark: SparkSession, bar: ProgressBar) -> Iterator[None]:
    """Receive progress reports from the server."""

    def show(
        stages: Iterable[Any] | None,
        inflight_tasks: int,
        operation_id: str | None,  # noqa: ARG001  (given by keyword)
        done: bool,  # noqa: ARG001, FBT001
    ) -> None:
        counts = [(s.num_completed_tasks, s.num_tasks, 0) for s in stages or ()]
        _show(bar, [*counts, (0, 0, inflight_tasks)])

    spark.registerProgressHandler(show)  # type: ignore[arg-type]
    try:
        yield
    finally:
        spark.removeProgressHandler(show)  # type: ignore[arg-type]


def _show(bar: ProgressBar, stages: Iterable[_Stage]) -> None:
    done = total = active = 0
    for completed, tasks, running in stages:
        done, total, active = done + completed, total + tasks, active + running
    bar.update(done, total=total or None, note=f"tasks, {active} running")
