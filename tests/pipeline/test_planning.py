"""What a plan reports: filters that may prune, lineage, lint, and what cannot be planned.

The file is long because all of these questions are about views over one small lake.
"""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from headrace.pipeline import Project, ViewPlan
from headrace.pipeline.analysis.lint import Hazard
from headrace.pipeline.analysis.query import parse_query
from tests.pipeline.shop import replace_views

SCHEMA = pa.schema(
    [
        pa.field("Id", pa.int32()),
        pa.field("s", pa.string()),
        pa.field("d", pa.date32()),
        pa.field("ts", pa.timestamp("us", "UTC")),
        pa.field("ntz", pa.timestamp("us")),
        pa.field("dec", pa.decimal128(12, 2)),
        pa.field("f", pa.float64()),
        pa.field("b", pa.bool_()),
        pa.field("st", pa.struct([("a", pa.int32())])),
        pa.field("l", pa.list_(pa.string())),
    ]
)
MANIFEST = """\
[project]
name = "p"
[settings]
time_zone = "{zone}"
[sources.t]
uri = "lake/t"
[sources.u]
uri = "lake/u"
[variables]
day = 2024-05-01
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("planning")
    for name in ("t", "u"):
        write_deltalake(root / "lake" / name, pa.Table.from_pylist([], SCHEMA))
    return root


def plan(lake: Path, *, zone: str = "UTC", **views: str) -> dict[str, ViewPlan]:
    (lake / "headrace.toml").write_text(MANIFEST.format(zone=zone))
    replace_views(lake, views)
    return dict(Project.load(lake).plan().views)


def where(lake: Path, condition: str, *, zone: str = "UTC") -> str | None:
    return plan(lake, zone=zone, v=f"SELECT s FROM t WHERE {condition}")["v"].unit("t").where


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


@pytest.mark.parametrize(
    ("sql", "schema"),
    [
        (
            "SELECT 1 AS a, 1L AS b, 1.5 AS c, 1.5D AS d",
            "a INT, b BIGINT, c DECIMAL(2,1), d DOUBLE",
        ),
        ("SELECT id + 1 AS a, id / 2 AS b, id DIV 2 AS c FROM t", "a INT, b DOUBLE, c BIGINT"),
        ("SELECT dec / 2.0 AS a FROM t", "a DECIMAL(17,6)"),
        ("SELECT row_number() OVER (ORDER BY id) AS n FROM t", "n INT"),
        ("SELECT year(d) AS y, count(*) AS n FROM t GROUP BY year(d)", "y INT, n BIGINT"),
        ("SELECT coalesce(id, 0) AS a, if(b, 1, 2) AS c FROM t", "a INT, c INT"),
        ("SELECT avg(dec) AS a, avg(id) AS b FROM t", "a DECIMAL(16,6), b DOUBLE"),
        ("SELECT * FROM (SELECT Id, s FROM t)", "Id INT, s STRING"),
    ],
)
def test_planned_types_are_those_of_spark(lake: Path, sql: str, schema: str) -> None:
    view = plan(lake, v=sql)["v"]
    assert view.schema is not None
    assert view.schema.replace(" NOT NULL", "") == schema


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT date_format(ts, 'VV') AS y FROM t", "formats of dates"),
        ("SELECT to_date(s, 'MMM') AS y FROM t", "formats of dates"),
        ("SELECT sentences(s) AS x FROM t", ""),
    ],
)
def test_what_datafusion_cannot_express_is_not_planned_and_says_why(
    lake: Path, sql: str, reason: str
) -> None:
    views = plan(lake, v=sql, reader="SELECT * FROM v")
    assert views["v"].unplanned is not None
    assert reason in views["v"].unplanned
    assert views["v"].unit("t").where is None
    assert views["v"].unit("t").columns == tuple(SCHEMA.names)
    assert views["v"].skip_key is not None
    assert "known only after" in str(views["reader"].unplanned)


def test_a_contract_gives_readers_the_columns_of_an_unplanned_view(lake: Path) -> None:
    views = plan(
        lake,
        v="-- @contract (y STRING)\nSELECT date_format(ts, 'VV') AS y FROM t",
        reader="SELECT y FROM v WHERE y = '2024'",
    )
    assert views["v"].unplanned
    assert views["reader"].unplanned is None
    assert views["reader"].unit("t").where is None


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


def test_the_clock_changes_no_plan_and_is_not_frozen_into_substrait(lake: Path) -> None:
    sql = "SELECT s, now() AS n FROM t WHERE d < current_date"
    first, second = (plan(lake, v=sql)["v"] for _ in range(2))
    assert first.plan_fingerprint == second.plan_fingerprint
    assert first.substrait is None
    assert first.unit("t").where is None
    assert "NOW()" in str(first.datafusion_sql)


def test_lineage_has_scans_joins_aggregates_windows_and_columns(lake: Path) -> None:
    sql = """
    SELECT t.s AS name, sum(t.dec * 2) AS total, max(u.f) AS most,
           rank() OVER (PARTITION BY t.s ORDER BY max(u.f)) AS place
    FROM t JOIN u ON t.id = u.id AND t.d < u.d
    WHERE u.s = 'x'
    GROUP BY t.s
    """
    lineage = plan(lake, v=sql)["v"].lineage
    assert lineage is not None
    assert [(s.relation, s.columns, s.filters) for s in lineage.scans] == [
        ("t", ("d", "dec", "id", "s"), ()),
        ("u", ("d", "f", "id", "s"), ("(s = 'x')",)),
    ]
    assert [(join.kind, join.keys) for join in lineage.joins] == [("inner", (("id", "id"),))]
    assert lineage.aggregates[0].keys == ("s",)
    assert lineage.windows[0].function == "rank"
    assert lineage.windows[0].order_by == ("max(f)",)
    assert {column.name: column.sources for column in lineage.columns} == {
        "name": ("t.s",),
        "total": ("t.dec",),
        "most": ("u.f",),
        "place": ("t.s", "u.f"),
    }


def test_an_unused_column_changes_no_plan_and_no_key(tmp_path: Path, lake: Path) -> None:
    before = plan(lake, v="SELECT s FROM t WHERE id = 1")["v"]
    more = SCHEMA.insert(0, pa.field("more", pa.int64()))
    root = tmp_path / "wider"
    write_deltalake(root / "lake" / "u", pa.Table.from_pylist([], SCHEMA))
    write_deltalake(root / "lake" / "t", pa.Table.from_pylist([], more))
    after = plan(root, v="SELECT s FROM t WHERE id = 1")["v"]
    assert after.plan_fingerprint == before.plan_fingerprint
    assert after.key.sources["t"].columns == before.key.sources["t"].columns


def test_a_deep_expression_is_planned(lake: Path) -> None:
    expression = "id"
    for number in range(50):
        expression = f"({expression} + {number})"
    view = plan(lake, v=f"SELECT {expression} AS x FROM t")["v"]
    assert view.unplanned is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT /*+ REPARTITION(3), BROADCAST(t) */ s FROM t",
        "SELECT s FROM t SORT BY s",
        "SELECT s FROM t DISTRIBUTE BY s",
        "SELECT t.s FROM t ANTI JOIN u ON t.id = u.id",
        "SELECT instr(s, 'a') AS a, sign(f) AS b, bigint(s) AS c FROM t",
        "SELECT s FROM t QUALIFY row_number() OVER (PARTITION BY s ORDER BY id) = 1",
        "SELECT s, count(*) AS n FROM t GROUP BY ROLLUP (s, id)",
        "SELECT s, count(*) AS n FROM t GROUP BY ALL",
        "SELECT * EXCEPT (s) FROM t",
        "FROM t |> WHERE id = 1 |> SELECT s",
    ],
)
def test_syntax_that_only_spark_has_is_parsed(lake: Path, sql: str) -> None:
    assert plan(lake, v=sql)["v"].unplanned is None


def test_unnamed_columns_get_the_name_that_spark_generates(lake: Path) -> None:
    view = plan(lake, v="SELECT count(*), SUM(id), 1, max(s) AS m FROM t")["v"]
    assert view.arrow_schema is not None
    assert view.arrow_schema.names == ["count(1)", "sum(id)", "1", "m"]


def test_an_unplanned_view_has_the_most_helpful_reason(lake: Path) -> None:
    view = plan(lake, v="SELECT sentences(s) AS h FROM t")["v"]
    assert view.unplanned == "Invalid function 'sentences'."


def test_quotes_are_read_as_spark_reads_them() -> None:
    query = parse_query("""SELECT 'it''s' AS a, "it's" AS b, 'x\\'y' AS c""", file="f")
    assert [column.this.name for column in query.tree.selects] == ["it's", "it's", "x'y"]


def test_common_table_expressions_are_not_relations() -> None:
    sql = """
    WITH orders AS (SELECT * FROM orders), x AS (SELECT * FROM orders)
    SELECT /*+ BROADCAST(z) */ * FROM x JOIN (WITH y AS (SELECT 1 AS o) SELECT * FROM y) z
    WHERE EXISTS (SELECT * FROM returns r, db.other)
    """
    assert parse_query(sql, file="f").relations == ("db.other", "orders", "returns")
