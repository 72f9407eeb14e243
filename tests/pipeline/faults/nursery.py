"""A process that forks one child per run, so that a run can be killed and costs no start-up.

As a script it is that process: each line of its input is a run, each line of its output says how
the child ended and which operations it asked for. Nothing but imports happens before the fork, so
the child has no threads to miss.
"""

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from headrace.pipeline import Project
from tests.pipeline.faults.injection import Fault, Faults, injected

FAILED = 1
"""The status of a child whose run failed, or raised."""


class RunOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A run to be made."""

    root: str
    engine: str
    fault: Fault | None = None


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    status: int
    """0: well; negative: by that signal."""
    operations: list[str]


class Nursery:
    """The handle of the process."""

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

    def run(self, root: Path, engine: str, fault: Fault | None = None) -> RunEnd:
        order = RunOrder(root=str(root), engine=engine, fault=fault)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=RunEnd)


def main() -> None:
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=RunOrder)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _run(order, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as told:
            operations = told.read()
        _, waited = os.waitpid(child, 0)
        end = RunEnd(
            status=os.waitstatus_to_exitcode(waited),
            operations=msgspec.json.decode(operations) if operations else [],
        )
        sys.stdout.buffer.write(msgspec.json.encode(end) + b"\n")
        sys.stdout.buffer.flush()


def _run(order: RunOrder, writer: int) -> None:
    faults = Faults(order.fault)
    status = FAILED
    try:
        with injected(faults):
            Project.load(order.root).run(engine=order.engine).check()
        status = 0
    except Exception as error:  # noqa: BLE001  (a fault may come out as anything)
        sys.stderr.write(f"{type(error).__name__}: {error}\n"[:300])
    os.write(writer, msgspec.json.encode(faults.operations))
    os._exit(status)


if __name__ == "__main__":
    main()
