"""Files of other writers in the folders of a project: no run deletes them."""

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from headrace.errors import InvalidProjectError
from headrace.pipeline import Project
from tests.pipeline.shop import write_shop

ENGINE = "datafusion"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write_shop(tmp_path / "shop")
    text = "-- @materialise staging\nSELECT day, degrees FROM weather\n"
    (root / "views" / "kept.sql").write_text(text)
    text = "-- @materialise output\nSELECT count(*) AS days FROM kept\n"
    (root / "views" / "days.sql").write_text(text)
    manifest = (root / "headrace.toml").read_text()
    named = manifest.replace('name = "shop"', 'name = "shop"\nstate = "data"')
    (root / "headrace.toml").write_text(named)
    return root


def test_a_run_deletes_nothing_in_its_state_folder_but_what_it_staged(shop: Path) -> None:
    foreign = [
        *("staging/notes.txt", "staging/kept/mine.parquet", "staging/mine/run-1/a.parquet"),
        *("intents/mine.txt", "intents/mine.json", "replays/mine.txt"),
    ]
    for name in foreign:
        (shop / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / "data" / name).write_text("mine")
    for _ in range(2):
        Project.load(shop).run(engine=ENGINE, full_refresh=True).check()
    assert [name for name in foreign if not (shop / "data" / name).exists()] == []


def test_staging_tables_of_this_run_and_of_a_dead_run_are_removed(shop: Path) -> None:
    Project.load(shop).run(engine=ENGINE).check()
    staging = shop / "data" / "staging"
    assert not staging.exists()
    shutil.copytree(shop / "output" / "days", staging / "gone")  # as a dead run leaves it
    (staging / "begun" / "run-1-0123abcd" / "rows").mkdir(parents=True)
    Project.load(shop).run(engine=ENGINE).check()
    assert not staging.exists()


@pytest.mark.parametrize("outputs", ["data/staging", "./data/staging/tables"])
def test_outputs_among_staging_tables_are_refused(shop: Path, outputs: str) -> None:
    manifest = (shop / "headrace.toml").read_text()
    named = manifest.replace('state = "data"', f'state = "data"\noutputs = "{outputs}"')
    (shop / "headrace.toml").write_text(named)
    with pytest.raises(InvalidProjectError, match=r"project\.outputs"):
        Project.load(shop).run(engine=ENGINE)


def test_a_table_that_no_run_has_written_is_not_vacuumed(shop: Path) -> None:
    Project.load(shop).run(engine=ENGINE, exclude=["top"]).check()
    table = shop / "output" / "top"
    for _ in range(2):
        write_deltalake(table, pa.table({"a": [1]}), mode="overwrite")
    before = sorted(os.listdir(table))  # noqa: PTH208
    vacuumed = Project.load(shop).vacuum(retention_hours=0, keep_runs=1)
    assert sorted(os.listdir(table)) == before  # noqa: PTH208
    assert str(table) not in {result.table for result in vacuumed}
