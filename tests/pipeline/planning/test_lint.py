"""What the lint reports about views, and what follows from it."""

from pathlib import Path

import pytest

from headrace.pipeline import Project
from headrace.pipeline.analysis.lint import Hazard
from tests.pipeline.planning.lake import plan


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT now() AS n FROM t", "CLOCK"),
        ("SELECT s FROM t WHERE d = current_date", "CLOCK"),
        ("SELECT rand() AS r FROM t", "RANDOM"),
        ("SELECT s FROM t TABLESAMPLE (10 PERCENT)", "SAMPLE"),
        ("SELECT s FROM t LIMIT 3", "UNORDERED_LIMIT"),
        ("SELECT s, id FROM t ORDER BY s LIMIT 3", "LIMIT_TIES"),
        ("SELECT first_value(id) OVER (PARTITION BY s) AS n FROM t", "UNORDERED_WINDOW"),
        ("SELECT row_number() OVER (ORDER BY s) AS n FROM t", "WINDOW_TIES"),
        (
            "SELECT sum(id) OVER (ORDER BY s ROWS UNBOUNDED PRECEDING) AS n FROM t",
            "WINDOW_TIES",
        ),
        ("SELECT sum(f) AS x FROM t", "FLOAT_SUM"),
        ("SELECT avg(f * 2) AS x FROM t", "FLOAT_SUM"),
        ("SELECT first(s) AS x FROM t", "ORDERED_AGGREGATE"),
        ("SELECT collect_list(s) AS x FROM t", "ORDERED_AGGREGATE"),
        ("SELECT max_by(s, id) AS x FROM t", "ORDERED_AGGREGATE"),
        ("SELECT max(id) OVER () AS x FROM t LIMIT 1", "UNORDERED_LIMIT"),
        ("SELECT array_sort(collect_list(s), (a, b) -> 0) AS x FROM t", "ORDERED_AGGREGATE"),
    ],
)
def test_the_lint_finds_what_may_return_other_rows(lake: Path, sql: str, code: str) -> None:
    view = plan(lake, v=sql)["v"]
    assert code in {finding.code for finding in view.findings}
    assert not view.order_free
    hazards = {finding.hazard for finding in view.findings}
    assert (view.skip_key is None) == (Hazard.VOLATILE in hazards)


@pytest.mark.parametrize(
    "measure",
    [
        *("sum(f)", "avg(f)", "stddev(f)", "var_pop(dec)", "kurtosis(f)", "skewness(id)"),
        *("corr(f, id)", "covar_pop(f, id)", "regr_slope(f, id)", "regr_sxx(f, id)"),
        *("regr_avgx(f, id)", "sum(f) OVER (ORDER BY id ROWS 2 PRECEDING)"),
    ],
)
def test_the_lint_finds_sums_of_floats_in_plans_for_datafusion(lake: Path, measure: str) -> None:
    plan(lake, v=f"SELECT {measure} AS x FROM t", reader="SELECT x FROM v")
    views = Project.load(lake).plan(engine="datafusion").views
    assert views["v"].refused is None
    for view in views.values():
        assert "FLOAT_SUM" in {finding.code for finding in view.findings}, view.name
        assert not view.order_free


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s, sum(dec) AS x, avg(id) AS y, count(DISTINCT d) AS z FROM t GROUP BY s",
        "SELECT s FROM t ORDER BY s LIMIT 3",
        "SELECT s, count(*) AS n FROM t GROUP BY s ORDER BY n, s LIMIT 3",
        "SELECT rank() OVER (ORDER BY s) AS n FROM t",
        "SELECT sum(id) OVER (PARTITION BY s) AS n FROM t",
        (
            "SELECT sum(id) OVER (ORDER BY s ROWS BETWEEN UNBOUNDED PRECEDING "
            "AND UNBOUNDED FOLLOWING) AS n FROM t"
        ),
        "SELECT sort_array(collect_list(s)) AS x, size(collect_set(id)) AS n FROM t",
        "SELECT max(id) AS n FROM t LIMIT 1",
        "SELECT s FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.id = t.id LIMIT 1)",
    ],
)
def test_the_lint_reports_nothing_for_deterministic_queries(lake: Path, sql: str) -> None:
    view = plan(lake, v=sql)["v"]
    assert view.findings == ()
    assert view.order_free


def test_readers_of_a_volatile_view_run_every_time_too(lake: Path) -> None:
    views = plan(
        lake,
        a="-- @materialise output\nSELECT s, rand() AS r FROM t",
        b="-- @materialise output\nSELECT s FROM a",
        c="-- @materialise output\nSELECT s FROM t",
    )
    assert views["b"].skip_key is None
    assert views["b"].key.volatile[0].startswith("a: RAND()")
    assert views["c"].skip_key is not None
