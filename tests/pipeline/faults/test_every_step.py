"""A fault at every step of a run: the next run ends as if there had been none."""

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.pipeline import Project
from tests.pipeline.faults.injection import Fault, Faults, Moment, injected
from tests.pipeline.faults.nursery import FAILED, Nursery, RunEnd
from tests.pipeline.faults.project import (
    add_foreign_files,
    grow,
    tables,
    versions,
    write_project,
    wrong_files,
)

_LOGGER = logging.getLogger(__name__)
EVERY = int(os.environ.get("HEADRACE_FAULT_STEP", "37"))
SPARK_EVERY = int(os.environ.get("HEADRACE_SPARK_FAULT_STEP", "373"))
"""The gate tries one fault in this many; `make fault-soak` tries all."""

RunOnce = Callable[[Path, Fault | None], RunEnd]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as opened:
        yield opened


@pytest.mark.timeout(7200)
def test_after_any_fault_the_next_run_ends_as_if_there_had_been_none(
    tmp_path: Path, nursery: Nursery
) -> None:
    def run(root: Path, fault: Fault | None) -> RunEnd:
        return nursery.run(root, "datafusion", fault)

    _try_faults(run, tmp_path, every=EVERY)


@pytest.mark.timeout(14400)
def test_after_any_fault_on_spark_the_next_run_ends_as_if_there_had_been_none(
    tmp_path: Path, nursery: Nursery, spark: object
) -> None:
    def run(root: Path, fault: Fault | None) -> RunEnd:
        if fault is not None and fault.moment in {Moment.KILL_BEFORE, Moment.KILL_AFTER}:
            return nursery.run(root, "spark", fault)  # with a JVM of its own, which dies with it
        return _run_in_session(root, spark, fault)

    _try_faults(run, tmp_path, every=SPARK_EVERY)


def _run_in_session(root: Path, session: object, fault: Fault | None) -> RunEnd:
    faults = Faults(fault)
    status = 0
    try:
        with injected(faults):
            Project.load(root).run(engine="spark", session=session).check()
    except Exception as error:  # noqa: BLE001  (a fault may come out as anything)
        _LOGGER.info("%s: %s", type(error).__name__, str(error)[:200])
        status = FAILED
    return RunEnd(status=status, operations=faults.operations)


def _try_faults(run: RunOnce, place: Path, *, every: int) -> None:
    """Compare the tables after each fault and a second run with those of an undisturbed run."""
    root = write_project(place / "shop")
    assert run(root, None).status == 0
    grow(root, 2)
    add_foreign_files(root)
    untouched = place / "untouched"
    shutil.copytree(root, untouched)
    undisturbed = run(root, None)
    assert undisturbed.status == 0
    expected, expected_versions = tables(root), versions(root)
    assert wrong_files(root) == []
    faults = [
        Fault(number=number, moment=moment)
        for number in range(len(undisturbed.operations))
        for moment in Moment
    ][::every]
    ended = 0
    for fault in faults:
        _copy_back(untouched, root)
        ended += run(root, fault).status != 0
        what = f"{fault.moment} {undisturbed.operations[fault.number]}"
        assert run(root, None).status == 0, what
        assert tables(root) == expected, what
        assert versions(root) == expected_versions, what
        assert run(root, None).status == 0, what
        assert versions(root) == expected_versions, f"{what}: the run after that did not skip"
        assert wrong_files(root) == [], what
    _LOGGER.info(
        "%d faults at %d operations passed, %d of them ended the run",
        len(faults),
        len(undisturbed.operations),
        ended,
    )
    assert ended


def _copy_back(untouched: Path, root: Path) -> None:
    """Reset the project in place: records hold the addresses of tables."""
    shutil.rmtree(root)
    shutil.copytree(untouched, root)
