"""Arrays, maps, lambdas, generators and aggregates: Spark's rows on DataFusion, or refused."""

from typing import Any

import pytest

from headrace.pipeline.translation.refusal import Blame, Refused
from tests.pipeline.differential.engine import Prepared, Tally, spark_rows
from tests.pipeline.differential.hard_table import TABLES

_LONG = ", ".join(f"{n * 37 % 101 / 7.3:.5f}F" for n in range(1, 20))
_TURNED = ", ".join(f"-{n * 53 % 97 / 1.7:.5f}F" for n in range(1, 20))
EQUAL = {
    "lambdas": [
        "SELECT k, transform(ai, (x, i) -> x + i + k) AS a FROM everyday",
        "SELECT k, transform(ai, x -> transform(st, y -> concat(y, x, s))) AS a FROM everyday",
        "SELECT k, exists(ai, x -> x > 2) AS a, forall(ai, x -> x > 0) AS c FROM everyday",
        "SELECT k, aggregate(ai, 0L, (a, x) -> a + coalesce(x, 9), a -> a * k) AS a FROM everyday",
        "SELECT k, zip_with(ai, st, (x, y) -> (y, x)) AS a FROM extreme",
        (
            "SELECT k, array_sort(ai, (l, r) -> CASE WHEN l IS NULL AND r IS NULL THEN 0 "
            "WHEN l IS NULL THEN 1 WHEN r IS NULL THEN -1 WHEN l < r THEN 1 WHEN l > r THEN -1 "
            "ELSE 0 END) AS a FROM everyday"
        ),
        "SELECT k, map_zip_with(m, map('a', k, 'z', 0), (q, v, w) -> v + w) AS a FROM everyday",
        "SELECT k, transform_keys(m, (q, v) -> upper(q)) AS a FROM everyday",
        "SELECT k, filter(arrays_zip(ai, st), x -> x.ai > 1) AS a FROM everyday",
        "SELECT b, transform(sort_array(collect_set(k)), x -> x * 2) AS a FROM everyday GROUP BY b",
    ],
    "generators": [
        "SELECT k, explode(ai) FROM everyday WHERE k > 1",
        "SELECT k, posexplode_outer(m) AS (i, q, v) FROM everyday ORDER BY k DESC LIMIT 20",
        (
            "SELECT p.k, u.*, v.x FROM everyday p LATERAL VIEW OUTER explode(ai) u LATERAL VIEW "
            "explode(array(1, u.col)) v AS x"
        ),
        "SELECT inline(arrays_zip(ai, st)) FROM extreme",
        "SELECT e % 2 AS g, count(*) AS n FROM everyday LATERAL VIEW explode(ai) u AS e GROUP BY 1",
        "SELECT DISTINCT explode_outer(st) AS x FROM everyday",
        "SELECT r.id, u.col FROM range(3) r, LATERAL explode(array(r.id, 7)) u",
        "SELECT k FROM everyday WHERE k IN (SELECT explode(ai) FROM extreme)",
    ],
    "aggregates": [
        "SELECT b, percentile(l, array(0.1, 0.9)) AS a, median(d) AS c FROM extreme GROUP BY 1",
        "SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY y) AS a FROM everyday",
        "SELECT percentile_disc(0.3) WITHIN GROUP (ORDER BY y) AS a FROM everyday",
        "SELECT max_by(s, k) AS a, min_by(w, k) AS c, max_by(k, b) AS e FROM everyday",
        "SELECT array_sort(ai, (l, r) -> 1) AS a FROM everyday",
        "SELECT mode(y, true) AS a FROM everyday",
        "SELECT listagg(DISTINCT w, '-') WITHIN GROUP (ORDER BY w DESC) AS a FROM extreme",
        "SELECT size(collect_set(i)) AS a, array_sort(collect_list(dt)) AS c FROM extreme",
        (
            "SELECT sum(x) AS a, avg(x) AS c FROM (SELECT explode(array(0.1D, 0.2D, 0.3D, 1e10D, "
            "0.7D, -1e10D, 0.11D, 0.13D, 0.17D)) AS x)"
        ),
        (
            "SELECT k, sum(d) OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS a "
            "FROM everyday"
        ),
        "SELECT b, stddev(d) AS a, var_pop(i) AS c, kurtosis(dec) AS e FROM extreme GROUP BY b",
        "SELECT skewness(d) AS a, std(k) AS c, variance(d) FILTER (WHERE b) AS e FROM everyday",
        "SELECT corr(d, k) AS a, covar_samp(k, d) AS c, covar_pop(d, i) AS e FROM everyday",
        (
            "SELECT b, regr_slope(d, k) AS a, regr_intercept(d, k) AS c, regr_r2(d, k) AS e, "
            "regr_sxy(d, k) AS f, regr_sxx(d, k) AS g, regr_syy(d, k) AS h FROM everyday GROUP BY b"
        ),
        "SELECT mode() WITHIN GROUP (ORDER BY y DESC) AS a FROM everyday",
        "SELECT avg(DISTINCT k) AS a, try_sum(l) AS c, regr_count(k, i) AS e FROM extreme",
    ],
    "vectors": [
        f"SELECT vector_inner_product(array({_LONG}), array({_TURNED})) AS a",
        f"SELECT vector_cosine_similarity(array({_LONG}), array({_TURNED})) AS a",
        f"SELECT vector_l2_distance(array({_LONG}), array({_TURNED})) AS a",
        f"SELECT vector_norm(array({_LONG}), 1.0F) AS a, vector_norm(array({_LONG})) AS c",
        f"SELECT vector_normalize(array({_LONG}), 2.0F) AS a",
    ],
}
REFUSED = [
    "SELECT transform(array(1, 2), x -> try_parse_json('1')) AS a FROM everyday",
    "SELECT b, max_by(s, k) AS a FROM everyday GROUP BY b",
    "SELECT min_by(w, k, 2) AS a FROM everyday",
    "SELECT collect_list(k) AS a FROM everyday",
    "SELECT listagg(w) AS a FROM everyday",
    "SELECT listagg(w) WITHIN GROUP (ORDER BY k) AS a FROM everyday",
    "SELECT stddev(DISTINCT d) AS a FROM everyday",
    "SELECT regr_avgy(100 / y, 1) FILTER (WHERE b) AS a FROM everyday",
    "SELECT stddev(100 / y) FILTER (WHERE b) AS a FROM everyday",
    "SELECT stddev(d) OVER (PARTITION BY b) AS a FROM everyday",
    "SELECT mode(k) AS a FROM everyday",
    "SELECT mode(k, false) AS a FROM everyday",
    "SELECT sum(d) OVER (PARTITION BY b) AS a FROM everyday",
    "SELECT sum(DISTINCT d) AS a FROM everyday",
    "SELECT bit_xor(DISTINCT l) AS a FROM everyday",
    "SELECT transform(ai, x -> (SELECT max(k) FROM extreme)) AS a FROM everyday",
    "SELECT transform(ai, x -> rand()) AS a FROM everyday",
    "SELECT percentile(k, d) AS a FROM everyday",
    "SELECT explode(ai), explode(st) FROM everyday",
    "SELECT last_value(i) IGNORE NULLS OVER (ORDER BY k) AS a FROM everyday",
    "SELECT sum(k) OVER (ORDER BY k RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS a FROM everyday",
]
"""Queries that depend on the order of rows, or that Substrait cannot represent."""


@pytest.mark.parametrize("kind", EQUAL)
def test_a_form_returns_the_same_rows(kind: str, session: Any) -> None:
    tally = Tally()
    for sql in EQUAL[kind]:
        tally.count(sql, Prepared(sql, TABLES).rows(), spark_rows(session, sql))
    assert tally.different == []
    assert tally.equal == len(EQUAL[kind])


@pytest.mark.parametrize("sql", REFUSED)
def test_what_depends_on_the_order_of_rows_is_refused(sql: str) -> None:
    with pytest.raises(Refused) as caught:
        Prepared(sql, TABLES)
    assert caught.value.refusal.blame is Blame.RUNNER
