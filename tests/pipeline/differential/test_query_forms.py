"""Query forms: each returns Spark's rows on DataFusion, or is refused."""

from typing import Any

import pytest

from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES, RANKS
from headrace.pipeline.translation.catalogue.table import SCALAR
from headrace.pipeline.translation.refusal import Blame, Refused
from tests.pipeline.differential.engine import Prepared, Tally, spark_rows
from tests.pipeline.differential.hard_table import TABLES

EQUAL = {
    "joins by = and <=>": [
        "SELECT p.k, q.k AS c FROM everyday p FULL JOIN extreme q ON p.d = q.d AND p.b <=> q.b",
        "SELECT p.k, q.k AS c FROM everyday p JOIN extreme q ON p.d <=> q.d AND (p.b = q.b)",
        "SELECT p.k, q.k AS c FROM everyday p, extreme q WHERE p.i = q.i AND p.d <=> q.d",
        (
            "SELECT k FROM everyday p WHERE EXISTS (SELECT 1 FROM extreme q WHERE p.d = q.d "
            "AND p.b <=> q.b)"
        ),
        "SELECT p.k, q.k AS c FROM everyday p LEFT JOIN extreme q ON p.d <=> q.d AND p.b <=> q.b",
    ],
    "joins": [
        (
            "SELECT a.k, c.k AS ck FROM (SELECT k FROM everyday WHERE k < 3) a, everyday b "
            "RIGHT JOIN (SELECT k + 1 AS k FROM everyday) c ON b.k = c.k"
        ),
        (
            "SELECT * FROM (SELECT k, b FROM everyday) p NATURAL FULL JOIN "
            "(SELECT k + 2 AS k, w AS w2 FROM extreme WHERE k > 3) q"
        ),
        "SELECT * FROM (SELECT k, b FROM everyday) p NATURAL JOIN (SELECT w AS w2 FROM extreme) q",
        (
            "SELECT p.k AS pk, q.k AS qk, k FROM (SELECT k FROM everyday) p FULL JOIN "
            "(SELECT k + 2 AS k FROM extreme) q USING (k)"
        ),
        (
            "SELECT * FROM (SELECT k, b FROM everyday) p LEFT ANTI JOIN "
            "(SELECT k FROM extreme WHERE k < 4) q USING (k)"
        ),
        "SELECT * FROM (SELECT k, b FROM everyday) p LEFT SEMI JOIN everyday q USING (b)",
        "SELECT k FROM (everyday JOIN (SELECT k AS kk FROM extreme) q ON k = kk) WHERE kk > 2",
        "SELECT p.k FROM everyday p CROSS JOIN extreme q ON p.k = q.k",
        "SELECT k FROM everyday p CROSS JOIN (SELECT k FROM extreme) q USING (k)",
    ],
    "grouping sets": [
        "SELECT b, w, count(*) AS n, sum(i) AS s FROM everyday GROUP BY ROLLUP (b, w)",
        "SELECT b, w, count(*) AS n, sum(i) AS s FROM everyday GROUP BY b, w WITH CUBE",
        "SELECT b, w, sum(i) AS s FROM everyday GROUP BY GROUPING SETS ((b, w), b, (), ())",
        "SELECT b, w, count(*) AS n FROM everyday GROUP BY b, w GROUPING SETS ((b, w), w)",
        "SELECT b, w, y, count(*) AS n FROM everyday GROUP BY b, CUBE (w), ROLLUP (y)",
        "SELECT b, count(*) AS n FROM everyday WHERE k > 100 GROUP BY ROLLUP (b)",
        (
            "SELECT b, w, grouping(b) + grouping(w) AS g, grouping_id(b, w) AS h, count(*) AS n "
            "FROM everyday GROUP BY CUBE (b, w)"
        ),
        "SELECT d, count(*) AS n, max(d) AS x FROM extreme GROUP BY ROLLUP (d)",
        "SELECT b, i + 1 AS j, count(*) AS n FROM everyday GROUP BY ROLLUP (b, j)",
        "SELECT b AS bb, i + 1 AS j, count(*) AS n FROM everyday GROUP BY ROLLUP (1, 2)",
        (
            "SELECT b, rank() OVER (PARTITION BY grouping(b) ORDER BY sum(i) DESC) AS r "
            "FROM everyday GROUP BY ROLLUP (b, w)"
        ),
        (
            "SELECT b FROM (SELECT b, count(*) AS n FROM everyday GROUP BY ROLLUP (b)) "
            "WHERE b NOT IN (SELECT b FROM everyday WHERE b)"
        ),
    ],
    "queries inside": [
        "SELECT k, (SELECT y FROM extreme WHERE k = 1) AS a FROM everyday",
        "SELECT k FROM everyday WHERE i > (SELECT y FROM extreme WHERE k = 300)",
        "SELECT k, (SELECT st FROM extreme WHERE k = 1) AS a FROM everyday",
        "SELECT k, (SELECT y FROM extreme WHERE k < 3) AS a FROM everyday",
        (
            "SELECT k FROM everyday p WHERE i NOT IN "
            "(SELECT q.i FROM everyday q WHERE q.b = p.b AND q.k <> p.k)"
        ),
        "SELECT k FROM everyday p WHERE d IN (SELECT q.d FROM extreme q WHERE q.b = p.b)",
        (
            "SELECT k FROM everyday p WHERE (k, i) NOT IN "
            "(SELECT q.k, q.i FROM extreme q WHERE q.b = p.b)"
        ),
        "SELECT k FROM everyday WHERE (k, b) NOT IN (SELECT k, b FROM extreme)",
        "SELECT k FROM everyday WHERE NOT (i IN (SELECT q.i FROM extreme q WHERE q.k > 5))",
        "SELECT k FROM everyday p WHERE EXISTS (SELECT 1 FROM extreme q WHERE q.k = p.i) OR k > 6",
    ],
    "constants next to aggregates": [
        "SELECT n FROM (SELECT 1 AS z, count(*) AS n FROM everyday) WHERE z = 2",
        "SELECT n FROM (SELECT 1 AS z, count(*) AS n FROM everyday) WHERE z NOT IN (2, 3)",
        "SELECT n FROM (SELECT max(k) AS h, 'x' AS z, h * 0 AS n FROM everyday) WHERE z LIKE 'y%'",
        (
            "SELECT n FROM (SELECT DATE '2024-01-01' AS z, count(*) AS n FROM everyday) p "
            "JOIN everyday q ON q.k = 1 AND z > DATE '2025-01-01'"
        ),
        "SELECT z FROM (SELECT 1 AS z FROM everyday HAVING max(k) > 0) WHERE z = 2",
        (
            "WITH c AS (SELECT 1 AS z, count(*) AS n FROM everyday UNION ALL SELECT 2, 5) "
            "SELECT n FROM c WHERE z = 2"
        ),
    ],
    "names that hide others": [
        (
            "SELECT p.k FROM everyday p LEFT JOIN (SELECT 'x' AS c, k FROM everyday WHERE k > 4) q "
            "ON p.k = q.k WHERE q.c NOT IN (SELECT w FROM everyday WHERE w = 'b')"
        ),
        (
            "SELECT q.k FROM everyday q WHERE q.i NOT IN "
            "(SELECT c FROM (SELECT k AS c FROM extreme) q)"
        ),
        (
            "WITH c AS (SELECT k FROM everyday) SELECT * FROM "
            "(WITH c AS (SELECT i AS k FROM everyday) SELECT k FROM c) UNION ALL SELECT k FROM c"
        ),
    ],
    "set operations": [
        "SELECT b, y FROM everyday EXCEPT ALL SELECT b, y FROM extreme",
        "SELECT b FROM everyday INTERSECT ALL SELECT b FROM extreme",
        (
            "SELECT d FROM extreme EXCEPT ALL "
            "(SELECT d FROM everyday UNION ALL SELECT d FROM everyday)"
        ),
        "SELECT b FROM everyday MINUS SELECT b FROM extreme WHERE b",
    ],
    "lateral": [
        (
            "SELECT p.k, q.n FROM everyday p, LATERAL "
            "(SELECT count(*) AS n FROM extreme q WHERE q.k = p.i) q"
        ),
        (
            "SELECT p.k, q.bb FROM everyday p LEFT JOIN LATERAL "
            "(SELECT q.b AS bb FROM extreme q WHERE q.k = p.i) q ON q.bb"
        ),
        (
            "SELECT p.k, q.m FROM everyday p, LATERAL "
            "(SELECT max(q.k) AS m FROM extreme q WHERE q.b = p.b GROUP BY q.y) q"
        ),
    ],
    "pivots": [
        "SELECT * FROM (SELECT b, y, k FROM everyday) PIVOT (count(k) FOR y IN (1, 2 AS two, 9))",
        (
            "SELECT * FROM (SELECT b, w, k FROM everyday) "
            "PIVOT (count(*) AS n, max(k) AS m FOR w IN ('b', 'abc'))"
        ),
        "SELECT * FROM (SELECT y, k FROM everyday WHERE k > 100) PIVOT (sum(k) FOR y IN (1, 2))",
        "SELECT * FROM (SELECT k, i, l FROM everyday) UNPIVOT (v FOR n IN (i, L)) AS u",
        (
            "SELECT * FROM (SELECT k, dec, y FROM everyday) "
            "UNPIVOT INCLUDE NULLS (v FOR n IN (dec AS one, y AS two))"
        ),
    ],
    "conditions": [
        "SELECT k, w IS DISTINCT FROM s AS a, d IS DISTINCT FROM -0.0D AS c FROM extreme",
        "SELECT k FROM everyday WHERE i IS DISTINCT FROM NULL AND w IS DISTINCT FROM 'b'",
        "SELECT dt - INTERVAL 1 DAY 2 HOURS * 2 AS a, k = 1 IS NULL AS c FROM everyday",
        (
            "SELECT k, s LIKE ANY ('a%', '%c') AS a, s NOT LIKE ANY ('a%', '%c') AS c, "
            "s ILIKE ALL ('a%', '%c%') AS e, s NOT LIKE ALL ('a%', '_') AS f, "
            "NOT s LIKE SOME ('%') AS g FROM everyday"
        ),
    ],
    "clauses": [
        "SELECT k FROM everyday ORDER BY 9223372036854775807, k DESC LIMIT 2",
        "SELECT 1.5 AS x, b, count(*) AS n FROM everyday GROUP BY 1.5, ROLLUP (b)",
        "SELECT k, b FROM everyday ORDER BY ALL DESC LIMIT 3",
        "SELECT k FROM everyday ORDER BY k LIMIT ALL",
        "FROM everyday SELECT k, b",
        "SELECT sum(k) AS x, x * 2 AS y2 FROM everyday",
        "SELECT k FROM everyday QUALIFY row_number() OVER (PARTITION BY b ORDER BY k) = 1",
        "SELECT p.* EXCEPT (ai, st, m), q.k AS kk FROM everyday p JOIN extreme q ON p.k = q.k",
        "SELECT b, max(k) AS k2 FROM everyday GROUP BY b ORDER BY max(i) NULLS LAST LIMIT 2",
    ],
}
REFUSED = [
    (
        "SELECT k FROM everyday p "
        "WHERE EXISTS (SELECT max(q.k) FROM extreme q WHERE q.k = p.i AND q.b)"
    ),
    "SELECT k FROM everyday p WHERE NOT EXISTS (SELECT count(*) FROM extreme q WHERE q.k = p.i)",
    (
        "SELECT p.k, q.n FROM everyday p, LATERAL "
        "(SELECT max(q.k) AS n FROM extreme q WHERE q.k = p.i HAVING count(*) > 1) q"
    ),
    (
        "SELECT p.k, q.n FROM everyday p, LATERAL "
        "(SELECT 1 AS z, count(*) AS n FROM extreme q WHERE q.k = p.i) q WHERE q.z = 1"
    ),
    "SELECT count(*) AS n FROM everyday WHERE k > 100 GROUP BY GROUPING SETS (())",
    "SELECT 1 | 2 & 4 AS a",
    "SELECT k FROM everyday WHERE y < 2 | 1 << 1",
    "SELECT x FROM VALUES (1, 1), (2, 1) AS t(x, all) GROUP BY all",
    "SELECT current_date FROM (SELECT k AS current_date FROM everyday) t",
    "SELECT x, all FROM VALUES (1, 2), (2, 1) AS t(x, all) ORDER BY all",
    "SELECT k FROM everyday EXCEPT SELECT 1 DIV y FROM extreme",
    "WITH c AS (SELECT 1 DIV y AS z FROM extreme) SELECT k FROM everyday INTERSECT SELECT z FROM c",
    "SELECT k FROM everyday |> WHERE k > 3",
    "SELECT k, (SELECT q.y FROM extreme q WHERE q.k = p.k) AS a FROM everyday p",
    "SELECT k, i IN (SELECT q.k FROM extreme q) AS e FROM everyday p",
    "SELECT i, i + 1 AS j FROM everyday GROUP BY ROLLUP (i, i + 1)",
    (
        "SELECT k FROM everyday p WHERE EXISTS "
        "(SELECT 1 FROM (SELECT * FROM extreme q WHERE q.k = p.i) x)"
    ),
    "SELECT k FROM everyday WHERE (k, d) IN ((1, 3D), (2, 5D))",
    "SELECT p.k FROM everyday p JOIN extreme q ON p.i = q.i WHERE p.d <=> q.d",
]


