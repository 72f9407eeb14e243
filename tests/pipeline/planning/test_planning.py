"""What a plan reports: types, lineage, names, and what cannot be planned."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from headrace.pipeline.analysis.query import parse_query
from tests.pipeline.planning.lake import SCHEMA, plan


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
        ("SELECT CAST('+10000-01-01' AS DATE) AS a FROM t", "a DATE"),
        ("SELECT id FROM t WHERE d < CAST('+10000-01-01' AS DATE)", "id INT"),
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
