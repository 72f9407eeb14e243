"""The cost of a run in a project with many previous runs, compared with a new project.

    python -m benchmarks.pipeline_history --runs 10 10000

Each project is really run once. Further runs that skip everything are recorded through the artifact
store as a run records them, ten minutes apart by its clock, with upkeep after each. Then a run that
skips everything is started in a fresh process, alternating between the projects. Its wall time, CPU
time and peak memory must be at most 1.2 times those of the project with the shortest history. The
state folder of the longest history must hold no more files than a few hours of runs leave.

The preparation is long. With `--folder` the projects are kept, and `--pause-after` ends the
preparation after some seconds; the same command continues it.
"""

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import msgspec
import pyarrow as pa
from deltalake import write_deltalake

from headrace.pipeline import Project, RunRecord, RunStatus
from headrace.pipeline.runs import history_table
from headrace.pipeline.runs.artifact_store import ArtifactStore

TARGET = 1.2
MOST_FILES = 2000
STEP_MS = 10 * 60 * 1000
VIEWS = 5
MANIFEST = '[project]\nname = "history"\n\n[sources.orders]\nuri = "lake/orders"\n'
RUN = """\
import sys
from headrace.pipeline import Project
Project.load(sys.argv[1]).run(engine="datafusion")
status = open("/proc/self/status").read().splitlines()
print(next(line.split()[1] for line in status if line.startswith("VmHWM:")))
"""
"""Prints its own peak: what the system counts for a child starts with its parent's memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    wall_s: float
    cpu_s: float
    peak_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    files: int
    size_bytes: int


def write_project(root: Path) -> Path:
    """Write a project of a few views over one small table."""
    (root / "views").mkdir(parents=True)
    (root / "headrace.toml").write_text(MANIFEST)
    for number in range(VIEWS):
        text = f"-- @materialise output\nSELECT id, amount + {number} AS a FROM orders\n"
        (root / "views" / f"view_{number}.sql").write_text(text)
    rows = pa.table({"id": pa.array(range(10)), "amount": pa.array(range(10))})
    write_deltalake(root / "lake" / "orders", rows)
    return root


class Preparation:
    """A project that is being brought to a number of runs, possibly by several processes."""

    def __init__(self, root: Path, count: int) -> None:
        """Take the project's folder and the number of runs; the last ones happen now."""
        self.root, self.count = root, count
        self._file = root / "preparation.json"
        self.recorded, self._now_ms = 0, time.time_ns() // 1_000_000
        if self._file.is_file():
            self.recorded, self._now_ms = msgspec.json.decode(
                self._file.read_bytes(), type=tuple[int, int]
            )

    @property
    def is_done(self) -> bool:
        return self.recorded >= self.count

    def advance(self, *, until_s: float) -> None:
        """Record runs until all are recorded, or until a time of the monotonic clock."""
        if self.is_done:
            return
        if self.recorded == 0:
            shutil.rmtree(self.root, ignore_errors=True)  # an earlier process may have died here
            write_project(self.root)
        project = Project.load(self.root)
        if self.recorded == 0:
            project.run(engine="datafusion")
            self.recorded = 2
        latest = project.run(engine="datafusion")
        with no_flushing():
            while self.recorded < self.count and time.monotonic() < until_s:
                self._record(project.store, latest)
                self.recorded += 1
        self._file.write_bytes(msgspec.json.encode((self.recorded, self._now_ms)))

    def _record(self, store: ArtifactStore, latest: RunRecord) -> None:
        """Record one run that skips everything, as a run does, with upkeep after it."""
        started_ms = self._now_ms - (self.count - self.recorded) * STEP_MS
        record = msgspec.structs.replace(
            latest,
            id=f"recorded-{self.recorded:08}",
            status=RunStatus.RUNNING,
            started_ms=started_ms,
            finished_ms=None,
        )
        finished = msgspec.structs.replace(
            record, status=RunStatus.SUCCEEDED, finished_ms=started_ms + 900
        )
        clock_ms = self._now_ms + self.recorded * STEP_MS
        with clock_at(clock_ms):
            store.add_run(record)
            store.add_views(record, list(latest.views.values()))
            store.add_run(finished)
            store.upkeep(now_ms=clock_ms)


@contextmanager
def no_flushing() -> Iterator[None]:
    """Disable flushes to disk, which only slow down the preparation."""
    with patch.object(os, "fsync", lambda _: None):
        yield


@contextmanager
def clock_at(now_ms: int) -> Iterator[None]:
    """Make files seem to be replaced at the given time."""
    with patch.object(history_table, "_now_ms", lambda: now_ms):
        yield


def run_once(root: Path) -> Cost:
    """Run the project in a separate process."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", RUN, str(root)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as printed:
        peak_kb = int(printed.read())
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return Cost(wall_s=wall_s, cpu_s=usage.ru_utime + usage.ru_stime, peak_mb=peak_kb / 1024)


def measure(roots: Sequence[Path], repeats: int) -> list[list[Cost]]:
    """Measure the cost of a run in each project, alternating between them."""
    for root in roots:
        run_once(root)
    costs: list[list[Cost]] = [[] for _ in roots]
    for _ in range(repeats):
        for root, samples in zip(roots, costs, strict=True):
            samples.append(run_once(root))
    return costs


def median(costs: Sequence[Cost], name: str) -> float:
    return float(statistics.median(getattr(cost, name) for cost in costs))


def size_of(root: Path) -> Size:
    """Return the size of the state folder."""
    files = [file for file in (root / ".headrace").rglob("*") if file.is_file()]
    return Size(files=len(files), size_bytes=sum(file.stat().st_size for file in files))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, nargs="+", default=[10, 10_000])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--folder", type=Path, help="keep the projects here")
    parser.add_argument("--pause-after", type=float, default=math.inf, metavar="SECONDS")
    options = parser.parse_args()
    start_s = time.monotonic()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="history-"))
    try:
        roots = []
        for count in options.runs:
            started = time.monotonic()
            preparation = Preparation(folder / str(count), count)
            preparation.advance(until_s=start_s + options.pause_after)
            roots.append(preparation.root)
            size = size_of(roots[-1])
            print(
                f"{preparation.recorded} of {count} runs recorded, "
                f"{time.monotonic() - started:.0f} s now: "
                f"{size.files} files, {size.size_bytes / 1e6:.1f} MB",
                flush=True,
            )
            if not preparation.is_done:
                sys.exit("paused: repeat the command to continue")
        costs = measure(roots, options.repeats)
    finally:
        if options.folder is None:
            shutil.rmtree(folder)
    missed = size.files > MOST_FILES
    for count, cost in zip(options.runs, costs, strict=True):
        parts = []
        for name in ("wall_s", "cpu_s", "peak_mb"):
            ratio = median(cost, name) / median(costs[0], name)
            missed |= ratio > TARGET
            parts.append(f"{name} {median(cost, name):.2f} (x {ratio:.2f})")
        print(f"{count} runs: {', '.join(parts)}")
    print(f"target x {TARGET}, at most {MOST_FILES} files: {'missed' if missed else 'met'}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
