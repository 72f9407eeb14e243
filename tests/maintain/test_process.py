"""Many processes that commit at once, and one that is killed at each store operation.

`HEADRACE_SOAK` runs eight processes with 100 commits each and kills at every operation; otherwise
the tests run a small sample.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.maintain.writer import StateWriter
from headrace.storage.local import LocalStore
from tests.maintain import oracle
from tests.maintain.table import PLAIN, entry, metadata, objects_of

IS_SOAK = bool(os.environ.get("HEADRACE_SOAK"))
PROCESSES, COMMITS = (8, 100) if IS_SOAK else (3, 8)
STEP = 1 if IS_SOAK else 7
MOST_WAIT_S = 6000 if IS_SOAK else 1200
"""Eight processes take turns; on a busy machine with slow fsync that takes half an hour."""


def child(table: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.maintain.child", str(table), *arguments]


def make(table: Path) -> None:
    writer = StateWriter(LocalStore(str(table)), settings=PLAIN)
    writer.commit([entry(f"f{n}") for n in range(3)], metadata=metadata())
    writer.commit([entry("g")], ["f2"])


def test_commits_of_many_processes_have_no_gap_and_no_duplicate(tmp_path: Path) -> None:
    make(tmp_path)
    running = [
        subprocess.Popen(child(tmp_path, f"p{number}:{COMMITS}")) for number in range(PROCESSES)
    ]
    assert [process.wait(MOST_WAIT_S) for process in running] == [0] * PROCESSES
    stored = objects_of(tmp_path)
    total = PROCESSES * COMMITS
    assert oracle.states(stored) == list(range(1, total + 3))
    expected = {f"p{p}-{n}" for p in range(PROCESSES) for n in range(COMMITS)}
    assert set(oracle.read(stored).files) == expected | {"f0", "f1", "g"}
    for version in range(3, total + 3):
        before, after = oracle.read(stored, version - 1), oracle.read(stored, version)
        assert len(after.files.keys() - before.files.keys()) == 1
    ids = {oracle.record_of(stored, version)["commitId"] for version in range(1, total + 3)}
    assert len(ids) == total + 2


@pytest.mark.parametrize("work", ["commit", "compact", "clean"])
def test_a_process_killed_at_any_operation_leaves_an_intact_table(
    work: str, tmp_path: Path
) -> None:
    origin = tmp_path / "origin"
    make(origin)
    before = {"f0": 10, "f1": 10, "g": 10}
    after = {"f1": 10, "g": 10, "new": 5} if work == "commit" else before
    kills = 0
    for at in range(1, 200, STEP):
        whens = ("before", "after") if IS_SOAK or at % 2 else ("after",)
        codes = set()
        for when in whens:
            table = Path(shutil.copytree(origin, tmp_path / f"{work}-{at}-{when}"))
            code = subprocess.run(child(table, work, str(at), when), check=False).returncode
            codes.add(code)
            kills += code == -signal.SIGKILL
            stored = objects_of(table)
            assert oracle.read(stored).files in (before, after)
            for version in oracle.states(stored):
                oracle.read(stored, version)
            # The next process continues as if nothing had happened.
            result = StateWriter(LocalStore(str(table)), settings=PLAIN).commit([entry("next")])
            assert result.version == oracle.states(objects_of(table))[-1]
            assert "next" in oracle.read(objects_of(table)).files
        if codes == {0}:
            break
    else:
        pytest.fail("it never came to its end")
    assert kills > 0
