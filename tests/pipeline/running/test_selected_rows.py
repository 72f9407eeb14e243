"""On DataFusion, nothing is computed for rows that WHERE or LIMIT drops: it could raise."""

from pathlib import Path

import pytest

from headrace.pipeline import Project
from headrace.pipeline.project.scaffold import write_project
from tests.pipeline.shop import replace_views

QUOTIENT = "amount / (id - 3) * customer"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT id, {QUOTIENT} AS q FROM orders WHERE id > 3",
        f"SELECT id, {QUOTIENT} AS q FROM orders WHERE id > 3 ORDER BY id LIMIT 96",
        f"SELECT id, {QUOTIENT} AS q FROM (SELECT * FROM orders ORDER BY id DESC LIMIT 96)",
        f"SELECT id, {QUOTIENT} AS q FROM later",
        f"SELECT id, q FROM (SELECT id, {QUOTIENT} AS q FROM orders) WHERE id > 3",
        "SELECT id, q FROM quotients WHERE id > 3",
    ],
)
def test_a_filter_that_avoids_a_division_by_zero_is_applied_first(tmp_path: Path, sql: str) -> None:
    root = tmp_path / "shop"
    write_project(root)
    views = {
        "later": "SELECT * FROM orders WHERE id > 3",
        "quotients": f"SELECT id, {QUOTIENT} AS q FROM orders",
        "v": f"-- @materialise output\n{sql}",
    }
    replace_views(root, views)
    record = Project.load(root).run(engine="datafusion")
    record.check()
    assert record.views["v"].rows == 96
    assert record.fallbacks == {}
