"""A fault at every step of a run: the next run ends as if there had been none."""

import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.pipeline import Project
from tests.pipeline.faults.injection import Fault, Faults, Moment, injected
from tests.pipeline.faults.nursery import Nursery
from tests.pipeline.faults.project import (
    add_foreign_files,
    grow,
    tables,
    versions,
    write_project,
    wrong_files,
)

_LOGGER = logging.getLogger(__name__)
EVERY = int(os.environ.get("HEADRACE_FAULT_STEP", "13"))
"""Of all faults, the gate tries one in so many; `make fault-soak` tries all."""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as opened:
        yield opened


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Path:
    """A project that has run once, and whose sources have grown since."""
    root = write_project(tmp_path_factory.mktemp("begun") / "shop")
    assert nursery.run(root, "datafusion").status == 0
    grow(root, 2)
    add_foreign_files(root)
    return root


def copy_of(begun: Path, place: Path) -> Path:
    """The project in the same place as before: records hold the addresses of tables."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(begun, place)
    return place


@pytest.mark.timeout(7200)
def test_after_any_fault_the_next_run_ends_as_if_there_had_been_none(
    tmp_path: Path, begun: Path, nursery: Nursery
) -> None:
    untouched = tmp_path / "untouched"
    shutil.copytree(begun, untouched)
    end = nursery.run(begun, "datafusion")
    assert end.status == 0
    expected, expected_versions = tables(begun), versions(begun)
    assert wrong_files(begun) == []
    faults = [
        Fault(number=number, moment=moment)
        for number in range(len(end.operations))
        for moment in Moment
    ]
    tried = faults[::EVERY]
    hit = 0
    for fault in tried:
        copy_of(untouched, begun)
        hit += nursery.run(begun, "datafusion", fault).status != 0
        what = f"{fault.moment} {end.operations[fault.number]}"
        assert nursery.run(begun, "datafusion").status == 0, what
        assert tables(begun) == expected, what
        assert versions(begun) == expected_versions, what
        assert wrong_files(begun) == [], what
        assert nursery.run(begun, "datafusion").status == 0, what
        assert versions(begun) == expected_versions, f"{what}: the run after that was no skip"
    _LOGGER.info(
        "%d faults at %d operations, %d of them ended the run", len(tried), len(end.operations), hit
    )
    assert hit


SPARK_EVERY = int(os.environ.get("HEADRACE_SPARK_FAULT_STEP", "41"))


@pytest.mark.timeout(7200)
def test_after_any_fault_on_spark_the_next_run_ends_as_if_there_had_been_none(
    tmp_path: Path, spark: object
) -> None:
    root = write_project(tmp_path / "shop")
    Project.load(root).run(engine="spark", session=spark).check()
    grow(root, 2)
    add_foreign_files(root)
    untouched = tmp_path / "untouched"
    shutil.copytree(root, untouched)
    numbered = Faults()
    with injected(numbered):
        Project.load(root).run(engine="spark", session=spark).check()
    expected, expected_versions = tables(root), versions(root)
    faults = [
        Fault(number=number, moment=moment)
        for number in range(len(numbered.operations))
        for moment in (Moment.BEFORE, Moment.AFTER)
    ]
    tried = faults[::SPARK_EVERY]
    for fault in tried:
        copy_of(untouched, root)
        what = f"{fault.moment} {numbered.operations[fault.number]}"
        try:
            with injected(Faults(fault)):
                Project.load(root).run(engine="spark", session=spark).check()
        except Exception as error:  # noqa: BLE001  (a fault may come out as anything)
            _LOGGER.info("%s: %s", what, error)
        Project.load(root).run(engine="spark", session=spark).check()
        assert tables(root) == expected, what
        assert versions(root) == expected_versions, what
        assert wrong_files(root) == [], what
    _LOGGER.info("%d faults at %d operations on Spark", len(tried), len(numbered.operations))