@pytest.mark.parametrize("kind", EQUAL)
def test_a_form_returns_the_same_rows(kind: str, session: Any) -> None:
    tally = Tally()
    for sql in EQUAL[kind]:
        tally.count(sql, Prepared(sql, TABLES).rows(), spark_rows(session, sql))
    assert tally.different == []
    assert tally.equal == len(EQUAL[kind])


@pytest.mark.parametrize("sql", REFUSED)
def test_an_unproven_form_is_refused_without_being_called_a_mistake(sql: str) -> None:
    with pytest.raises(Refused) as caught:
        Prepared(sql, TABLES)
    assert caught.value.refusal.blame is Blame.RUNNER


def test_every_catalogue_function_exists_in_spark(session: Any) -> None:
    known = {row[0] for row in session.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert [name for name in (*SCALAR.by_name, *AGGREGATES, *RANKS) if name not in known] == []


def test_a_string_used_as_a_name_is_an_error() -> None:
    with pytest.raises(Refused, match="backticks") as caught:
        Prepared('SELECT k AS "x" FROM everyday', TABLES)
    assert caught.value.refusal.blame is Blame.AUTHOR


def test_a_column_of_an_outer_side_may_be_null() -> None:
    """Otherwise NOT IN would keep rows without a match."""
    sql = "SELECT q.c FROM everyday p {} JOIN (SELECT 'x' AS c, k FROM everyday) q ON p.k = q.k"
    nullable = [
        Prepared(sql.format(side), TABLES).translation.schema.field("c").nullable
        for side in ("INNER", "LEFT", "RIGHT", "FULL")
    ]
    assert nullable == [False, True, False, True]


NAMED = "k, (b), st.a, 5, 'abc', -7, TRUE, CAST(y AS STRING), upper(s), length(w), abs(i)"
UNNAMED = ["k + 1", "k <> 3", "concat(s, w)", "ai[0]", "sum(k) OVER ()", "1e3", "upper(p.s)"]


def test_columns_without_an_alias_are_named_as_by_spark(session: Any) -> None:
    selects = [
        (f"SELECT {NAMED} FROM (SELECT * EXCEPT (st), named_struct('a', k) AS st FROM everyday)"),
        "SELECT count(*), count(DISTINCT b), sum(k), max(d) FROM everyday",
    ]
    for sql in selects:
        translation = Prepared(sql, TABLES).translation
        assert translation.unnamed is None
        names = [name.casefold() for name in session.sql(sql).columns]
        assert translation.schema.names == names


@pytest.mark.parametrize("expression", UNNAMED)
def test_a_column_that_spark_names_in_its_own_way_is_refused_as_a_result(expression: str) -> None:
    for sql in (
        f"SELECT {expression} FROM everyday p",
        f"SELECT * FROM (SELECT {expression} FROM everyday p UNION ALL SELECT NULL) q",
    ):
        refusal = Prepared(sql, TABLES).translation.unnamed
        assert refusal is not None
        assert refusal.place(sql) is not None
