"""Run the benchmark: every case and contestant, in fresh processes, alternating.

First, each contestant answers on a small lake, where every answer is checked file by file and its
imports are recorded. Then they alternate for the requested number of repeats. Streamed answers are
also audited once on the large lake. A wrong answer ends the run.
"""

import argparse
import json
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil

from benchmarks.cases import (
    CASES,
    FLOORS,
    SMALL_FILES,
    TITLES,
    Case,
    Water,
    lake_parameters,
    question_of,
)
from benchmarks.lake import ROOT, Lake, open_lake
from benchmarks.measurement import Measurement, Runner, rehearse, warm_page_cache
from benchmarks.question import Ask, Question
from benchmarks.report import Report

RESULTS = ROOT / "benchmarks" / "results"


def run(cases: list[Case], *, files: int, repeats: int, patience_s: float) -> Report:
    """Measure the cases on lakes of `files` files."""
    load = psutil.getloadavg()[0]
    measurements: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            if case.most_files and files > case.most_files:
                continue
            measurements += _measure(
                case, files=files, repeats=repeats, patience_s=patience_s, folder=Path(folder)
            )
    return Report(files=files, repeats=repeats, measurements=measurements, load_at_start=load)


def _measure(
    case: Case, *, files: int, repeats: int, patience_s: float, folder: Path
) -> list[Measurement]:
    small = _question(case, _open(case.water, min(files, SMALL_FILES)))
    lake = _open(case.water, files)
    warm_page_cache(lake.table)
    question = _question(case, lake)
    turns: list[tuple[Runner, Measurement]] = []
    for contestant in case.contestants:
        _say(f"{case.name}: {TITLES[contestant]} rehearses")
        runner = rehearse(contestant, small, folder=folder)
        if case.ask is Ask.BATCHES and contestant not in FLOORS and question != small:
            runner.audit(question)
        turns.append((runner, Measurement(case=case.name, contestant=contestant)))
    spent_s = dict.fromkeys(case.contestants, 0.0)
    for turn in range(repeats):
        _say(f"{case.name}: turn {turn + 1} of {repeats}")
        for runner, measurement in turns:
            if spent_s[runner.contestant] < patience_s:
                before = time.monotonic()
                measurement.samples.append(runner.sample(question))
                spent_s[runner.contestant] += time.monotonic() - before
    return [measurement for _, measurement in turns]


def _open(water: Water, files: int) -> Lake:
    return open_lake(lake_parameters(water, files))


def _question(case: Case, lake: Lake) -> Question:
    return question_of(case, table=str(lake.table), truth=lake.truth)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Measure Headrace against its peers, and report which targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=main.__doc__)
    names = [case.name for case in CASES]
    parser.add_argument(
        "--files", type=int, default=1_000_000, help="files in the checkpoint (default: 1000000)"
    )
    parser.add_argument(
        "--repeats", type=int, default=5, help="samples of each case and contestant (default: 5)"
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=60,
        metavar="SECONDS",
        help="a contestant that has taken longer for a case gets no more samples (default: 60)",
    )
    parser.add_argument(
        "--case", action="append", choices=names, help="only this case (may be given again)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=RESULTS,
        help="folder of the JSON (default: benchmarks/results)",
    )
    chosen = parser.parse_args()
    cases = [case for case in CASES if not chosen.case or case.name in chosen.case]
    report = run(cases, files=chosen.files, repeats=chosen.repeats, patience_s=chosen.patience)
    day = datetime.now(UTC).date().isoformat()
    chosen.out.mkdir(parents=True, exist_ok=True)
    result = chosen.out / f"{day}-{chosen.files}.json"
    result.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    print(report.to_markdown())
    _say(f"\nwritten to {result}")


if __name__ == "__main__":
    main()
