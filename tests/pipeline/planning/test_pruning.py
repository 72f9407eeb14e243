"""Which filters prune the files of a scan, and how they reach it."""

from pathlib import Path

import pytest

from tests.pipeline.planning.lake import plan, where


@pytest.mark.parametrize(
    ("condition", "predicate"),
    [
        ("id = 5", "id = 5"),
        ("5 < ID", "id > 5"),
        ("s = '5' AND id <> 3", "s = '5' AND id <> 3"),
        ("s LIKE 'ab%'", "s LIKE 'ab%'"),
        ("s IN ('a', 'b')", "s = 'a' OR s = 'b'"),
        ("id BETWEEN 1 AND 3", "id >= 1 AND id <= 3"),
        ("s IS NULL", "s IS NULL"),
        ("b", "b"),
        ("dec < 5", "dec < 5.00BD"),
        ("dec < 0.05", "dec < 0.05BD"),
        ("d >= '2024-01-01'", "d >= DATE '2024-01-01'"),
        ("d >= :day", "d >= DATE '2024-05-01'"),
        ("d >= DATE '2024-01-31' + INTERVAL '1' MONTH", "d >= DATE '2024-02-29'"),
        ("ntz < TIMESTAMP_NTZ '2024-01-01 00:00:00'", "ntz < TIMESTAMP_NTZ '2024-01-01 00:00:00'"),
        ("ts < TIMESTAMP '2024-01-01 00:00:00'", "ts < TIMESTAMP '2024-01-01 00:00:00+00:00'"),
        ("id = 1 OR s = 'x'", "id = 1 OR s = 'x'"),
    ],
)
def test_a_column_against_a_literal_of_its_type_prunes(
    lake: Path, condition: str, predicate: str
) -> None:
    assert where(lake, condition) == predicate


@pytest.mark.parametrize(
    "condition",
    [
        "s = 5",
        "cast(id AS STRING) = '5'",
        "upper(s) = 'X'",
        "year(d) = 2024",
        "date_trunc('month', d) = DATE '2024-01-01'",
        "id + 1 = 5",
        "id > 5.5",
        "st.a = 3",
        "l[0] = 'x'",
        "s LIKE '%x'",
        "id = 1 OR upper(s) = 'X'",
        "s = upper('x')",
        "d = date_add(DATE '2024-01-01', 3)",
        "d = current_date()",
        "f = id",
        "id IN (SELECT id FROM u)",
    ],
)
def test_nothing_is_pruned_through_casts_and_functions(lake: Path, condition: str) -> None:
    assert where(lake, condition) is None


def test_the_certain_part_of_a_conjunction_prunes(lake: Path) -> None:
    assert where(lake, "id = 1 AND upper(s) = 'X'") == "id = 1"
    assert where(lake, "(id = 1 AND upper(s) = 'X') OR d = '2024-01-01'") == (
        "id = 1 OR d = DATE '2024-01-01'"
    )


def test_times_prune_only_in_the_planners_time_zone(lake: Path) -> None:
    condition = "ts < TIMESTAMP '2024-01-01 00:00:00' AND id = 1"
    assert where(lake, condition, zone="Europe/Zurich") == "id = 1"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x FROM (SELECT cast(id AS STRING) AS x FROM t) WHERE x = '5'",
        "WITH w AS (SELECT year(d) AS y FROM t) SELECT y FROM w WHERE y = 2024",
        "WITH w(k) AS (SELECT cast(id AS STRING) FROM t) SELECT k FROM w WHERE k = '5'",
        "SELECT k FROM (SELECT s k FROM u UNION SELECT cast(id AS STRING) FROM t) WHERE k = '5'",
        "SELECT s FROM t WHERE startswith(s, 'a')",
        "SELECT s FROM t WHERE s RLIKE '^a'",
        "SELECT s FROM (SELECT s, row_number() OVER (ORDER BY id) AS n FROM t) WHERE n = 1",
        "SELECT s FROM (SELECT s FROM t ORDER BY s LIMIT 3) WHERE s = 'x'",
        "SELECT s FROM (SELECT s, count(*) AS n FROM t GROUP BY s) WHERE n = 1",
        "SELECT t.s FROM t LEFT JOIN u ON t.id = u.id AND t.id = 5",
    ],
)
def test_a_filter_that_is_not_on_the_scans_own_rows_does_not_prune(lake: Path, sql: str) -> None:
    view = plan(lake, v=sql)["v"]
    assert view.unplanned is None
    assert view.unit("t").where is None


@pytest.mark.parametrize(
    ("sql", "predicate"),
    [
        ("SELECT s FROM (SELECT s, id AS k FROM t) WHERE k = 5", "id = 5"),
        (
            "WITH w AS (SELECT * FROM t) SELECT s FROM w WHERE d < '2024-01-01'",
            "d < DATE '2024-01-01'",
        ),
        ("SELECT u.s FROM u LEFT JOIN t ON t.id = u.id AND t.s = 'x'", "s = 'x'"),
        ("SELECT t.s FROM t JOIN u ON t.id = u.id WHERE u.id = 5", "id = 5"),
        ("SELECT u.s FROM u LEFT JOIN t ON t.id = u.id AND u.id = 5", "id = 5"),
        ("SELECT s, count(*) AS n FROM t GROUP BY s HAVING s = 'x'", "s = 'x'"),
        ("SELECT s FROM u WHERE f > (SELECT max(f) FROM t WHERE id = 3)", "id = 3"),
    ],
)
def test_a_filter_reaches_its_scan_through_the_query(lake: Path, sql: str, predicate: str) -> None:
    assert plan(lake, v=sql)["v"].unit("t").where == predicate


def test_filters_of_a_table_that_is_scanned_twice_are_connected_by_or(lake: Path) -> None:
    sql = "SELECT s FROM t WHERE id = 1 UNION ALL SELECT s FROM t WHERE d = '2024-01-01'"
    assert plan(lake, v=sql)["v"].unit("t").where == "id = 1 OR d = DATE '2024-01-01'"
    sql = "SELECT s FROM t WHERE id = 1 UNION ALL SELECT s FROM t"
    assert plan(lake, v=sql)["v"].unit("t").where is None


def test_a_filter_prunes_through_a_view_that_is_not_materialised(lake: Path) -> None:
    views = plan(
        lake,
        base="SELECT Id AS k, s, d FROM t WHERE s IS NOT NULL",
        reader="SELECT s FROM base WHERE k = 7",
    )
    assert views["reader"].unit("t").where == "s IS NOT NULL AND id = 7"
    assert views["base"].unit("t").where == "s IS NOT NULL"
    assert views["reader"].unit("t").columns == ("Id", "s")


def test_filters_do_not_pass_through_a_materialised_view(lake: Path) -> None:
    views = plan(
        lake,
        base="-- @materialise staging\nSELECT Id AS k, s FROM t",
        reader="SELECT s FROM base WHERE k = 7",
    )
    assert views["reader"].units == ()
    assert views["reader"].key.upstream == {"base": views["base"].skip_key}


def test_columns_are_requested_as_the_table_spells_them(lake: Path) -> None:
    view = plan(lake, v="SELECT ID AS Key, max(S) AS Most FROM T GROUP BY iD")["v"]
    assert view.unit("t").columns == ("Id", "s")
    assert view.schema == "Key INT, Most STRING"
