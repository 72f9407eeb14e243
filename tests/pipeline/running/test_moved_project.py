"""A moved or copied project uses its own tables, and leaves the original ones alone."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from headrace.pipeline import Project, RunRecord
from headrace.pipeline.output.staging import Journal
from headrace.pipeline.runs.run_record import ViewStatus
from headrace.storage.local import LocalStore
from headrace.table import Table
from tests.pipeline.embedded import run_checked
from tests.pipeline.shop import edit

VIEWS = {
    "doubled": "-- @materialise output\nSELECT id, v * 2 AS v FROM t\n",
    "total": "-- @materialise output\nSELECT sum(v) AS v FROM doubled\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project that has run once."""
    project = tmp_path / "project"
    (project / "views").mkdir(parents=True)
    write_deltalake(project / "lake", pa.table({"id": [1, 2, 3], "v": [10, 20, 30]}))
    manifest = '[project]\nname = "p"\noutputs = "output"\n[sources.t]\nuri = "lake"\n'
    (project / "headrace.toml").write_text(manifest)
    for name, text in VIEWS.items():
        (project / "views" / f"{name}.sql").write_text(text)
    run_checked(project)
    return project


def statuses(record: RunRecord) -> set[ViewStatus]:
    return {view.status for view in record.views.values()}


def values(table: Path) -> list[int]:
    return sorted(Table(table).snapshot().rows().read_all()["v"].to_pylist())


def test_outputs_are_written_again_to_another_folder(root: Path) -> None:
    edit(root / "headrace.toml", 'outputs = "output"', 'outputs = "elsewhere"')
    assert statuses(run_checked(root)) == {ViewStatus.RAN}
    assert values(root / "elsewhere" / "total") == [120]


def test_outputs_that_moved_along_are_still_valid(root: Path) -> None:
    edit(root / "headrace.toml", 'outputs = "output"', 'outputs = "elsewhere"')
    (root / "output").rename(root / "elsewhere")
    assert statuses(run_checked(root)) == {ViewStatus.SKIPPED}


def test_a_copy_skips_by_its_own_tables(root: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(root, tmp_path / "copy")
    assert statuses(run_checked(copy)) == {ViewStatus.SKIPPED}
    shutil.rmtree(copy / "output")
    assert statuses(run_checked(copy)) == {ViewStatus.RAN}
    assert values(copy / "output" / "total") == [120]


def test_a_copy_reads_its_own_tables(root: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(root, tmp_path / "copy")
    shutil.rmtree(root)
    edit(copy / "views" / "total.sql", "sum(v)", "max(v)")
    assert run_checked(copy).views["total"].status is ViewStatus.RAN
    assert values(copy / "output" / "total") == [60]


def test_a_moved_project_keeps_what_its_runs_need(root: Path, tmp_path: Path) -> None:
    edit(root / "views" / "doubled.sql", "v * 2", "v * 3")
    run_checked(root)
    moved = root.rename(tmp_path / "moved")
    project = Project.load(moved)
    vacuumed = project.vacuum(retention_hours=0, dry_run=False)
    assert [table.files for table in vacuumed] == [(), ()]
    project.replay(project.runs()[-1].id, engine="datafusion").check()


@contextmanager
def copied_while_it_runs(root: Path, copy: Path) -> Iterator[Path]:
    """Yield the staging of a run in progress, with the project copied in the middle of it."""
    journal = Journal(LocalStore(str(root / ".headrace")))
    with journal.open(root / "output" / "total", run="live", view="total") as staging:
        folder = staging.folder.path
        folder.mkdir()
        (folder / "part-0.parquet").write_bytes(b"staged")
        shutil.copytree(root, copy)
        yield folder


def test_a_copy_deletes_its_own_copy_of_a_live_runs_staging(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with copied_while_it_runs(root, copy) as staged:
        run_checked(copy)
        assert (staged / "part-0.parquet").is_file()
    assert not (copy / "output" / "total" / staged.name).exists()
    run_checked(copy)
    assert list((copy / ".headrace" / "intents").iterdir()) == []


def test_a_copy_that_shares_the_outputs_keeps_a_live_runs_staging(
    root: Path, tmp_path: Path
) -> None:
    edit(root / "headrace.toml", 'outputs = "output"', f'outputs = "{root / "output"}"')
    copy = tmp_path / "copy"
    with copied_while_it_runs(root, copy) as staged:
        run_checked(copy)
        assert (staged / "part-0.parquet").is_file()
