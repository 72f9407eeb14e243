"""Staging: the leftovers of a run that ended early are deleted, and nothing else is."""

import shutil
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from headrace import Table
from headrace.pipeline.output.staging import LATE_MS, Intent, Journal
from headrace.storage.local import LocalStore
from tests.pipeline.running.output import Output, as_rows, rows


class DiedError(Exception):
    """Ends a block before it is finished."""


def journal(tmp_path: Path, *, after_ms: int = 0) -> Journal:
    """Return the journal, with a clock that is ahead."""
    store = LocalStore(str(tmp_path / "state"))
    return Journal(store, clock_ms=lambda: time.time_ns() // 1_000_000 + after_ms)


def intents(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "state" / "intents").glob("*.json"))


def leave_open(tmp_path: Path, table: Path, run: str) -> Path:
    """Stage a file for a run, and leave everything as a killed process does."""
    left = tmp_path / "left"
    with suppress(DiedError), journal(tmp_path).open(table, run=run, view="v") as staging:
        folder = staging.folder.path
        folder.mkdir(parents=True)
        pq.write_table(rows((9, "a", "x")), folder / "part-0.parquet")
        shutil.copytree(tmp_path / "state", left / "state")
        shutil.copytree(folder, left / "folder")
        raise DiedError
    shutil.copytree(left / "state", tmp_path / "state", dirs_exist_ok=True)
    shutil.move(left / "folder", folder)
    shutil.rmtree(left)
    return folder


def test_the_next_run_deletes_what_a_dead_run_staged(tmp_path: Path) -> None:
    output = Output(tmp_path / "t")
    output.write(rows((1, "a", "x")))
    folder = leave_open(tmp_path, tmp_path / "t", "dead")
    assert [intent.run for intent in journal(tmp_path).recover(folders=())] == ["dead"]
    assert not folder.exists()
    journal(tmp_path, after_ms=LATE_MS).recover(folders=())
    assert intents(tmp_path) == []
    assert output.rows() == as_rows((1, "a", "x"))


def test_files_written_late_by_tasks_of_a_dead_run_are_deleted_too(tmp_path: Path) -> None:
    folder = leave_open(tmp_path, tmp_path / "t", "dead")
    journal(tmp_path).recover(folders=())
    folder.mkdir(parents=True)
    pq.write_table(rows((9, "a", "x")), folder / "late.parquet")
    journal(tmp_path).recover(folders=())
    assert not folder.exists()


def test_late_files_are_deleted_even_if_an_earlier_run_found_none(tmp_path: Path) -> None:
    folder = leave_open(tmp_path, tmp_path / "t", "dead")
    for _ in range(3):
        journal(tmp_path, after_ms=LATE_MS - 60_000).recover(folders=())
    folder.mkdir(parents=True)
    pq.write_table(rows((9, "a", "x")), folder / "late.parquet")
    journal(tmp_path, after_ms=2 * LATE_MS).recover(folders=())
    assert not folder.exists()
    assert intents(tmp_path) == []


def test_a_commit_with_an_open_intent_keeps_its_files(tmp_path: Path) -> None:
    output = Output(tmp_path / "t")
    open_intents: list[str] = []
    original = Journal._forget
    try:
        Journal._forget = lambda self, path: open_intents.append(path)  # type: ignore[method-assign] # noqa: ARG005
        output.write(rows((1, "a", "x")))
    finally:
        Journal._forget = original  # type: ignore[method-assign]
    assert len(intents(tmp_path)) == 1
    assert journal(tmp_path).recover(folders=()) == []
    assert intents(tmp_path) == []
    assert output.rows() == as_rows((1, "a", "x"))


@pytest.mark.parametrize("folder", ["t/..", "t/day=1", "other/run-x-12345678"])
def test_an_intent_that_no_run_has_written_deletes_nothing(tmp_path: Path, folder: str) -> None:
    output = Output(tmp_path / "t")
    output.write(rows((1, "a", "x")))
    for place in (tmp_path / "t" / "day=1", tmp_path / "other" / "run-x-12345678"):
        place.mkdir(parents=True)
        (place / "precious.parquet").touch()
    files = {*tmp_path.rglob("*.parquet")}
    forged = {"run": "x", "view": "v", "table": str(tmp_path / "t"), "commit_id": "x"}
    content = msgspec.json.encode({**forged, "folder": str(tmp_path / folder)})
    (tmp_path / "state" / "intents" / "x.json").write_bytes(content)
    journal(tmp_path, after_ms=LATE_MS).recover(folders=())
    assert {*tmp_path.rglob("*.parquet")} == files


def test_files_of_others_are_never_deleted(tmp_path: Path) -> None:
    table = tmp_path / "t"
    output = Output(table, change_feed=True)
    output.write(rows((1, "a", "x"), (2, "a", "y")))
    folder = leave_open(tmp_path, table, "1")
    pq.write_table(rows((8, "a", "x")), table / "not-yet-committed.parquet")
    DeltaTable(table).update({"v": "'z'"}, predicate="k = 1")  # leaves change data files
    journal(tmp_path).recover(folders=())
    assert (table / "not-yet-committed.parquet").exists()
    changes = DeltaTable(table).load_cdf(starting_version=1).read_all()
    assert changes.num_rows == 2
    assert not folder.exists()


def test_two_attempts_of_one_run_never_share_a_folder(tmp_path: Path) -> None:
    folders = {leave_open(tmp_path, tmp_path / "t", "nightly") for _ in range(3)}
    assert len(folders) == 3


def test_intents_of_older_releases_are_settled_by_the_note_of_their_run(tmp_path: Path) -> None:
    table = tmp_path / "t"
    output = Output(table)
    output.write(rows((1, "a", "x")))
    dead = table / "run-dead"
    dead.mkdir()
    pq.write_table(rows((9, "a", "x")), dead / "part-0.parquet")
    committed = next(iter(table.glob("run-1-*")))
    (tmp_path / "state" / "intents").mkdir(exist_ok=True)
    for run, folder in (("dead", dead), ("1", committed)):
        old = {"run": run, "view": "v", "table": str(table), "folder": str(folder), "started_ms": 0}
        (tmp_path / "state" / "intents" / f"{run}-v.json").write_bytes(msgspec.json.encode(old))
    assert [intent.run for intent in journal(tmp_path).recover(folders=())] == ["dead"]
    assert not dead.exists()
    assert output.rows() == as_rows((1, "a", "x"))


def test_files_are_kept_if_the_log_no_longer_shows_whether_they_are_committed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = tmp_path / "t"
    Output(table).write(rows((1, "a", "x")))
    folder = leave_open(tmp_path, table, "dead")
    for _ in range(2):
        write_deltalake(table, rows((2, "b", "y")), mode="append")
    DeltaTable(table).create_checkpoint()
    (table / "_delta_log" / f"{1:020}.json").unlink()
    journal(tmp_path).recover(folders=())
    assert (folder / "part-0.parquet").exists()
    assert "are kept for now" in caplog.text
    assert Table(table).snapshot().version == 2


def test_an_intent_records_the_version_it_started_from(tmp_path: Path) -> None:
    table = tmp_path / "t"
    Output(table).write(rows((1, "a", "x")))
    leave_open(tmp_path, table, "dead")
    intent = msgspec.json.decode(intents(tmp_path)[0].read_bytes(), type=Intent)
    assert (intent.base_version, intent.run) == (0, "dead")
