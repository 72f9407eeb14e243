"""What Spark rejects and the parser, or DataFusion, would accept: refused before anything runs."""

from typing import Any

import pytest

from headrace.pipeline.translation.refusal import Refused
from tests.pipeline.differential.engine import Prepared, spark_rows
from tests.pipeline.differential.hard_table import TABLES

REJECTED = [
    # numbers and types
    "SELECT 1e309 AS a",
    "SELECT -1.7976931348623158e308 AS a",
    "SELECT 1e40F AS a",
    "SELECT 999999999999999999999999999999999999999 AS a",
    "SELECT 0.000000000000000000000000000000000000001 AS a",
    "SELECT 0x1F AS a",
    "SELECT CAST(k AS TEXT) AS a FROM everyday",
    "SELECT CAST(k AS NUMBER) AS a FROM everyday",
    "SELECT TRY_CAST(k AS INT8) AS a FROM everyday",
    "SELECT k::TEXT AS a FROM everyday",
    "SELECT CAST(k AS INT(5)) AS a FROM everyday",
    "SELECT CAST(k AS `int`) AS a FROM everyday",
    "SELECT CAST(ts AS DATETIME) AS a FROM everyday",
    "SELECT CAST(ai AS ARRAY<INT4>) AS a FROM everyday",
    "SELECT INT '5' AS a",
    "SELECT DOUBLE '1' AS a",
    # a separator without an item
    "SELECT k, FROM everyday",
    "SELECT concat('a',) AS a",
    "SELECT k FROM everyday WHERE k IN (1,)",
    "SELECT k FROM everyday ORDER BY k,",
    "SELECT k, , b FROM everyday",
    "SELECT , k FROM everyday",
    "SELECT k FROM everyday, , extreme",
    # words that are missing, superfluous or in another place
    "SELECT k FROM everyday WHERE k BETWEEN 1 5",
    "SELECT sum(i) FILTER (k > 2) AS s FROM everyday",
    "SELECT CAST(k AS STRING AS a FROM everyday",
    "SELECT SUBSTRING(s FROM 2 FOR) AS a FROM everyday",
    "SELECT p.k FROM everyday p WHERE true CROSS JOIN extreme q",
    "SELECT b FROM everyday GROUP BY b LEFT SEMI JOIN extreme",
    "SELECT 1 AS a CROSS JOIN extreme",
    "WITH AS c (SELECT k FROM everyday) SELECT k FROM c",
    "SELECT k FROM everyday GROUP BY",
    "AS SELECT k FROM everyday",
    "SELECT AS 1 a",
    "SELECT upper(s AS) a FROM everyday",
    "SELECT regexp_replace('a' AS x, 'a', 'b') AS a",
    "SELECT any(b x) AS a FROM everyday",
    "SELECT b, count(*) AS n FROM everyday GROUP BY GROUPING SETS ((b, w x), ())",
    "SELECT * EXCEPT m (k) FROM (SELECT k, b FROM everyday)",
    "SELECT * EXCEPT (k, k) FROM (SELECT k, b FROM everyday)",
    "SELECT k, b FROM everyday JOIN (SELECT k FROM extreme) q USING k (k)",
    "SELECT k /*+ BROADCAST(p) */ FROM everyday p",
    "SELECT sum(i) OVER w AS r FROM everyday WINDOW w AS (b ORDER BY k)",
    "SELECT k FROM everyday ?",
    "SELECT (+) AS a FROM everyday",
    "ELSE k FROM everyday",
    "SELECT . 0.5 AS a",
    # forms of other databases
    "SELECT k FROM everyday WHERE k ISNULL",
    "SELECT k FROM everyday WHERE k NOTNULL",
    "SELECT EXTRACT('year' FROM dt) AS a FROM everyday",
    "SELECT EXTRACT(year, dt) AS a FROM everyday",
    "SELECT TRIM(BOTH s) AS a FROM everyday",
    "SELECT SUBSTRING(s FOR 2) AS a FROM everyday",
    "SELECT SUBSTRING(s FOR 2 FROM 1) AS a FROM everyday",
    "SELECT OVERLAY(s PLACING 'x', 2) AS a FROM everyday",
    "SELECT :k AS a FROM everyday",
    "SELECT ? AS a FROM everyday",
    # the order of operators
    "SELECT 'x' || 1 + 2 AS a",
    "SELECT k IN (1, 2) = true AS a FROM everyday",
    "SELECT true = k < 2 AS a FROM everyday",
    "SELECT b IS TRUE = true AS a FROM everyday",
    # conditions
    "SELECT k FROM everyday WHERE NULL",
    "SELECT k FROM everyday WHERE (NULL)",
    "SELECT p.k FROM everyday p JOIN extreme q ON NULL",
    "SELECT CASE WHEN b THEN 1 WHEN NULL THEN 2 END AS a FROM everyday",
    "SELECT count(*) FILTER (WHERE NULL) AS a FROM everyday",
    # aggregates and windows
    "SELECT count() AS a FROM everyday",
    ("SELECT rank() OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a FROM everyday"),
    "SELECT lag(k) OVER w AS a FROM everyday WINDOW w AS (ORDER BY k ROWS 1 PRECEDING)",
    "SELECT sum(k) OVER w AS a FROM everyday WINDOW w AS (ORDER BY k), w AS (ORDER BY b)",
    "SELECT k FROM everyday ORDER BY rank() OVER (ORDER BY b), k",
    # aliases
    "SELECT k AS a, lag(a) OVER (ORDER BY k) AS c FROM everyday",
    "SELECT b AS a, rank() OVER (PARTITION BY a ORDER BY k) AS c FROM everyday",
    "SELECT k AS a, count(a) AS c FROM everyday GROUP BY k",
    "SELECT k AS a, (SELECT max(q.k) FROM extreme q WHERE q.k = a) AS c FROM everyday",
    "SELECT k % 2 AS a, sum(k) AS s FROM everyday GROUP BY a HAVING sum(a) > 1",
    "SELECT k % 2 AS a, sum(k) AS s FROM everyday GROUP BY a ORDER BY sum(a)",
    "SELECT b, count(*) AS n FROM everyday GROUP BY -1",
    "SELECT k FROM everyday ORDER BY -1",
    "SELECT k FROM everyday WHERE s IN (SELECT 'a')",
    # names
    "SELECT \u00c9 FROM (SELECT 3 AS \u00e9) t",
    "SELECT `STRASSE` FROM (SELECT 3 AS `stra\u00dfe`) t",
    "SELECT `\u017f` FROM (SELECT 3 AS `s`) t",
    "SELECT k AS PRIMARY KEY FROM everyday",
    "SELECT k CHARACTER VARYING FROM everyday",
    "SELECT k AS || FROM everyday",
    "SELECT * FROM VALUES (1, 'a') AS t (x, 1.5)",
    "SELECT * FROM (SELECT y, k FROM everyday) PIVOT (count(k) FOR y IN (1 1))",
    # queries
    (
        "SELECT i, (SELECT max(q.k) FROM extreme q WHERE q.k = p.i) AS m, count(*) AS n "
        "FROM everyday p GROUP BY i"
    ),
    "SELECT b, sum(k) AS s FROM everyday GROUP BY CUBE (b, y) HAVING grouping(y) > 0",
    "WITH c AS (SELECT 1 AS x), c AS (SELECT 2 AS x) SELECT * FROM c",
    # relations
    "SELECT k, col FROM everyday LATERAL VIEW explode(ai)",
]


@pytest.mark.parametrize("sql", REJECTED)
def test_what_spark_rejects_is_refused(sql: str, session: Any) -> None:
    assert isinstance(spark_rows(session, sql), str)
    with pytest.raises(Refused):
        Prepared(sql, TABLES)
