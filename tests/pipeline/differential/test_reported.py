"""Expressions that once silently returned other rows on DataFusion than on Spark."""

from typing import Any

import pyarrow as pa
import pytest

from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.translation.refusal import Refused
from tests.pipeline.differential import hard_table
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
TABLES = {"t": ORDERS, **hard_table.TABLES}
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
    "SELECT bit_get(unix_timestamp(s), CASE WHEN NULL::BOOLEAN THEN k END) AS a FROM everyday",
    "SELECT k, pmod(y, -128Y) AS a, pmod(y, -32768S) AS b FROM everyday",
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
    "SELECT regr_sxy(CAST(NULL AS INT) % k, l % l) AS a, corr(l % l, NULL + k) AS b FROM everyday",
    "SELECT unix_timestamp(timestamp_micros(l)) AS a FROM extreme",
    "SELECT months_between(timestamp_micros(l), ts) AS a FROM extreme",
    (
        "SELECT v, from_base32(v) AS a, conv(v, 36, 10) AS b, soundex(v) AS c, mask(v) AS d, "
        "format_string('%-4s|%4s|', v, v) AS e FROM VALUES ('\u00df stra\u00dfe'), ('\u0131I'), "
        "('R\u017fbert'), ('\u2167\u00aa\u00b2\u02b0'), ('\U0001f600'), ('\ufb01x') AS t(v)"
    ),
    (
        "SELECT v, TRY_CAST(v AS DECIMAL(5, 1)) AS a, TRY_CAST(v AS INT) AS b FROM VALUES "
        "('1e-70'), ('0e100'), ('1\u0663'), ('\u0663.\u0665'), ('1e\u0662'), ('\U0001d7cf'), "
        "('1e60'), ('1e99999999999') AS t(v)"
    ),
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

