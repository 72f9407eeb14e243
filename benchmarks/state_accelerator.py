"""A Delta table with and without its state, on local disk and on a slow store.

`python -m benchmarks.state_accelerator --files 1000000`

Each query runs in a separate process, three times on one table object; the minimum time counts. The
answers of both ways are compared. The state is stored outside the table.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headrace
from benchmarks.lake import open_lake
from benchmarks.parameter import Parameters
from benchmarks.remote import BUCKET, slow_store
from benchmarks.slow_store import depth

_QUESTIONS = ("partition", "statistics", "all")
_DELAY_MS, _MEGABYTES_PER_SECOND = 50, 100
_MAX_ROUNDS = 5

_WORKER = """
import json, sys, time
import headrace
from headrace.engines.arrow import columnar  # loaded before the clock runs
table, state, where, repeats = sys.argv[1:]
times = []
for _ in range(int(repeats)):
    opened = headrace.Table(table, state=state, cache_bytes=0)
    start, cpu = time.perf_counter(), time.process_time()
    scan = opened.snapshot().scan(where or None)
    files = sum(batch.num_rows for batch in scan.batches(columns=("path", "size_bytes")))
    times.append((time.perf_counter() - start, time.process_time() - cpu))
decision = scan.decision
known = decision.unused_state if decision.state_version is None else decision.state_version
report = {"files": files, "state": known, "base": decision.state_version is not None}
print(json.dumps({**report, "wall": min(t[0] for t in times), "cpu": min(t[1] for t in times)}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The cost of answering a query in one way."""

    files: int
    wall_s: float
    cpu_s: float
    is_state: bool
    """Whether the state was read, and not the checkpoint."""
    rounds: int = 0
    requests: int = 0
    read_bytes: int = 0


def ask(
    table: str, state: str, where: str, *, repeats: int, environment: dict[str, str] | None = None
) -> Answer:
    """Query in a separate process."""
    result = subprocess.run(
        [sys.executable, "-c", _WORKER, table, state, where, str(repeats)],
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise SystemExit(result.stderr)
    report: dict[str, Any] = json.loads(result.stdout)
    if (report["state"] is not None) != bool(state):
        raise SystemExit(f"the state was {'not ' if state else ''}known")
    return Answer(
        files=report["files"], wall_s=report["wall"], cpu_s=report["cpu"], is_state=report["base"]
    )


def ask_remotely(folder: Path, state: str, where: str) -> Answer:
    """Query once on the slow store, and count its requests."""
    with slow_store(
        folder, delay_ms=_DELAY_MS, megabytes_per_second=_MEGABYTES_PER_SECOND
    ) as server:
        server.log()
        place = f"s3://{BUCKET}"
        below = f"{place}/{state}" if state else ""
        answer = ask(f"{place}/table", below, where, repeats=1, environment=server.environment)
        requests = server.log()
    return Answer(
        files=answer.files,
        wall_s=answer.wall_s,
        cpu_s=answer.cpu_s,
        is_state=answer.is_state,
        rounds=depth(requests),
        requests=len(requests),
        read_bytes=sum(request.size_bytes for request in requests),
    )


def measure(files: int) -> list[str]:
    """Print the comparison, and return the missed targets."""
    lake = open_lake(Parameters(files=files))
    partition = lake.truth.partitions[0]
    wheres = {
        "partition": f"date = '{partition.date}' AND region = '{partition.region}'",
        "statistics": f"id < {lake.truth.below}",
        "all": "",
    }
    missed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, BUCKET)
        folder.mkdir()
        (folder / "table").symlink_to(lake.table)
        state = str(folder / "state")
        newest = max((lake.table / "_delta_log").glob("*.json"))
        seconds = int(
            newest.stat().st_mtime
        )  # S3 reports times in seconds, and a state compares them
        os.utime(newest, (seconds, seconds))
        start = time.perf_counter()
        result = headrace.Table(str(lake.table), state=state).state.sync()
        took_s = time.perf_counter() - start
        print(f"{files:,} files: the first sync of {result.num_files:,} took {took_s:.1f} s")
        for question in _QUESTIONS:
            where = wheres[question]
            plain, quick = (ask(str(lake.table), s, where, repeats=3) for s in ("", state))
            far, near = (ask_remotely(folder, s, where) for s in ("", "state"))
            if len({answer.files for answer in (plain, quick, far, near)}) != 1:
                raise SystemExit(f"{question}: the answers differ")
            bases = ["state" if answer.is_state else "checkpoint" for answer in (quick, near)]
            print(f"  {question}, {plain.files:,} files: {bases[0]} read, remotely {bases[1]}")
            for title, without, with_state in (
                ("local, processor ms", plain.cpu_s * 1000, quick.cpu_s * 1000),
                ("local, ms", plain.wall_s * 1000, quick.wall_s * 1000),
                ("slow store, ms", far.wall_s * 1000, near.wall_s * 1000),
                ("slow store, round trips", far.rounds, near.rounds),
                ("slow store, requests", far.requests, near.requests),
                ("slow store, MB", far.read_bytes / 1e6, near.read_bytes / 1e6),
            ):
                ratio = without / with_state if with_state else 0.0
                print(f"    {title:24} {without:10.1f} {with_state:10.1f}   {ratio:5.2f} x")
            if quick.cpu_s > plain.cpu_s:
                missed.append(f"{question}: the state is slower on the local disk")
            if near.wall_s > far.wall_s:
                missed.append(f"{question}: the state is slower on the slow store")
            if question == "partition" and near.rounds > _MAX_ROUNDS:
                missed.append(f"{question}: {near.rounds} round trips, not {_MAX_ROUNDS}")
    return missed


def main() -> None:
    """Measure, and print; the columns are without and with the state."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000_000)
    for line in measure(parser.parse_args().files):
        print(f"missed: {line}")


if __name__ == "__main__":
    main()
