"""A process that forks one child per run, so that runs can be killed and start quickly.

As a script, it is that process: each line of its input is a run, and each line of its output
reports how the child ended and which operations it performed. Only imports happen before the fork,
so the child misses no threads.

A run on Spark starts its own JVM, which notices the death of the run after a while. Or it connects
to the JVM of another process through that process's gateway, as notebook servers do; such a JVM
survives the kill. Until they end, the tasks of both keep writing.
"""

import ctypes
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headrace.pipeline import Project
from tests.pipeline.faults.injection import Fault, Faults, injected

_ADOPT_ORPHANS = 36
"""Linux's PR_SET_CHILD_SUBREAPER: children of a dead child become our own."""
FAILED = 1
"""The exit status of a child whose run failed or raised an error."""


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a running JVM."""

    port: int
    secret: str

    @classmethod
    def of(cls, session: Any) -> Self:
        """Return the gateway through which a session reaches its JVM."""
        parameters = session.sparkContext._gateway.gateway_parameters
        return cls(port=parameters.port, secret=parameters.auth_token)

    def connect(self) -> SparkSession:
        """Open a session of this process in the running JVM."""
        os.environ["PYSPARK_GATEWAY_PORT"] = str(self.port)
        os.environ["PYSPARK_GATEWAY_SECRET"] = self.secret
        SparkContext._ensure_initialized()
        jvm: Any = SparkContext._jvm
        running = jvm.org.apache.spark.SparkContext.getOrCreate()
        java_context = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(running)
        return SparkSession(SparkContext(gateway=SparkContext._gateway, jsc=java_context))


class WaitOrder(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Wait until the JVMs of killed runs have ended."""


class RunOrder(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A run to perform."""

    root: str
    engine: str
    fault: Fault | None = None
    gateway: Gateway | None = None


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    status: int
    """0 for success; a negative number is the signal that killed it."""
    operations: list[str]


class Nursery:
    """A handle on the process."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.faults.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def run(
        self,
        root: Path,
        engine: str,
        fault: Fault | None = None,
        *,
        gateway: Gateway | None = None,
    ) -> RunEnd:
        return self._send(RunOrder(root=str(root), engine=engine, fault=fault, gateway=gateway))

    def wait_for_orphans(self) -> None:
        """Wait until the JVMs of killed runs have ended."""
        self._send(WaitOrder())

    def _send(self, order: RunOrder | WaitOrder) -> RunEnd:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=RunEnd)


def main() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1)
    for line in sys.stdin.buffer:
        order: RunOrder | WaitOrder = msgspec.json.decode(line, type=RunOrder | WaitOrder)
        if isinstance(order, WaitOrder):
            _wait_for_children()
            _answer(RunEnd(status=0, operations=[]))
            continue
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _run(order, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            operations = pipe.read()
        _, waited = os.waitpid(child, 0)
        _answer(
            RunEnd(
                status=os.waitstatus_to_exitcode(waited),
                operations=msgspec.json.decode(operations) if operations else [],
            )
        )


def _answer(end: RunEnd) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(end) + b"\n")
    sys.stdout.buffer.flush()


def _wait_for_children() -> None:
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _run(order: RunOrder, writer: int) -> None:
    faults = Faults(order.fault)
    status = FAILED
    try:
        session = order.gateway.connect() if order.gateway else None
        with injected(faults):
            Project.load(order.root).run(engine=order.engine, session=session).check()
        status = 0
    except Exception as error:  # noqa: BLE001  (a fault may come out as anything)
        sys.stderr.write(f"{type(error).__name__}: {error}\n"[:300])
    os.write(writer, msgspec.json.encode(faults.operations))
    os._exit(status)


if __name__ == "__main__":
    main()
