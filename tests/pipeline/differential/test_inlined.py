"""Conditions over views of other files, which are planned as part of their readers."""

from pathlib import Path
from typing import Any

import pytest

from headrace.pipeline import Project
from tests.pipeline.differential.engine import Prepared, Tally, spark_rows
from tests.pipeline.differential.hard_table import TABLES
from tests.pipeline.embedded import rows_digest
from tests.pipeline.shop import replace_views, write_shop

_QUOTIENTS = "SELECT k, i, b, 1 DIV i AS z FROM extreme"
_DIVISORS = "SELECT * FROM extreme WHERE i <> 0"
_NAMED = "WITH q AS (SELECT * FROM extreme WHERE i <> 0) SELECT k, i, 2 DIV i AS z FROM q"
ROWS = [
    (_QUOTIENTS, "SELECT k, z FROM v0 WHERE i <> 0"),
    (_QUOTIENTS, "SELECT k, z FROM v0 WHERE i <> 0 AND z > 0"),
    (_QUOTIENTS, "SELECT e.k FROM v0 JOIN everyday e ON v0.k = e.k WHERE v0.i <> 0 AND z > 0"),
    (_QUOTIENTS, "SELECT e.k FROM v0 JOIN everyday e ON v0.k = e.k AND v0.i <> 0 AND z > 0"),
    (_DIVISORS, "SELECT k FROM v0 WHERE 1 DIV i > 0"),
    (_DIVISORS, "SELECT k, 1 DIV i AS z FROM v0 WHERE k > 1"),
    (_DIVISORS, "SELECT k, 1 DIV i AS z FROM v0", "SELECT k FROM v1 WHERE z > 0"),
    (_DIVISORS, "SELECT k, i FROM v0 WHERE k > 1", "SELECT k FROM v1 WHERE 1 DIV i > 0"),
    (
        "SELECT k, ai, i FROM extreme WHERE i <> 0",
        "SELECT k, u FROM v0 LATERAL VIEW explode(ai) t AS u WHERE 10 DIV i >= 0",
    ),
    (_NAMED, "WITH q AS (SELECT * FROM v0 WHERE z > 0) SELECT q.k FROM q WHERE 1 DIV i >= 0"),
    (_NAMED, "WITH r AS (SELECT * FROM v0) SELECT r.k FROM r JOIN v0 ON r.k = v0.k WHERE r.z > 0"),
    (
        "SELECT k, i FROM extreme WHERE i <> 0 UNION ALL SELECT k, i FROM everyday WHERE i <> 0",
        "SELECT k FROM v0 WHERE 10 DIV i > 0",
    ),
    (
        "SELECT k, CAST(s AS INT) AS n, s FROM everyday",
        "SELECT k, n FROM v0 WHERE s = '100' AND n > 5",
    ),
]
"""Views, and last a statement that reads them; each returns rows."""
_RAISING = (_QUOTIENTS, "SELECT k, z FROM v0 WHERE z > 0 AND i <> 0")


def _tally(session: Any, *statements: tuple[str, ...]) -> Tally:
    tally = Tally()
    for *views, sql in statements:
        named = {f"v{place}": view for place, view in enumerate(views)}
        for name, view in named.items():
            session.sql(view).createOrReplaceTempView(name)
        ours = Prepared(sql, TABLES, views=named).rows()
        tally.count(f"{views}: {sql}", ours, spark_rows(session, sql))
    return tally


def test_a_condition_over_a_view_is_evaluated_where_spark_evaluates_it(session: Any) -> None:
    tally = _tally(session, *ROWS, _RAISING)
    assert (tally.different, tally.equal) == ([], len(ROWS) + 1)


@pytest.mark.parametrize(
    ("inlined", "reader"),
    [
        (
            "SELECT id, customer, 10 DIV customer AS share FROM orders",
            "SELECT id FROM middle WHERE customer <> 0 AND share > 5",
        ),
        (
            "SELECT id, customer FROM orders WHERE customer <> 0",
            "SELECT id FROM middle WHERE 10 DIV customer > 5",
        ),
        (
            "SELECT id, customer FROM orders WHERE customer <> 0",
            "SELECT id, explode(array(1, 2)) AS part FROM middle WHERE 10 DIV customer > 5",
        ),
    ],
    ids=["computed", "filtered", "generated"],
)
def test_a_project_runs_such_a_view_on_both_runners(
    tmp_path: Path, spark: Any, inlined: str, reader: str
) -> None:
    root = write_shop(tmp_path / "shop")
    replace_views(root, {"middle": inlined, "reader": f"-- @materialise output\n{reader}"})
    ours = Project.load(root).run(engine="datafusion")
    ours.check()
    theirs = Project.load(root).run(session=spark, full_refresh=True)
    theirs.check()
    assert ours.views["reader"].rows
    assert rows_digest(ours.views["reader"]) == rows_digest(theirs.views["reader"])
