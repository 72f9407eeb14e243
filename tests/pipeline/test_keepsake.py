"""A project of an earlier release, with partitioned records and bundles of format 1."""

import shutil
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from headrace import Table
from headrace.errors import PinnedFilesChangedError
from headrace.pipeline import Project, RunStatus, ViewStatus
from tests.pipeline.embedded import run
from tests.pipeline.fixtures.keepsake import append_orders
from tests.pipeline.shop import edit

ARCHIVE = Path(__file__).parent / "fixtures" / "keepsake.tar.xz"
MADE_AT = "/srv/keepsake"
OUTPUTS = ("by_city", "log", "latest", "top", "clock")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keepsake")
    with tarfile.open(ARCHIVE) as opened:
        opened.extractall(folder, filter="data")
    return folder / "keepsake"


@pytest.fixture
def keepsake(archive: Path, tmp_path: Path) -> Path:
    """Unpack the project at another place; records name outputs by absolute addresses.

    Its appending view now has to declare that it means to add whole results.
    """
    root = tmp_path / "keepsake"
    shutil.copytree(archive, root)
    for log in (root / ".headrace" / "store").glob("*/_delta_log/*.json"):
        text = log.read_text()
        for file in log.parents[1].rglob("*.parquet"):
            before = file.stat().st_size if MADE_AT.encode() in file.read_bytes() else 0
            if before and file.name in text:
                after = move_records(file, root)
                text = text.replace(f'"size":{before}', f'"size":{after}')
        log.write_text(text)
    edit(root / "views" / "log.sql", "@write append", "@write append\n-- @append all")
    return root


def move_records(file: Path, root: Path) -> int:
    rows = pq.ParquetFile(file).read()
    texts = [str(value).replace(MADE_AT, str(root)) for value in rows["record"].to_pylist()]
    place = rows.schema.get_field_index("record")
    moved = rows.set_column(place, rows.schema.field(place), pa.array(texts))
    pq.write_table(moved, file, compression="zstd")
    return file.stat().st_size


def outputs(root: Path) -> dict[str, list[str]]:
    return {
        name: sorted(
            map(str, Table(root / "output" / name).snapshot().rows().read_all().to_pylist())
        )
        for name in OUTPUTS
        if name != "clock"
    }


def recorded(root: Path) -> dict[str, int]:
    """Return how many rows deltalake finds in each table of records."""
    tables = (root / ".headrace" / "store").iterdir()
    return {
        table.name: DeltaTable(table).to_pyarrow_table().num_rows
        for table in tables
        if table.name in {"runs", "views", "plans"}
    }


def test_its_runs_are_listed_and_shown(keepsake: Path) -> None:
    project = Project.load(keepsake)
    replay, *ids = sorted((run.id for run in project.runs()), key=lambda name: name.isalpha())
    assert sorted(ids) == ["failed", "first", "last", "second", "third"]
    assert project.show(replay).replay_of == "third"
    failed = project.show("failed")
    assert (failed.status, failed.views["top"].status) == (RunStatus.FAILED, ViewStatus.FAILED)
    assert list(project.show("first").views) == list(project.store.bundle(failed.bundle).order)
    assert project.store.plans(project.show("first"), "by_city")


def test_two_of_its_runs_are_compared_and_the_new_file_is_named(keepsake: Path) -> None:
    views = {view.view: view for view in Project.load(keepsake).diff("first", "third").views}
    (cause,) = views["latest"].causes
    assert "source orders: 1 file added: day=3/" in cause.text


def test_its_runs_are_replayed_except_for_functions_that_cannot_be_compared(keepsake: Path) -> None:
    project = Project.load(keepsake)
    replays = {"first": project.replay("first")}
    run(keepsake)
    replays["third"] = project.replay("third")
    replays["first again"] = project.replay("first")
    for name, replay in replays.items():
        equal = {view.view for view in replay.views.values() if view.status is ViewStatus.RAN}
        assert equal - {"clock"} == {"big", "latest", "log"}, name  # the clock has another day
        failure = replay.views["by_city"].failure
        assert failure is not None
        assert "doubled: its fingerprint was made by an older release" in failure.text


@pytest.mark.parametrize("after_a_run", [False, True], ids=["at once", "after a run"])
def test_a_file_that_was_altered_since_an_old_run_is_named(
    keepsake: Path, *, after_a_run: bool
) -> None:
    if after_a_run:
        run(keepsake, full_refresh=True)
    (rates,) = (keepsake / "lake" / "rates").iterdir()
    content = bytearray(rates.read_bytes())
    content[len(content) // 3] ^= 1
    rates.write_bytes(content)
    with pytest.raises(PinnedFilesChangedError, match=r"a\.parquet was altered: its content"):
        Project.load(keepsake).replay("first")


def test_the_next_run_says_why_it_runs_and_the_one_after_it_skips(keepsake: Path) -> None:
    before = outputs(keepsake)
    record = run(keepsake)
    assert record.status is RunStatus.SUCCEEDED
    assert outputs(keepsake) == before
    assert "the key format" in record.views["latest"].reason
    assert "not appended twice" in record.views["log"].reason
    again = run(keepsake)
    assert {again.views[name].status for name in ("latest", "log")} == {ViewStatus.SKIPPED}
    assert outputs(keepsake) == before


def test_new_rows_reach_the_outputs_and_their_file_is_named(keepsake: Path) -> None:
    run(keepsake)
    append_orders(keepsake, day=4, ids=[1, 20], amount=1000)
    record = run(keepsake)
    assert record.status is RunStatus.SUCCEEDED
    assert "1 file added: day=4/" in record.views["latest"].reason
    assert record.views["log"].status is ViewStatus.SKIPPED
    assert "{'id': 20, 'amount': 1020}" in outputs(keepsake)["latest"]
    assert "{'id': 1, 'amount': 1001}" in outputs(keepsake)["latest"]


def test_its_records_are_rewritten_without_partitions_or_loss(keepsake: Path) -> None:
    before = recorded(keepsake)
    records = [run(keepsake, full_refresh=True), run(keepsake)]
    after = recorded(keepsake)
    assert after["runs"] == before["runs"] + 2 * len(records)
    assert after["views"] == before["views"] + sum(len(record.views) for record in records)
    for table in ("runs", "views", "units", "plans"):
        assert not Table(keepsake / ".headrace" / "store" / table).snapshot().partition_columns
    assert len(Project.load(keepsake).runs()) == 6 + len(records)
