"""A progress bar for work on Spark, whichever kind of session does it.

A session in this process is asked by a thread that looks a few times a second; a Spark Connect
server tells by itself. Where nobody looks on, neither happens.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from uuid import uuid4

from pyspark import SparkContext
from pyspark.sql import SparkSession
from rich.console import Console

from headrace.engines.spark.session import is_connect
from headrace.metrics.progress import ProgressBar

_LOOK_EVERY_S = 0.2
_Stage: TypeAlias = tuple[int, int, int]
"""Of the tasks of a stage: how many are done, there are, and run."""


@contextmanager
def progress(
    spark: SparkSession, title: str = "Spark", *, console: Console | None = None
) -> Iterator[ProgressBar]:
    """Show how far Spark is with what this thread asks of it in the `with` block.

    Args:
        spark: The session.
        title: What the work is called on the screen.
        console: Where to draw; by default on standard error, if that is a terminal.
    """
    with ProgressBar(title, console=console) as bar:
        if not bar.is_shown:
            yield bar
            return
        with _told(spark, bar) if is_connect(spark) else _watched(spark, bar):
            yield bar


@contextmanager
def _watched(spark: SparkSession, bar: ProgressBar) -> Iterator[None]:
    """Look at the jobs of this thread from another one."""
    context = spark.sparkContext
    # A tag, not a job group: the user may have one, and a thread has only one.
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
    while not finished.wait(_LOOK_EVERY_S):
        try:
            jobs = context._jsc.sc().statusTracker().getJobIdsForTag(tag)  # noqa: SLF001
            running = [stage for job in jobs for stage in _stages(context, job, settled)]
        except Exception:  # noqa: BLE001  (the session was stopped: the user will hear of it)
            return
        _show(bar, running)


def _stages(context: SparkContext, job: int, settled: dict[int, list[_Stage]]) -> list[_Stage]:
    """How far the stages of a job are; what has ended is not asked for again."""
    if job in settled:
        return settled[job]
    tracker = context.statusTracker()
    info = tracker.getJobInfo(job)
    found = map(tracker.getStageInfo, info.stageIds if info else ())
    stages = [(s.numCompletedTasks, s.numTasks, s.numActiveTasks) for s in found if s is not None]
    if info is not None and info.status != "RUNNING":
        # Stages that were not needed after all have tasks that never ran.
        settled[job] = [(done, done, 0) for done, _, _ in stages]
    return stages


@contextmanager
def _told(spark: SparkSession, bar: ProgressBar) -> Iterator[None]:
    """Have the server tell."""

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