_HUGE = "(SELECT y * 0 AS g, l FROM extreme WHERE l > 0)"
"""One group, whose sum overflows."""
RAISING = [
    f"SELECT CASE WHEN g > 5 THEN sum(l) END AS a FROM {_HUGE} GROUP BY g",
    f"SELECT if(g > 5, sum(l), 1) AS a FROM {_HUGE} GROUP BY g",
    f"SELECT coalesce(g, sum(l)) AS a, nvl(g, sum(l)) AS b FROM {_HUGE} GROUP BY g",
    f"SELECT g > 5 AND sum(l) > 3 AS a FROM {_HUGE} GROUP BY g",
    f"SELECT g < 5 OR sum(l) > 3 AS a FROM {_HUGE} GROUP BY g",
    f"SELECT g, sum(l) AS a FROM {_HUGE} GROUP BY g HAVING count(*) > 5",
    f"SELECT g FROM {_HUGE} GROUP BY g HAVING count(*) > 5 AND sum(l) > 3",
    f"SELECT g FROM {_HUGE} GROUP BY g ORDER BY CASE WHEN g > 5 THEN sum(l) END",
    f"SELECT a FROM (SELECT sum(l) AS a, count(*) AS n FROM {_HUGE} GROUP BY g) WHERE n > 5",
    (
        f"WITH q AS (SELECT sum(l) AS a, count(*) AS n FROM {_HUGE} GROUP BY g) "
        "SELECT a FROM q WHERE n > 5"
    ),
    f"SELECT if(g > 5, sum(l) OVER (), 1) AS a FROM {_HUGE}",
    "SELECT CASE WHEN count(*) > 100 THEN sum(big) END AS a FROM extreme WHERE k IN (1, 8)",
    (
        "SELECT CASE WHEN count(*) > 100 THEN corr(a, b) END AS c "
        "FROM VALUES (1E-100D, 1E-100D), (2E-100D, 2E-100D), (4E-100D, 3E-100D) AS v(a, b)"
    ),
]
CONSTANTS = [
    "SELECT k = concat('x', 'y') AS a FROM everyday WHERE k > 100",
    "SELECT dt > concat('2', 'x') AS a FROM everyday WHERE k > 100",
    "SELECT k BETWEEN upper('x') AND 3 AS a FROM everyday WHERE k > 100",
    "SELECT date_add(concat('x', 'y'), k) AS a FROM everyday WHERE k > 100",
]
_LOCAL = "FROM (SELECT k, timestamp_micros(l) AS x, ts FROM extreme)"
"""In Zurich, the last of these instants has a local time that no TIMESTAMP_NTZ holds."""
ZURICH = [
    f"SELECT k, hour(x) AS a, minute(x) AS b, second(x) AS c {_LOCAL}",
    f"SELECT k, year(x) AS a, weekofyear(x) AS b, dayofyear(x) AS c, CAST(x AS DATE) AS d {_LOCAL}",
    f"SELECT k, extract(SECOND FROM x) AS a, date_part('MINUTE', x) AS b {_LOCAL}",
    f"SELECT k, CAST(x AS STRING) AS a, date_format(x, 'yyyy-MM-dd HH:mm') AS b {_LOCAL}",
    f"SELECT k, date_trunc('HOUR', x) AS a, date_trunc('WEEK', x) AS b {_LOCAL} WHERE k <> 2",
    f"SELECT k, date_trunc('HOUR', x) AS a {_LOCAL}",
    f"SELECT k, x - INTERVAL 1 DAY AS a, x - INTERVAL 1 MONTH AS b {_LOCAL} WHERE k <> 2",
    f"SELECT k, timestampdiff(HOUR, x, ts) AS a, timestampdiff(WEEK, x, ts) AS b {_LOCAL}",
    f"SELECT k, timestampdiff(YEAR, x, ts) AS a, months_between(x, ts) AS b {_LOCAL}",
    f"SELECT k, CAST(x AS TIMESTAMP_NTZ) AS a {_LOCAL}",
    f"SELECT k, CAST(x AS TIMESTAMP_NTZ) AS a {_LOCAL} WHERE k <> 1",
]


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    from headrace.pipeline.functions.catalog import standard_catalog  # noqa: PLC0415
    from headrace.pipeline.runners.spark.arrow_function import register_functions  # noqa: PLC0415

    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    for name, table in TABLES.items():
        frame = own.createDataFrame(table, schema_text(table.schema)).coalesce(1)
        frame.createOrReplaceTempView(name)
    register_functions(own, [entry.function for entry in standard_catalog()])
    return own


def test_reported_expressions_are_equal(session: Any) -> None:
    tally = Tally()
    for sql in EQUAL:
        tally.count(sql, Prepared(sql, TABLES).rows(), spark_rows(session, sql))
    assert tally.different == []
    assert tally.equal == len(EQUAL)


@pytest.mark.parametrize("sql", REFUSED)
def test_unproven_expressions_are_refused_with_their_place(sql: str) -> None:
    with pytest.raises(Refused) as caught:
        Prepared(sql, TABLES)
    assert caught.value.refusal.place(sql) is not None


@pytest.mark.parametrize("sql", RAISING)
def test_an_aggregate_raises_for_a_group_that_no_row_of_the_result_needs(
    sql: str, session: Any
) -> None:
    assert isinstance(spark_rows(session, sql), str)
    assert isinstance(Prepared(sql, TABLES).rows(), str)


@pytest.mark.parametrize("sql", CONSTANTS)
def test_an_implicit_cast_of_a_computed_constant_that_raises_is_refused(
    sql: str, session: Any
) -> None:
    assert isinstance(spark_rows(session, sql), str)
    with pytest.raises(Refused, match="a constant raises"):
        Prepared(sql, TABLES)


def test_an_instant_has_a_local_time_even_at_the_ends_of_the_range(session: Any) -> None:
    session.conf.set("spark.sql.session.timeZone", "Europe/Zurich")
    tally = Tally()
    try:
        for sql in ZURICH:
            ours = Prepared(sql, TABLES, Settings(time_zone="Europe/Zurich")).rows()
            tally.count(sql, ours, spark_rows(session, sql))
    finally:
        session.conf.set("spark.sql.session.timeZone", "UTC")
    assert (tally.different, tally.equal) == ([], len(ZURICH))
