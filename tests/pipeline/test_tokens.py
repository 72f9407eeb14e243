"""The case of a word counts where the word may become the name of a column, and nowhere else."""

import pytest

from headrace.pipeline.analysis.query import parse_query


def tokens(sql: str) -> tuple[str, ...]:
    return parse_query(sql, file="views/v.sql").tokens


@pytest.mark.parametrize(
    ("sql", "other"),
    [
        ("SELECT range FROM t", "SELECT Range FROM t"),
        ("SELECT a, rows FROM t", "SELECT a, ROWS FROM t"),
        ("SELECT a rows, b FROM t", "SELECT a Rows, b FROM t"),
        ("SELECT a filter FROM t", "SELECT a Filter FROM t"),
        ("SELECT * FROM t AS q(x, range)", "SELECT * FROM t AS q(x, Range)"),
        (
            "WITH c(rows) AS (SELECT a FROM t) SELECT * FROM c",
            "WITH c(Rows) AS (SELECT a FROM t) SELECT * FROM c",
        ),
        ("SELECT interval, x FROM t", "SELECT interval, X FROM t"),
        ("SELECT a AS left FROM t", "SELECT a AS Left FROM t"),
        ("SELECT a all FROM t", "SELECT a All FROM t"),
        ("SELECT date end FROM t", "SELECT date End FROM t"),
        (
            "SELECT CASE WHEN a THEN b END end, c FROM t",
            "SELECT CASE WHEN a THEN b END End, c FROM t",
        ),
        ("SELECT a desc FROM t ORDER BY a", "SELECT a Desc FROM t ORDER BY a"),
        ("SELECT f(a) null FROM t", "SELECT f(a) Null FROM t"),
    ],
)
def test_a_keyword_that_names_a_column_keeps_its_case(sql: str, other: str) -> None:
    assert tokens(sql) != tokens(other)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT a FROM t LEFT OUTER JOIN u ON t.a = u.b WHERE a IS NOT NULL",
        "SELECT sum(a) FILTER (WHERE b) OVER (ORDER BY c ROWS 1 PRECEDING) AS s FROM t",
        "SELECT a FROM t LEFT SEMI JOIN u USING (a) LIMIT 1",
        "SELECT a FROM t ORDER BY a DESC NULLS LAST LIMIT 3 OFFSET 2",
        "SELECT a DIV 2 AS b, INTERVAL '1' DAY AS c, CASE WHEN a THEN TRUE ELSE FALSE END FROM t",
        "SELECT a, count(DISTINCT b) OVER (ORDER BY f(c) DESC) AS x FROM t ORDER BY a ASC, x DESC",
        "SELECT a IS NULL AS x, b = TRUE AS y FROM t UNION ALL SELECT NULL, NULL",
        "SELECT max(a) OVER w AS m FROM t WINDOW w AS (PARTITION BY b)",
        "SELECT * FROM VALUES (1, NULL) AS v(a, b), LATERAL (SELECT a AS x)",
    ],
)
def test_the_case_of_keywords_does_not_count(sql: str) -> None:
    assert tokens(sql) == tokens(sql.lower())
