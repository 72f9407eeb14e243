"""Jobs that run a little ahead of who takes their results, and end when nobody does.

The tasks of a phase go to Spark in waves. Two waves are under way at a time, so that no core
waits for the slowest task of the other, and the driver never holds more than two waves of results:
neither the number of files nor that of workers makes it grow.
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

from headrace.engines.spark.lowering import Task
from headrace.engines.spark.session import cancel_jobs, tag_jobs
from headrace.errors import EngineFailedError
from headrace.plan.cancellation import Cancellation

W = TypeVar("W")

ArrowTable: TypeAlias = Any
"""A `pyarrow.Table`."""

_UNDER_WAY = 2
_LOOK_EVERY_S = 0.02
_RAISED = re.compile(r"(\w+\.)*\w*(Error|Exception)\b: ")
_SPARK_ERRORS = (PySparkException, Py4JError)


def waves_of(tasks: Iterable[Task], *, first: int, wave_bytes: int) -> Iterator[tuple[Task, ...]]:
    """Tasks in waves: the first is small, so that it is there soon, and each may double the last.

    A wave has at least one task and, if it has several, at most `wave_bytes`.
    """
    most, wave, size_bytes = first, list[Task](), 0
    for task in tasks:
        task_bytes = sum(piece.size_bytes for piece in task)
        if wave and (len(wave) == most or size_bytes + task_bytes > wave_bytes):
            yield tuple(wave)
            most, wave, size_bytes = most * 2, [], 0
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
    """The rows of each wave, in the order of the waves. Closing the iterator cancels the jobs.

    Raises:
        Cancelled: it was called off while a wave was waited for.
        EngineFailedError: Spark could not run a job, after all its tries.
    """
    tag = f"headrace-{uuid.uuid4()}"
    under_way: deque[tuple[W, Future[ArrowTable]]] = deque()

    def collect(wave: W) -> ArrowTable:
        tag_jobs(session, tag)
        return to_frame(wave).toArrow()

    # The user's job group and scheduler pool hold for our jobs too.
    collect = inheritable_thread_target(session)(collect)
    with ThreadPoolExecutor(_UNDER_WAY, thread_name_prefix="headrace-wave") as pool:
        try:
            for wave in waves:
                under_way.append((wave, pool.submit(collect, wave)))
                if len(under_way) == _UNDER_WAY:
                    yield _taken(under_way, cancellation)
            while under_way:
                yield _taken(under_way, cancellation)
        finally:
            _cancel(session, tag, [future for _, future in under_way])


def _taken(
    under_way: deque[tuple[W, "Future[ArrowTable]"]], cancellation: Cancellation
) -> tuple[W, ArrowTable]:
    wave, future = under_way[0]
    while wait([future], timeout=_LOOK_EVERY_S).not_done:
        cancellation.check()
    try:
        rows = future.result()
    except _SPARK_ERRORS as error:
        raise EngineFailedError(engine="spark", reason=_reason(error)) from error
    under_way.popleft()
    return wave, rows


def _reason(error: BaseException) -> str:
    """The line that says it: the last of a worker's traceback, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    return raised[-1] if raised else lines[0] if lines else type(error).__name__


def _cancel(session: SparkSession, tag: str, futures: list["Future[ArrowTable]"]) -> None:
    """Cancel until all have ended: a job that is just being submitted does not hear the first."""
    for future in futures:
        future.cancel()
    while wait(futures, timeout=0).not_done:
        with suppress(*_SPARK_ERRORS):  # the session may have been stopped
            cancel_jobs(session, tag)
        wait(futures, timeout=0.1)
