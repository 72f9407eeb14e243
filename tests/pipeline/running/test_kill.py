"""Killed runs: the next run ends with the same tables, and no row is duplicated."""

import logging
import os
import random
import time
from pathlib import Path

import pytest

from headrace import Table
from headrace.pipeline import Project
from tests.pipeline.faults.project import VIEWS, grow, tables
from tests.pipeline.running.driver import Driver
from tests.pipeline.shop import write_shop

_LOGGER = logging.getLogger(__name__)

FEW = {"datafusion": 3, "spark": 1}
"""The number of kills by default; starting Spark takes seconds."""


def write_growing_shop(root: Path) -> Path:
    write_shop(root)
    for name, text in VIEWS.items():
        (root / "views" / f"{name}.sql").write_text(text)
    return root


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", FEW)
def test_a_run_that_is_killed_and_repeated_ends_as_if_it_had_not_been(
    tmp_path: Path, engine: str
) -> None:
    kills = int(os.environ.get("HEADRACE_KILLS", FEW[engine]))
    undisturbed = write_growing_shop(tmp_path / "undisturbed")
    killed = write_growing_shop(tmp_path / "killed")
    points = random.Random(kills)
    hit = 0
    with Driver(engine) as driver:
        driver.run(undisturbed)
        driver.run(killed)
        for step in range(2, 2 + kills):
            grow(undisturbed, step)
            grow(killed, step)
            took_s = driver.run(undisturbed)
            at_s = points.uniform(0.0, took_s)
            driver.begin(killed)
            time.sleep(at_s)
            hit += driver.is_busy()
            (driver.kill_alone if step % 2 else driver.kill_everything)()
            _LOGGER.info("killed after %.2f of %.2f s: %s", at_s, took_s, _state(killed))
            driver.restart()
            driver.run(killed)
            assert tables(killed) == tables(undisturbed)
            assert _orphans(killed) == []
    assert hit, "no run was going on when it was to be killed"


def _state(root: Path) -> str:
    """Describe in words what a killed run has left."""
    record = Project.load(root).show()
    intents = list((root / ".headrace" / "intents").glob("*.json"))
    written = list((root / "output").rglob(f"run-{record.id}/**/*.parquet"))
    return (
        f"last run {record.status}: {len(record.views)} views on record, "
        f"{len(intents)} about to be written, {len(written)} files written"
    )


def _orphans(root: Path) -> list[str]:
    """Return data files that no version of their table has ever referenced."""
    orphans = []
    for folder in (root / "output").iterdir():
        known = {change.uri for change in Table(folder).changes(0)}
        files = (f for f in folder.rglob("*.parquet") if "_delta_log" not in f.parts)
        orphans += [str(file) for file in files if str(file) not in known]
    return orphans
