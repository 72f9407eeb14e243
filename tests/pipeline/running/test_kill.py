"""Runs that are killed: the next one ends with the same tables, and nothing is doubled."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headrace import Table
from headrace.pipeline import Project, RunStatus
from tests.pipeline.shop import append_orders, append_weather, write_shop

KILLS = int(os.environ.get("HEADRACE_KILLS", "3"))
VIEWS = {
    "log": "-- @materialise output\n-- @write append\nSELECT day, degrees FROM weather\n",
    "latest": (
        "-- @materialise output\n-- @write merge\n-- @keys day\n-- @change_feed true\n"
        "SELECT day, max(degrees) AS warmest FROM weather GROUP BY day\n"
    ),
    "by_year": (
        "-- @materialise output\n-- @write overwrite_partitions\n-- @partition_by year\n"
        "SELECT id, amount, year FROM orders WHERE year >= 2023\n"
    ),
    "kept": "-- @materialise staging\nSELECT id, amount FROM orders\n",
    "total": "-- @materialise output\nSELECT sum(amount) AS total FROM kept\n",
}
SCRIPT = """
import sys, time
from headrace.pipeline import Project
project = Project.load(sys.argv[1])
print("ready", flush=True)
project.run(engine="datafusion")
"""


def write_growing_shop(root: Path) -> Path:
    write_shop(root)
    for name, text in VIEWS.items():
        (root / "views" / f"{name}.sql").write_text(text)
    return root


def grow(root: Path, step: int) -> None:
    append_weather(root, day=step)
    append_orders(root, year=2024, count=step)


def tables(root: Path) -> dict[str, list[str]]:
    return {
        folder.name: sorted(map(repr, Table(folder).snapshot().rows().read_all().to_pylist()))
        for folder in sorted((root / "output").iterdir())
    }


def kill_at_some_point(root: Path, delay_s: float) -> bool:
    """Start a run and kill it after a while; whether it was still alive then."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(root)], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay_s)
    alive = process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return alive


@pytest.mark.timeout(1800)
def test_a_run_that_is_killed_and_repeated_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    undisturbed = write_growing_shop(tmp_path / "undisturbed")
    killed = write_growing_shop(tmp_path / "killed")
    start = time.monotonic()
    Project.load(undisturbed).run(engine="datafusion").check()
    longest_s = 2.0 * (time.monotonic() - start)
    Project.load(killed).run(engine="datafusion").check()
    points = random.Random(KILLS)
    hit = 0
    for step in range(2, 2 + KILLS):
        for root in (undisturbed, killed):
            grow(root, step)
        Project.load(undisturbed).run(engine="datafusion").check()
        hit += kill_at_some_point(killed, points.uniform(0.0, longest_s))
        record = Project.load(killed).run(engine="datafusion")
        assert record.status is RunStatus.SUCCEEDED
        assert tables(killed) == tables(undisturbed)
        assert _orphans(killed) == []
    assert hit, "no run was alive when it was to be killed"


def _orphans(root: Path) -> list[str]:
    """Data files that no version of their table has ever had."""
    found = []
    for folder in (root / "output").iterdir():
        known = {change.uri for change in Table(folder).changes(0)}
        files = (f for f in folder.rglob("*.parquet") if "_delta_log" not in f.parts)
        found += [str(file) for file in files if str(file) not in known]
    return found
