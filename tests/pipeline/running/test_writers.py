"""Many processes commit to one output: each version is attributed to the process that made it."""

import subprocess
import sys
from pathlib import Path

import pytest

from headrace import Table
from headrace.commit.log import read_commit
from headrace.pipeline.output.note import decode_note
from headrace.storage.local import LocalStore
from tests.pipeline.running.output import Output, rows

OURS, THEIRS, EACH = 8, 2, 6
WRITER = "tests.pipeline.running.writer"


@pytest.mark.timeout(300)
def test_versions_are_attributed_to_the_writers_that_made_them(tmp_path: Path) -> None:
    Output(tmp_path / "t").write(rows((0, "a", "first")))
    names = [("ours", f"w{n}") for n in range(OURS)] + [("theirs", f"f{n}") for n in range(THEIRS)]
    processes = {
        name: subprocess.Popen(
            [
                sys.executable,
                "-m",
                WRITER,
                kind,
                tmp_path,
                name,
                str(EACH),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for kind, name in names
    }
    versions = {name: process.communicate()[0].split() for name, process in processes.items()}
    assert all(process.returncode == 0 for process in processes.values())
    store = LocalStore(str(tmp_path / "t"))
    for kind, name in names:
        for turn, version in enumerate(versions[name]) if kind == "ours" else ():
            information = read_commit(store, int(version))
            note = None if information is None else decode_note(information.note)
            assert note is not None
            assert note.run == f"{name}-{turn}"
    ours = [int(version) for kind, name in names if kind == "ours" for version in versions[name]]
    assert len(set(ours)) == OURS * EACH
    snapshot = Table(tmp_path / "t").snapshot()
    assert snapshot.version == (OURS + THEIRS) * EACH
    written = snapshot.rows().read_all().to_pylist()
    expected = [(turn, name) for _, name in names for turn in range(EACH)] + [(0, "first")]
    assert sorted((row["k"], row["v"]) for row in written) == sorted(expected)
