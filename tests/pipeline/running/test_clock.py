"""A clock that was ahead and is set back: the last run still counts as the last."""

import time
from pathlib import Path

import pytest

from headrace import Table
from headrace.pipeline import Project
from tests.pipeline.shop import append_orders, edit, replace_views, write_shop

ENGINE = "datafusion"
DAY_NS = 86_400 * 10**9
VIEWS = {
    "total": "-- @materialise output\nSELECT sum(amount) AS amount FROM orders\n",
    "reader": "-- @materialise output\nSELECT amount FROM total\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write_shop(tmp_path / "shop")
    replace_views(root, VIEWS)
    return root


def amount(root: Path, view: str) -> object:
    (row,) = Table(root / "output" / view).snapshot().rows().read_all().to_pylist()
    return row["amount"]


def run_a_day_ahead(root: Path) -> str:
    """Run once with a clock that is a day ahead."""
    real = time.time_ns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.time_ns", lambda: real() + DAY_NS)
        return Project.load(root).run(engine=ENGINE).id


def test_a_view_that_is_left_out_is_read_from_the_run_after_the_clock_was_set_back(
    shop: Path,
) -> None:
    run_a_day_ahead(shop)
    before = amount(shop, "total")
    append_orders(shop, year=2024, count=3)
    Project.load(shop).run(engine=ENGINE).check()
    assert amount(shop, "reader") == amount(shop, "total") != before
    edit(shop / "views" / "reader.sql", "SELECT amount", "SELECT amount, 1 AS one")
    Project.load(shop).run(engine=ENGINE, select=["reader"]).check()
    assert amount(shop, "reader") == amount(shop, "total")


def test_the_latest_run_is_the_one_after_the_clock_was_set_back(shop: Path) -> None:
    ahead = run_a_day_ahead(shop)
    after = Project.load(shop).run(engine=ENGINE)
    assert [run.id for run in Project.load(shop).runs()] == [after.id, ahead]
    assert after.finished_ms is not None
    assert after.finished_ms >= after.started_ms
