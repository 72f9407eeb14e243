"""Embedded replays: equal if nothing changed, and a clear explanation if something did."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from headrace.errors import (
    CorruptLogError,
    FunctionChangedError,
    PinnedFilesChangedError,
    ReplayDiffersError,
)
from headrace.pipeline import Project, RunKind, RunStatus
from headrace.pipeline.execution.vacuum import Vacuumed
from tests.pipeline.embedded import rows_digest, run
from tests.pipeline.shop import append_orders, append_weather, edit

ENGINE = "datafusion"


def test_a_replay_after_many_commits_gives_equal_digests(shop: Path) -> None:
    then = run(shop)
    for day in range(2, 12):
        append_weather(shop, day=day)
        append_orders(shop, year=2024, count=3)
    run(shop)
    now = Project.load(shop).replay(then.id)
    assert (now.kind, now.status, now.replay_of) == (RunKind.REPLAY, RunStatus.SUCCEEDED, then.id)
    for name, view in now.views.items():
        assert rows_digest(view) == rows_digest(then.views[name])
        assert view.started_ms is not None


def test_a_replay_does_not_change_the_project(shop: Path) -> None:
    then = run(shop)
    append_weather(shop, day=2)
    run(shop)
    versions = {p.name: DeltaTable(p).version() for p in (shop / "output").iterdir()}
    Project.load(shop).replay(then.id)
    assert versions == {p.name: DeltaTable(p).version() for p in (shop / "output").iterdir()}
    assert not list((shop / ".headrace" / "replays").iterdir())
    assert {view.status.value for view in run(shop).views.values()} == {"skipped"}


def test_a_view_that_was_skipped_is_replayed_too(shop: Path) -> None:
    run(shop)
    skipped = run(shop)
    now = Project.load(shop).replay(skipped.id)
    assert {view.status.value for view in now.views.values()} == {"ran"}


def test_an_altered_data_file_is_named(shop: Path) -> None:
    then = run(shop)
    file = next((shop / "lake" / "weather").glob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(PinnedFilesChangedError, match=file.name) as caught:
        Project.load(shop).replay(then.id)
    assert caught.value.view == "forecast"
    assert "altered" in str(caught.value)


def test_a_file_that_was_only_touched_does_not_fail_a_replay(shop: Path) -> None:
    then = run(shop)
    next((shop / "lake" / "weather").glob("*.parquet")).touch()
    assert Project.load(shop).replay(then.id).status is RunStatus.SUCCEEDED


def test_a_run_that_recorded_no_times_of_files_can_be_replayed(shop: Path) -> None:
    then = run(shop)
    for file in (shop / ".headrace" / "files").glob("*.parquet"):
        files = pq.read_table(file)
        place = files.schema.get_field_index("stamp")
        blank = pa.nulls(files.num_rows, files.schema.field(place).type)
        pq.write_table(files.set_column(place, files.schema.field(place), blank), file)
    assert Project.load(shop).replay(then.id).status is RunStatus.SUCCEEDED


def vacuum(root: Path, *, keep_pins: bool) -> dict[str, Vacuumed]:
    vacuumed = Project.load(root).vacuum(
        keep_pins=keep_pins, with_sources=True, retention_hours=0, dry_run=False
    )
    return {Path(table.table).name: table for table in vacuumed}


def rewrite_weather(root: Path) -> None:
    DeltaTable(root / "lake" / "weather").update(updates={"degrees": "degrees + 1"})


def test_after_a_plain_vacuum_a_replay_names_the_missing_files(shop: Path) -> None:
    then = run(shop)
    rewrite_weather(shop)
    removed = vacuum(shop, keep_pins=False)["weather"].files
    with pytest.raises(PinnedFilesChangedError, match="is gone") as caught:
        Project.load(shop).replay(then.id)
    assert all(any(file in problem for problem in caught.value.files) for file in removed)


def test_a_vacuum_that_keeps_pins_leaves_every_run_to_be_replayed(shop: Path) -> None:
    runs = [run(shop)]
    for _ in range(2):
        rewrite_weather(shop)
        edit(shop / "views" / "top.sql", "total > ", "1 = 1 AND total > ")
        runs.append(run(shop))
    rewrite_weather(shop)
    rewrite_weather(shop)
    vacuumed = vacuum(shop, keep_pins=True)
    assert vacuumed["weather"].kept_versions == (0, 1, 2)
    assert len(vacuumed["weather"].files) == 1
    for record in runs:
        assert Project.load(shop).replay(record.id).status is RunStatus.SUCCEEDED


def test_a_vacuum_keeps_what_runs_read_under_another_name_of_the_table(shop: Path) -> None:
    (shop / "lake" / "link").symlink_to("weather")
    manifest = shop / "headrace.toml"
    manifest.write_text(manifest.read_text() + '\n[sources.linked]\nuri = "lake/link"\n')
    then = run(shop)
    rewrite_weather(shop)
    vacuum(shop, keep_pins=True)
    assert Project.load(shop).replay(then.id).status is RunStatus.SUCCEEDED


def test_a_vacuum_removes_nothing_while_a_version_that_is_kept_cannot_be_read(shop: Path) -> None:
    run(shop)
    rewrite_weather(shop)
    weather = shop / "lake" / "weather"
    before = sorted(weather.glob("*.parquet"))
    commit = weather / "_delta_log" / f"{0:020}.json"
    text = commit.read_text()
    commit.write_text("{" + text)
    with pytest.raises(CorruptLogError):
        vacuum(shop, keep_pins=True)
    assert sorted(weather.glob("*.parquet")) == before
    commit.write_text(text)
    assert vacuum(shop, keep_pins=True)["weather"].kept_versions == (0,)


def test_a_vacuum_only_lists_files_by_default(shop: Path) -> None:
    run(shop)
    rewrite_weather(shop)
    vacuumed = Project.load(shop).vacuum(keep_pins=False, with_sources=True, retention_hours=0)
    files = next(table.files for table in vacuumed if table.table.endswith("weather"))
    assert all((shop / "lake" / "weather" / file).exists() for file in files)


def test_a_function_that_changed_stops_a_replay_before_it_computes(shop: Path) -> None:
    then = run(shop)
    edit(shop / "functions.py", "FACTOR = 3", "FACTOR = 4")
    now = Project.load(shop).replay(then.id)
    failure = now.views["revenue"].failure
    assert failure is not None
    assert failure.code == FunctionChangedError.code


def test_a_volatile_view_that_returns_other_rows_is_named(shop: Path) -> None:
    text = "-- @materialise output\nSELECT day, random() AS r FROM weather\n"
    (shop / "views" / "dice.sql").write_text(text)
    then = run(shop)
    now = Project.load(shop).replay(then.id)
    assert {n: v.status.value for n, v in now.views.items() if v.status.value != "ran"} == {
        "dice": "failed"
    }
    with pytest.raises(ReplayDiffersError, match="view dice: it returns other rows"):
        now.check()


def test_views_of_a_growing_table_are_replayed_over_the_version_they_read(shop: Path) -> None:
    header = "-- @materialise output\n-- @write append\n-- @append all\n"
    log = f"{header}SELECT max(day) AS day FROM weather\n"
    (shop / "views" / "log.sql").write_text(log)
    (shop / "views" / "days.sql").write_text(
        "-- @materialise output\nSELECT count(*) AS days FROM log\n"
    )
    run(shop)
    append_weather(shop, day=2)
    then = run(shop)
    append_weather(shop, day=3)
    run(shop)
    now = Project.load(shop).replay(then.id)
    assert now.status is RunStatus.SUCCEEDED
    assert rows_digest(now.views["days"]) == rows_digest(then.views["days"])
