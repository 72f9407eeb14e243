"""A separate process that runs projects, and that can be killed at any point of a run.

As a script, it is that process: it runs each project that a line of its input names, and reports
when a run begins and ends. `Driver` is a handle on it. A Spark session is opened once, before the
first run.
"""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

import headrace.spark
from headrace.pipeline import Project

_PATIENCE_S = 60.0


class Driver:
    """A process that runs projects on one engine."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self.restart()

    def restart(self) -> None:
        """Start the process, for the first time or after it was killed."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.running.driver", self._engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill_everything()

    def run(self, root: Path) -> float:
        """Run a project to its end, and return the seconds that it took."""
        self.begin(root)
        start = time.monotonic()
        self._hear("ended")
        return time.monotonic() - start

    def begin(self, root: Path) -> None:
        """Start a run, and wait until it has begun."""
        assert self._process.stdin is not None
        print(root, file=self._process.stdin, flush=True)
        self._hear("begins")

    def is_busy(self) -> bool:
        """Whether the current run has not ended yet."""
        assert self._process.stdout is not None
        return not select.select([self._process.stdout], [], [], 0)[0]

    def kill_everything(self) -> None:
        """Kill the process and everything that it started, as a machine failure does."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._reap()

    def kill_alone(self) -> None:
        """Kill only the process; its children must notice by themselves.

        Raises:
            AssertionError: A child process survives.
        """
        started = psutil.Process(self._process.pid).children(recursive=True)
        os.kill(self._process.pid, signal.SIGKILL)
        self._reap()
        _, alive = psutil.wait_procs(started, timeout=_PATIENCE_S)
        assert not alive, f"{alive} outlived the process that started it"

    def _reap(self) -> None:
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _hear(self, word: str) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line == word, f"the process said {line!r} instead of {word!r}"


def main() -> None:
    engine = sys.argv[1]
    session = headrace.spark.local(cores=2, memory="1g") if engine == "spark" else None
    for line in sys.stdin:
        project = Project.load(line.strip())
        _say("begins")
        project.run(engine=engine, session=session).check()
        _say("ended")


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
