"""Measure: run one worker process per sample, one after the other, and keep the results."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.lake import ROOT
from benchmarks.question import Ask, Question
from benchmarks.target import Measure
from benchmarks.worker import AUDIT, IDLE, MEASURE

_WORKER = "from benchmarks.worker import main; main()"
_TIMEOUT_S = 3600


class WorkerFailedError(Exception):
    """A contestant failed or returned a wrong answer, which ends the benchmark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a process measured of itself, and what its parent measured of it."""

    warm_ms: float
    """From the end of the imports to the answer."""
    cold_ms: float
    """From the start of the process to the answer."""
    cpu_ms: float
    """The CPU time of all threads, from the end of the imports."""
    peak_mb: float
    """The peak memory of the process."""
    over_idle_mb: float
    """The peak memory, without what the imports alone take."""
    read_kb: float | None
    """Bytes read, by its own count or the system's, whichever is larger."""


@dataclass(slots=True, kw_only=True)
class Measurement:
    """One contestant's samples of one case."""

    case: str
    contestant: str
    samples: list[Sample] = field(default_factory=list)

    def values(self, measure: str) -> list[float]:
        """Return one measure of every sample that has it."""
        samples = (getattr(sample, measure) for sample in self.samples)
        return [value for value in samples if value is not None]

    def best(self) -> Iterator[tuple[tuple[str, str, Measure], float]]:
        """Yield the minimum of each measure."""
        for measure in Measure:
            if values := self.values(measure):
                yield (self.case, self.contestant, measure), min(values)

    def median(self, measure: str) -> float:
        """Return the median of a measure."""
        return statistics.median(self.values(measure))


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs a contestant on one kind of question, with its imports and their memory known."""

    contestant: str
    modules: Path
    idle_bytes: int

    def sample(self, question: Question) -> Sample:
        """Measure once."""
        report, spawned_ns = _spawn(MEASURE, self.contestant, self.modules, question)
        read = [n for n in (report["read_bytes"], report["said_read_bytes"]) if n is not None]
        return Sample(
            warm_ms=(report["ended_ns"] - report["started_ns"]) / 1e6,
            cold_ms=(report["ended_ns"] - spawned_ns) / 1e6,
            cpu_ms=report["cpu_ns"] / 1e6,
            peak_mb=report["peak_bytes"] / 1e6,
            over_idle_mb=(report["peak_bytes"] - self.idle_bytes) / 1e6,
            read_kb=max(read) / 1e3 if read else None,
        )

    def audit(self, question: Question) -> None:
        """Check every file of the answer, without measuring the time."""
        _spawn(AUDIT, self.contestant, self.modules, question)


def rehearse(contestant: str, question: Question, *, folder: Path) -> Runner:
    """Let a contestant answer once, to find the modules it needs and check its answer."""
    if question.ask is Ask.BATCHES:
        _spawn(AUDIT, contestant, None, question)
    report, _ = _spawn(MEASURE, contestant, None, question)
    modules = folder / f"{contestant}-{question.ask}-{question.threads}.modules"
    modules.write_text("\n".join(report["modules"]), encoding="utf-8")
    idle = [_spawn(IDLE, contestant, modules, question)[0]["peak_bytes"] for _ in range(3)]
    return Runner(contestant=contestant, modules=modules, idle_bytes=min(idle))


def warm_page_cache(table: Path) -> None:
    """Read every file of a log, so that no contestant waits for the disk."""
    for path in sorted(table.rglob("*")):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.read(1 << 24):
                    pass


def _spawn(
    mode: str, contestant: str, modules: Path | None, question: Question
) -> tuple[dict[str, Any], int]:
    words = [mode, contestant, str(modules or ""), *question.to_words()]
    spawned_ns = time.monotonic_ns()
    result = subprocess.run(
        [sys.executable, "-c", _WORKER, *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if result.returncode != 0:
        raise WorkerFailedError(f"{contestant}, {question.ask}:\n{result.stderr}")
    report: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return report, spawned_ns
