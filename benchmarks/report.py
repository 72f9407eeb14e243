"""The results of a run, as JSON to keep and as Markdown to print."""

import os
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.cases import CASES, FLOORS, HEADRACE, TITLES, case_named
from benchmarks.measurement import Measurement
from benchmarks.target import TARGETS, Best, Measure, Verdict

_LIBRARIES = ("headrace", "deltalake", "duckdb", "pyarrow", "numpy", "msgspec")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All measurements of one run."""

    files: int
    repeats: int
    measurements: list[Measurement]
    load_at_start: float

    @property
    def best(self) -> Best:
        """Return the minimum of each measure."""
        return dict(pair for measurement in self.measurements for pair in measurement.best())

    def verdicts(self) -> list[Verdict]:
        """Return the verdict on each target for this size."""
        ours = [t for t in TARGETS if t.files in {None, self.files}]
        return [verdict for target in ours if (verdict := target.judge(self.best))]

    def to_json(self) -> dict[str, Any]:
        """Return all numbers, and the machine they were measured on."""
        return {
            "date": datetime.now(UTC).date().isoformat(),
            "files": self.files,
            "repeats": self.repeats,
            "machine": _machine() | {"load_at_start": self.load_at_start},
            "versions": {"python": platform.python_version()}
            | {name: version(name) for name in _LIBRARIES},
            "measurements": [asdict(measurement) for measurement in self.measurements],
            "targets": [asdict(verdict) for verdict in self.verdicts()],
        }

    def to_markdown(self) -> str:
        """Return the tables that a run prints."""
        return "\n".join([*self._numbers(), "", *self._floors(), "", *self._targets()])

    def _numbers(self) -> Iterator[str]:
        yield f"{self.files:,} files in the checkpoint; fresh processes, in turns; the least of up"
        yield f"to {self.repeats} (and the median). x: how many times what Headrace takes."
        yield f"Load at the start: {self.load_at_start:.1f} on {os.cpu_count()} cores."
        yield ""
        yield (
            "| case | contestant | warm ms | x | cold ms | x | CPU ms | peak MB | over idle MB |"
            " read KB |"
        )
        yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
        ours = {m.case: m for m in self.measurements if m.contestant == HEADRACE}
        for measured in self.measurements:
            yield _row(measured, ours.get(measured.case))

    def _floors(self) -> Iterator[str]:
        yield "Distance to the floor: CPU time, as a multiple of the work that no reader can avoid."
        yield ""
        yield from floor_table(self.best)

    def _targets(self) -> Iterator[str]:
        verdicts = self.verdicts()
        if not any(target.files == self.files for target in TARGETS):
            yield f"Most targets are for 1 M and 10 M files; these hold at {self.files:,} too."
            yield ""
        yield "| target | measured | met |"
        yield "|---|--:|---|"
        for verdict in verdicts:
            yield f"| {verdict.text} | {verdict.measured} | {'yes' if verdict.met else '**no**'} |"


def floor_table(best: Best) -> Iterator[str]:
    """Compare the CPU time of each case with its floors."""
    heads = " | ".join(f"{TITLES[floor]} ms | x" for floor in FLOORS)
    yield f"| case | {TITLES[HEADRACE]} ms | {heads} |"
    yield "|---|--:|--:|--:|--:|--:|"
    for case in CASES:
        ours = best.get((case.name, HEADRACE, Measure.CPU))
        floors = [best.get((case.name, floor, Measure.CPU)) for floor in FLOORS]
        if ours is None or not any(floors):
            continue
        cells = [case.title, number(ours)]
        for floor in floors:
            cells += ["", ""] if floor is None else [number(floor), number(ours / floor)]
        yield f"| {' | '.join(cells)} |"


def _row(measured: Measurement, ours: Measurement | None) -> str:
    def times(measure: str) -> str:
        if ours is None or ours is measured:
            return ""
        return number(min(measured.values(measure)) / min(ours.values(measure)))

    def least(measure: str) -> str:
        values = measured.values(measure)
        return number(min(values)) if values else ""

    cells = (
        case_named(measured.case).title,
        TITLES[measured.contestant],
        f"{least('warm_ms')} ({number(measured.median('warm_ms'))})",
        times("warm_ms"),
        f"{least('cold_ms')} ({number(measured.median('cold_ms'))})",
        times("cold_ms"),
        least("cpu_ms"),
        least("peak_mb"),
        least("over_idle_mb"),
        least("read_kb"),
    )
    return f"| {' | '.join(cells)} |"


def number(value: float) -> str:
    """Format a number with at least three significant digits."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": psutil.cpu_count(logical=False) or os.cpu_count(),
        "threads": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
