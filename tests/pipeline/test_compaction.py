"""Compaction causes no re-run if the log proves that only files changed, and not rows."""

import json
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from headrace.pipeline import Bundle, Project, ViewPlan
from tests.pipeline.embedded import rows
from tests.pipeline.shop import append_orders, compact_orders, delete_orders, edit, write_shop


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write_shop(tmp_path / "shop")
    append_orders(root, year=2024, count=20)  # a second file, so that there is something to compact
    return root


def replan(root: Path, before: Bundle) -> ViewPlan:
    return Project.load(root).plan(previous=before.views)["revenue"]


def test_a_compaction_does_not_change_the_key(shop: Path) -> None:
    before = Project.load(shop).plan()
    compact_orders(shop)
    after = Project.load(shop).plan(previous=before.views)
    old, new = before["revenue"], after["revenue"]
    assert new.unit("orders").digest != old.unit("orders").digest
    assert new.skip_key == old.skip_key
    assert new.key.sources["orders"].carried_from == 2
    assert after["top"].skip_key == before["top"].skip_key
    assert after.id != before.id


def test_without_the_older_plan_nothing_is_carried(shop: Path) -> None:
    before = Project.load(shop).plan()["revenue"]
    compact_orders(shop)
    assert Project.load(shop).plan()["revenue"].skip_key != before.skip_key


def test_a_digest_is_carried_over_one_compaction_after_the_other(shop: Path) -> None:
    first = Project.load(shop).plan()
    compact_orders(shop)
    second = Project.load(shop).plan(previous=first.views)
    append_orders(shop, year=2025, count=3)
    append_orders(shop, year=2025, count=3)
    compact_orders(shop)
    third = Project.load(shop).plan(previous=second.views)
    assert third["revenue"].skip_key == first["revenue"].skip_key
    assert third["revenue"].key.sources["orders"].carried_from == 2


def test_rows_added_before_a_compaction_are_not_missed(shop: Path) -> None:
    before = Project.load(shop).plan()
    append_orders(shop, year=2024, count=9)
    compact_orders(shop)
    assert replan(shop, before).skip_key != before["revenue"].skip_key


def test_rows_added_after_a_compaction_are_not_missed(shop: Path) -> None:
    before = Project.load(shop).plan()
    compact_orders(shop)
    append_orders(shop, year=2024, count=9)
    assert replan(shop, before).skip_key != before["revenue"].skip_key


def test_rows_deleted_from_a_compacted_file_are_not_missed(shop: Path) -> None:
    before = Project.load(shop).plan()
    compact_orders(shop)
    delete_orders(shop, "year = 2024 AND id = 5")
    append_orders(shop, year=2023, count=1)
    compact_orders(shop)
    assert replan(shop, before).skip_key != before["revenue"].skip_key


def test_rows_added_and_removed_in_other_files_do_not_matter(shop: Path) -> None:
    before = Project.load(shop).plan()
    append_orders(shop, year=2025, count=5)
    delete_orders(shop, "year = 2025")
    compact_orders(shop)
    assert replan(shop, before).skip_key == before["revenue"].skip_key


def test_a_log_with_a_gap_proves_nothing(shop: Path) -> None:
    before = Project.load(shop).plan()
    compact_orders(shop)
    append_orders(shop, year=2025, count=5)
    DeltaTable(shop / "lake" / "orders").create_checkpoint()
    log = shop / "lake" / "orders" / "_delta_log"
    (log / "00000000000000000003.json").unlink()
    assert replan(shop, before).skip_key != before["revenue"].skip_key


def test_a_view_that_depends_on_order_runs_again(shop: Path) -> None:
    edit(shop / "views" / "revenue.sql", "sum(o.amount) AS total", "first(o.amount) AS total")
    before = Project.load(shop).plan()
    compact_orders(shop)
    assert not before["revenue"].order_free
    assert replan(shop, before).skip_key != before["revenue"].skip_key


def test_a_view_that_now_reads_other_files_runs_again(shop: Path) -> None:
    before = Project.load(shop).plan()
    compact_orders(shop)
    edit(shop / "views" / "revenue.sql", "2024", "2023")
    assert replan(shop, before).skip_key != before["revenue"].skip_key


def add_rows_as_a_rewrite(table: Path) -> None:
    """Commit a file with more rows that claims to have only moved rows."""
    version = DeltaTable(table).version() + 1
    live = DeltaTable(table).file_uris()[-1]
    added = Path(live).with_name("more.parquet")
    shutil.copyfile(live, added)
    add = {
        "path": added.relative_to(table).as_posix(),
        "partitionValues": {"year": "2024"} if "year" in live else {},
        "size": added.stat().st_size,
        "modificationTime": 1,
        "dataChange": False,
    }
    log = table / "_delta_log" / f"{version:020}.json"
    log.write_text(json.dumps({"add": add}))


def test_rows_that_are_added_as_if_they_were_only_moved_are_not_missed(shop: Path) -> None:
    before = Project.load(shop).plan()
    add_rows_as_a_rewrite(shop / "lake" / "orders")
    assert replan(shop, before).skip_key != before["revenue"].skip_key


def test_an_output_with_rows_that_were_added_as_if_moved_is_written_again(shop: Path) -> None:
    project = Project.load(shop)
    project.run(engine="datafusion", select=["forecast"]).check()
    before = rows(shop, "forecast")
    add_rows_as_a_rewrite(shop / "output" / "forecast")
    assert len(rows(shop, "forecast")) == 2 * len(before)
    project.run(engine="datafusion", select=["forecast"]).check()
    assert rows(shop, "forecast") == before
