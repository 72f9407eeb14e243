"""Expressions that once silently returned other rows on DataFusion than on Spark."""

from typing import Any

import pyarrow as pa
import pytest

from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.translation.refusal import Refused
from tests.pipeline.differential.engine import Prepared, Tally, spark_rows

_DECIMAL = pa.decimal128(10, 2)
ORDERS = pa.table(
    {
        "id": pa.array([1, 2, 3, None, 5, 6], pa.int32()),
        "w": ["a", "bb", "ccc", None, "a_b", "axb"],
        "amount": pa.array([3, 9, 5, None, 12, -1], pa.int64()),
        "x": pa.array(["1.00", "2.00", "-5.00", None, "0.05", "10.01"]).cast(_DECIMAL),
        "f": pa.array([1.5, float("nan"), float("inf"), None, -0.0, 0.0]),
        "ts": pa.array([0, 1_700_000_000_123_456, None, -1, 5, 6]).cast(pa.timestamp("us", "UTC")),
        "d": pa.array([20_513, 20_512, 20_514, None, 0, -1], pa.int32()).cast(pa.date32()),
        "l": pa.array(
            [["b", None, "a"], [], None, ["c", "c"], ["x"], [None]],
            pa.list_(pa.field("element", pa.string())),
        ),
        "m": pa.array(
            [[("k", 1)], [], None, [("k", None)], [("j", 2)], []],
            pa.map_(pa.field("key", pa.string(), nullable=False), pa.field("value", pa.int32())),
        ),
    }
)
TABLES = {"t": ORDERS}
EQUAL = [
    "SELECT any_value(w) AS a, any_value(id, true) AS c FROM t",
    "SELECT length(w) AS k, count(*) AS n FROM t GROUP BY length(w)",
    "SELECT amount > 5 AS k, count(*) AS n FROM t GROUP BY amount > 5",
    "SELECT id - 1 AS k, count(*) AS n FROM t GROUP BY id - 1",
    "SELECT id * 2 AS k, count(*) AS n FROM t GROUP BY id * 2",
    "SELECT upper(w) AS k, count(*) AS n FROM t GROUP BY upper(w)",
    "SELECT 10/4 AS a, 3/2 AS b, id/4 AS c FROM t",
    "SELECT dayofweek(DATE '2026-03-01') AS a, dayofweek(d) AS b FROM t",
    "SELECT id FROM t WHERE id NOT IN (SELECT id FROM t WHERE amount > 5 AND id IS NOT NULL)",
    "SELECT id FROM t WHERE id NOT IN (SELECT id FROM t)",
    "SELECT x / 3 AS a FROM t",
    "SELECT avg(x) AS a FROM t",
    "SELECT x + CAST(1 AS INT) AS a, x % TRY_CAST(3 AS TINYINT) AS b, x * 2Y AS c FROM t",
    "SELECT x - -CAST(1 AS INT) AS a, x - 1::BIGINT AS b, x * -2S AS c, x * +2 AS e FROM t",
    "SELECT max(f) AS a, min(f) AS b FROM t",
    r"SELECT w FROM t WHERE w LIKE 'a\\_b'",
    "SELECT w FROM t WHERE w NOT LIKE 'a%'",
    "SELECT CAST(ts AS BIGINT) AS a, CAST(ts AS STRING) AS b FROM t",
    "SELECT substring(w, -3) AS a, substring(w, -2, 1) AS b, substring(w, 0) AS c FROM t",
    r"SELECT regexp_replace('100-200', r'(\d+)', 'num') AS a",
    "SELECT reverse(l) AS a, concat(l, l) AS b, array_remove(l, 'c') AS c FROM t",
    "SELECT array_position(l, 'a') AS a, array_append(l, 'z') AS b FROM t",
    "SELECT element_at(m, 'k') AS a, m['k'] AS b FROM t",
    "SELECT list_compact(l) AS a, list_unique_sorted(l) AS b FROM t",
    "SELECT date_part('SECONDS', ts) AS a, unix_timestamp(w) AS b FROM t WHERE w IS NULL",
    "SELECT d + INTERVAL 24 HOURS AS a, d + INTERVAL 1 DAY AS b FROM t",
    "SELECT TRY_CAST('2026-03-01 01:02:03 Europe/Zurich' AS TIMESTAMP) AS a FROM t",
    "SELECT TRY_CAST('2026-3-1 7' AS TIMESTAMP) AS a, TRY_CAST('\u00a02026' AS DATE) AS b FROM t",
    "SELECT k, max(k - d) > INTERVAL 1 DAY AS b FROM (SELECT d + 1 AS k, d FROM t) GROUP BY k",
    "SELECT f, count(*) AS n FROM t GROUP BY f",
    "SELECT id, id % 2 AS a FROM t WHERE id IS NOT NULL AND 10 / id > 2",
    "SELECT CAST(f AS STRING) AS a FROM t",
    "SELECT w FROM t WHERE w RLIKE '^a.*$'",
    "SELECT overlay(w, 'XY', -3, 1) AS a FROM t",
    "SELECT TRY_CAST('1.5d' AS DOUBLE) AS a, TRY_CAST('x' AS DOUBLE) AS b",
    "SELECT hash(id, w, amount, x, f, ts, d, l) AS a, xxhash64(id, w, x, f, l) AS b FROM t",
    r"SELECT regexp_replace('a\r\n', '$', 'E') AS a, regexp_replace('aaa', 'a*?', 'x') AS b",
    "SELECT to_json(named_struct('i', id, 'w', w, 'x', x, 'd', d, 'l', l, 'm', m)) AS a FROM t",
]
REFUSED = [
    "SELECT first_value(w, true) AS a FROM t",
    r"SELECT w FROM t WHERE w RLIKE '\\ba'",
    "SELECT extract(DAY FROM INTERVAL '1' HOUR) AS a FROM t",
    "SELECT ts - ts AS a FROM t",
    "SELECT CAST('01:02:03' AS TIMESTAMP) AS a FROM t",
    "SELECT ln(f) AS a FROM t",
    "SELECT date_format(ts, 'VV') AS a FROM t",
    "SELECT id FROM t TABLESAMPLE (10 PERCENT)",
    "SELECT some(id > 1) OVER (ORDER BY d ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a FROM t",
    "SELECT lag(id) IGNORE NULLS OVER (ORDER BY d) AS a FROM t",
]


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    from headrace.pipeline.functions.catalog import standard_catalog  # noqa: PLC0415
    from headrace.pipeline.runners.spark.arrow_function import register_functions  # noqa: PLC0415

    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.createDataFrame(ORDERS, schema_text(ORDERS.schema)).createOrReplaceTempView("t")
    register_functions(own, [entry.function for entry in standard_catalog()])
    return own


def test_what_was_reported_is_equal_now(session: Any) -> None:
    tally = Tally()
    for sql in EQUAL:
        tally.count(sql, Prepared(sql, TABLES).rows(), spark_rows(session, sql))
    assert tally.different == []
    assert tally.equal == len(EQUAL)


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_not_proven_is_refused_with_its_place(sql: str) -> None:
    with pytest.raises(Refused) as caught:
        Prepared(sql, TABLES)
    assert caught.value.refusal.place(sql) is not None
