"""Runs jobs slightly ahead of the consumer of their results, and cancels them when it stops.

The tasks of a phase are sent to Spark in waves. Two waves are in flight at a time, so that no core
waits for the slowest task of a wave, and the driver never holds more than two waves of results:
its memory grows neither with the number of files nor with the number of workers.
"""

import re
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.util import inheritable_thread_target

from headrace.engines.spark.any_session import cancel_jobs, tag_jobs
from headrace.engines.spark.lowering import Task
from headrace.errors import EngineFailedError
from headrace.plan.cancellation import Cancellation

W = TypeVar("W")

ArrowTable: TypeAlias = Any
"""A `pyarrow.Table`."""

_WAVES_AT_ONCE = 2
_POLL_S = 0.02
_RAISED = re.compile(r"(\w+\.)*\w*(Error|Exception)\b: ")
_SPARK_ERRORS = (PySparkException, Py4JError)


def waves_of(tasks: Iterable[Task], *, first: int, wave_bytes: int) -> Iterator[tuple[Task, ...]]:
    """Group tasks into waves: the first is small, to finish early; each may double the last.

    A wave has at least one task and, if it has several, at most `wave_bytes`.
    """
    max_tasks, wave, size_bytes = first, list[Task](), 0
    for task in tasks:
        task_bytes = sum(piece.size_bytes for piece in task)
        if wave and (len(wave) == max_tasks or size_bytes + task_bytes > wave_bytes):
            yield tuple(wave)
            max_tasks, wave, size_bytes = max_tasks * 2, [], 0
        wave.append(task)
        size_bytes += task_bytes
    if wave:
        yield tuple(wave)


def collect_in_waves(
    session: SparkSession,
    waves: Iterable[W],
    *,
    to_frame: Callable[[W], DataFrame],
    cancellation: Cancellation,
) -> Generator[tuple[W, ArrowTable], None, None]:
    """Yield the rows of each wave, in order. Closing the iterator cancels the jobs.

    Raises:
        Cancelled: the run was cancelled while waiting for a wave.
        EngineFailedError: Spark could not run a job, after all retries.
    """
    tag = f"headrace-{uuid.uuid4()}"
    in_flight: deque[tuple[W, Future[ArrowTable]]] = deque()

    def collect(wave: W) -> ArrowTable:
        tag_jobs(session, tag)
        return to_frame(wave).toArrow()

    # The user's job group and scheduler pool also apply to these jobs.
    collect = inheritable_thread_target(session)(collect)
    with ThreadPoolExecutor(_WAVES_AT_ONCE, thread_name_prefix="headrace-wave") as pool:
        try:
            for wave in waves:
                in_flight.append((wave, pool.submit(collect, wave)))
                if len(in_flight) == _WAVES_AT_ONCE:
                    yield _take_first(in_flight, cancellation)
            while in_flight:
                yield _take_first(in_flight, cancellation)
        finally:
            _cancel(session, tag, [future for _, future in in_flight])


def _take_first(
    in_flight: deque[tuple[W, "Future[ArrowTable]"]], cancellation: Cancellation
) -> tuple[W, ArrowTable]:
    """Wait for the first wave, remove it, and return it with its rows."""
    wave, future = in_flight[0]
    while wait([future], timeout=_POLL_S).not_done:
        cancellation.check()
    try:
        rows = future.result()
    except _SPARK_ERRORS as error:
        raise EngineFailedError(engine="spark", reason=_reason(error)) from error
    in_flight.popleft()
    return wave, rows


def _reason(error: BaseException) -> str:
    """Return the line with the cause: the last of a worker's traceback, else the first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    return raised[-1] if raised else lines[0] if lines else type(error).__name__


def _cancel(session: SparkSession, tag: str, futures: list["Future[ArrowTable]"]) -> None:
    """Cancel repeatedly until all have ended: a job that is being submitted misses the first."""
    for future in futures:
        future.cancel()
    while wait(futures, timeout=0).not_done:
        with suppress(*_SPARK_ERRORS):  # the session may have been stopped
            cancel_jobs(session, tag)
        wait(futures, timeout=0.1)
