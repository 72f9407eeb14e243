"""Starts the JVM of a session, and kills it when the start is interrupted.

A JVM whose start is interrupted halfway does not always end by itself: PySpark removes the folder
for its answer, and the threads of its gateway keep it alive. So the start runs in a thread of its
own, where Ctrl-C cannot break a call to the JVM, and the main thread waits for it.
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import Any

import pyspark.java_gateway
from pyspark import SparkContext
from pyspark.sql import SparkSession

_POLL_S = 0.2
_GIVE_UP_S = 10.0


class _Launch:
    """One start of a JVM: its process, once there is one."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self.process: subprocess.Popen[bytes] | None = None

    def popen(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start the process in a group of its own, so that its helpers can be killed with it."""
        self.process = subprocess.Popen(command, process_group=0, **options)  # noqa: S603
        if self._cancelled.is_set():
            self.kill()
        return self.process

    def cancel(self) -> None:
        """Kill the process, now or when it starts."""
        self._cancelled.set()
        self.kill()

    def kill(self) -> None:
        """Kill the process and those it started; do nothing if it has ended."""
        process = self.process
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


_launch: _Launch | None = None
"""The last start in this process."""


def kill_own_jvm() -> None:
    """Kill the JVM that was started here, if it runs; calls to it then fail instead of waiting."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)  # it logs each failed call
    if _launch is not None:
        _launch.cancel()


def start_session(create: Callable[[], SparkSession]) -> SparkSession:
    """Return the session that `create` returns; it starts a JVM if this process has none.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; the JVM was killed, and another start can follow.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if SparkContext._gateway is not None or not is_main or sys.platform == "win32":  # noqa: SLF001
        return create()
    global _launch  # noqa: PLW0603  (a process has one JVM)
    launch = _launch = _Launch()
    outcome: Future[SparkSession] = Future()

    def start() -> None:
        try:
            outcome.set_result(create())
        except BaseException as error:  # noqa: BLE001  (the main thread raises it)
            outcome.set_exception(error)

    thread = threading.Thread(target=start, name="headrace-spark-start", daemon=True)
    with _popen(launch):
        try:
            thread.start()
            while not wait([outcome], timeout=_POLL_S).done:  # an interrupt may not wake the wait
                pass
            session = outcome.result()
        except KeyboardInterrupt:
            _abandon(launch, thread)
            raise
    # Both of these belong to the thread that creates the session.
    java_class = SparkSession._get_j_spark_session_class(session._jvm)  # noqa: SLF001
    java_class.setActiveSession(session._jsparkSession)  # noqa: SLF001
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _cancel_jobs)
    return session


def _abandon(launch: _Launch, thread: threading.Thread) -> None:
    """Kill the JVM of an interrupted start, and forget it."""
    logger = logging.getLogger("py4j")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        launch.cancel()
        thread.join(_GIVE_UP_S)
        SparkSession._instantiatedSession = None  # noqa: SLF001
        SparkContext._active_spark_context = None  # noqa: SLF001
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _popen(launch: _Launch) -> Iterator[None]:
    """Let PySpark start its process through `launch`: it does not expose the process in time."""
    module: Any = pyspark.java_gateway
    original = module.Popen
    module.Popen = launch.popen
    try:
        yield
    finally:
        module.Popen = original


def _cancel_jobs(*_: object) -> None:
    """Cancel all jobs on Ctrl-C, as PySpark does for sessions that the main thread creates."""
    try:
        context = SparkContext._active_spark_context  # noqa: SLF001
        if context is not None:
            context.cancelAllJobs()
    finally:
        raise KeyboardInterrupt
