"""Pipelines with sources, outputs, staging tables and records in a store, on DataFusion."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from headrace.errors import InvalidProjectError, RunInProgressError
from headrace.pipeline import Project
from headrace.pipeline.runs.run_record import RunRecord, RunStatus, ViewStatus
from tests.emulator.place import Place
from tests.emulator.relay import relayed
from tests.pipeline.faults.injection import Fault, Faults, Moment, injected
from tests.pipeline.running.remote_project import (
    AFTER_MORE,
    APPENDED,
    APPENDED_TWICE,
    MORE,
    VIEWS,
    RemoteProject,
)

EVERY = os.environ.get("HEADRACE_FAULTS", "")
"""`all` for every write; otherwise a sample."""


@pytest.fixture
def project(remote: Place, tmp_path: Path) -> RemoteProject:
    return RemoteProject(remote, tmp_path / "project", prefix=f"pipe/{uuid4().hex}")


def test_every_way_of_writing_works_in_a_store(project: RemoteProject) -> None:
    """One test for all write modes, because most of the time goes into runs."""
    project.run().check()
    again = project.run()
    assert (again.count(ViewStatus.SKIPPED), again.count(ViewStatus.RAN)) == (len(VIEWS), 0)
    project.write_source(MORE)
    project.run().check()
    assert project.rows() == AFTER_MORE | {"log": APPENDED_TWICE}
    assert project.leftovers() == []
    opened = Project.load(project.folder)
    assert [run.status for run in opened.runs()] == [RunStatus.SUCCEEDED] * 3
    opened.replay(engine="datafusion").check()
    store = project.place.store(project.prefix)
    objects = [listed.path for listed in store.list_tree("")]
    assert len(objects) > 20
    assert [path for path in objects if "/replays/" in path] == []
    assert [path for path in objects if project.place.secret.encode() in store.read(path)] == []
    assert {file.name for file in project.folder.iterdir()} == {"views", "headrace.toml", "lake"}
    vacuumed = opened.vacuum(retention_hours=0)
    assert [table.files for table in vacuumed if table.table.endswith("/total")] == [()]
    removed = opened.vacuum(retention_hours=0, keep_pins=False, dry_run=False)
    assert [len(table.files) for table in removed if table.table.endswith("/total")] == [1]
    assert project.rows() == AFTER_MORE | {"log": APPENDED_TWICE}


@pytest.mark.parametrize("moment", [Moment.BEFORE, Moment.AFTER])
def test_after_a_fault_the_next_run_ends_as_if_there_had_been_none(
    s3: Place, tmp_path: Path, moment: Moment
) -> None:
    """Try a sample of the faults: each takes two runs."""
    views = {name: VIEWS[name] for name in ("log", "kept", "total")}

    def fresh(name: str) -> RemoteProject:
        prefix = f"fault/{uuid4().hex}"
        return RemoteProject(s3, tmp_path / name, prefix=prefix, views=views)

    undisturbed = Faults()
    with injected(undisturbed):
        fresh("calm").run().check()
    writes = [
        number
        for number, name in enumerate(undisturbed.operations)
        if ".put " in name or ".persist" in name or ".delete" in name
    ]
    assert len(writes) > 20
    step = 1 if EVERY == "all" else len(writes) // 2
    for number in writes[step // 2 :: step]:
        project = fresh(f"fault{number}")
        faults = Faults(Fault(number=number, moment=moment))
        with injected(faults), suppress(Exception):  # a fault may surface as any error
            project.run().check()
        project.run().check()
        contents = {
            v: sorted(map(repr, project.table(v).snapshot().rows().read_all().to_pylist()))
            for v in ("log", "total")
        }
        assert contents == {"log": sorted(APPENDED), "total": ["{'total': 10}"]}


def test_lost_responses_duplicate_nothing(s3: Place, tmp_path: Path) -> None:
    with relayed(s3.endpoint, every=3) as relay:
        place = Place("s3", s3.root, {**s3.options, "endpoint_url": relay.endpoint}, relay.endpoint)
        project = RemoteProject(place, tmp_path / "project", prefix=f"lost/{uuid4().hex}")
        project.run().check()
        lost_responses = relay.lost
    assert lost_responses > 10
    project.place = s3
    assert project.rows()["log"] == sorted(APPENDED)
    assert project.leftovers() == []


@pytest.mark.parametrize("is_killed", [False, True] if EVERY == "all" else [False])
def test_a_process_that_lost_its_lease_cannot_commit(
    s3: Place, tmp_path: Path, *, is_killed: bool
) -> None:
    """The other process stops between its last check and the creation of its commit.

    The test takes two seconds to start that process, and two for its lease to expire.
    """
    views = {"log": VIEWS["log"]}
    project = RemoteProject(
        s3, tmp_path / "project", prefix=f"lease/{uuid4().hex}", lease_seconds=2, views=views
    )
    command = [sys.executable, "-m", "tests.pipeline.running.remote_project", str(project.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        _, status = os.waitpid(other.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        with pytest.raises(RunInProgressError, match=f"process {other.pid} on"):
            project.run()
        if is_killed:
            other.kill()
        _run_when_the_lease_has_expired(project).check()
        other.send_signal(signal.SIGCONT)
        errors, _ = other.communicate(timeout=120)
    assert errors.strip() == ("" if is_killed else "LEASE_LOST")
    project.run().check()
    log = project.table("log").snapshot().rows().read_all()
    assert sorted(map(repr, log.to_pylist())) == sorted(APPENDED)
    assert project.run().count(ViewStatus.RAN) == 0


def _run_when_the_lease_has_expired(project: RemoteProject) -> RunRecord:
    """Run without the view whose commit the other process is about to create."""
    until = time.monotonic() + 60
    while True:
        try:
            return project.run(exclude=["log"])
        except RunInProgressError:
            assert time.monotonic() < until
            time.sleep(0.2)


@pytest.mark.parametrize("key", ["outputs", "state"])
@pytest.mark.parametrize("address", ["https://host/project", "ftp://host/project"])
def test_a_folder_where_nothing_can_be_written_is_refused(
    key: str, address: str, tmp_path: Path
) -> None:
    (tmp_path / "headrace.toml").write_text(f'[project]\nname = "r"\n{key} = "{address}"\n')
    with pytest.raises(InvalidProjectError, match=key):
        Project.load(tmp_path)
