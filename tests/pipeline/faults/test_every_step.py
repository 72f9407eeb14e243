"""A fault at any operation of a run: the next run ends as if there had been none."""

import hashlib
import logging
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.pipeline import Project
from tests.pipeline.faults.injection import Fault, Faults, Moment, injected
from tests.pipeline.faults.nursery import FAILED, Gateway, Nursery, RunEnd
from tests.pipeline.faults.project import (
    add_foreign_files,
    age_intents,
    grow,
    tables,
    versions,
    write_project,
    wrong_files,
)
from tests.waiting import wait_until

_LOGGER = logging.getLogger(__name__)
EVERY = os.environ.get("HEADRACE_FAULTS", "sample 37")
SPARK_EVERY = os.environ.get("HEADRACE_SPARK_FAULTS", "sample 373")
"""Which faults to try.

`all` tries all of them; `turn N` fails each operation in one of the four ways, so that four turns
cover all; `sample N` tries one in N. A `FIRST:END` suffix restricts the operations, as in
`all 40:80`.
"""

RunOnce = Callable[[Path, Fault | None, str], RunEnd]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as opened:
        yield opened


@pytest.mark.timeout(14400)
def test_after_any_fault_the_next_run_ends_as_if_there_had_been_none(
    tmp_path: Path, nursery: Nursery
) -> None:
    def run(root: Path, fault: Fault | None, _: str) -> RunEnd:
        return nursery.run(root, "datafusion", fault)

    _try_faults(run, tmp_path, which=EVERY)


@pytest.mark.timeout(28800)
def test_after_any_fault_on_spark_the_next_run_ends_as_if_there_had_been_none(
    tmp_path: Path, nursery: Nursery, spark: Any
) -> None:
    """Runs that are killed at a runner step have their own JVM, which dies after them.

    Other killed runs share the JVM of this test, which outlives them; its tasks end by themselves.
    Starting a JVM costs ten times as much as a run.
    """

    def run(root: Path, fault: Fault | None, operation: str) -> RunEnd:
        if fault is None or not fault.moment.is_kill:
            return _run_in_session(root, spark, fault)
        if operation.startswith("runner."):
            return nursery.run(root, "spark", fault)
        return nursery.run(root, "spark", fault, gateway=Gateway.of(spark))

    def wait() -> None:
        nursery.wait_for_orphans()
        _wait_for_jobs(spark)

    _try_faults(run, tmp_path, which=SPARK_EVERY, wait=wait)


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


def _wait_for_jobs(session: Any) -> None:
    """Wait until the JVM has no more jobs of a killed process."""
    tracker = session.sparkContext.statusTracker()
    wait_until(lambda: not tracker.getActiveJobsIds(), within_s=300)


def _try_faults(
    run: RunOnce, place: Path, *, which: str, wait: Callable[[], None] = lambda: None
) -> None:
    """Compare the tables after each fault and a second run with those of an undisturbed run.

    Args:
        run: Runs the project in a folder, with a fault at an operation.
        place: A folder to work in.
        which: Which faults to try.
        wait: Waits until no killed run writes any more.
    """
    root = write_project(place / "shop")
    assert run(root, None, "").status == 0
    grow(root, 2)
    add_foreign_files(root)
    untouched = place / "untouched"
    shutil.copytree(root, untouched)
    before = _contents(root)
    undisturbed = run(root, None, "")
    assert undisturbed.status == 0
    operations = undisturbed.operations
    expected, expected_versions = tables(root), versions(root)
    assert wrong_files(root) == []
    counts: Counter[str] = Counter()
    for fault in _choose(which, len(operations)):
        operation = operations[fault.number]
        label = f"{fault.number}: {fault.moment} {operation}"
        _copy_back(untouched, root)
        counts[fault.moment] += 1
        counts["ended the run"] += run(root, fault, operation).status != 0
        if _contents(root) == before:  # so the next run would be the undisturbed one
            counts["left no trace"] += 1
            _LOGGER.info("%s: no trace", label)
            continue
        assert run(root, None, "").status == 0, label
        assert tables(root) == expected, label
        assert versions(root) == expected_versions, label
        wait()
        age_intents(root)
        assert run(root, None, "").status == 0, label
        assert versions(root) == expected_versions, f"{label}: the run after that did not skip"
        assert wrong_files(root) == [], label
        counts["repaired"] += 1
        _LOGGER.info("%s: repaired", label)
    tried = sum(counts[moment] for moment in Moment)
    _LOGGER.info("%d faults at %d operations passed: %s", tried, len(operations), dict(counts))
    assert counts["ended the run"]


def _choose(which: str, operations: int) -> list[Fault]:
    kind, *arguments = which.split()
    limits = arguments.pop() if arguments and ":" in arguments[-1] else ":"
    bounds = slice(*(int(limit) if limit else None for limit in limits.split(":")))
    numbers = range(operations)[bounds]
    faults = [Fault(number=n, moment=moment) for n in numbers for moment in Moment]
    match kind, [int(argument) for argument in arguments]:
        case "all", []:
            return faults
        case "sample", [step]:
            return faults[::step]
        case "turn", [turn]:
            moments = list(Moment)
            return [f for f in faults if f.moment is moments[(f.number + turn) % 4]]
        case _:
            pytest.fail(f"{which!r} names no faults")


def _contents(root: Path) -> str:
    """Return a digest of all names and bytes, except the lock, which holds a process id."""
    digest = hashlib.sha256()
    for file in sorted(set(root.rglob("*")) - {root / ".headrace" / "lock"}):
        content = file.read_bytes() if file.is_file() else b""
        digest.update(f"{file.relative_to(root)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _copy_back(untouched: Path, root: Path) -> None:
    """Reset the project in place, because records hold the addresses of tables."""
    shutil.rmtree(root)
    shutil.copytree(untouched, root)
