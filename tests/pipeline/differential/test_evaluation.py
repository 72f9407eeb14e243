"""Where arguments are evaluated, and values that used to be left to Spark."""

from typing import Any

import pyarrow as pa
import pytest

from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.translation.refusal import Blame, Refused
from tests.pipeline.differential.engine import Prepared, Tally, spark_rows
from tests.pipeline.differential.hard_table import TABLES

_ROWS = "FROM VALUES (CAST(NULL AS INT), 0, 'x'), (7, 2, '3') AS v(a, b, s)"
"""In the first row `a` is null, and dividing by `b` or casting `s` fails."""
_NOT_EVALUATED = [
    *("a + (1 DIV b)", "a - 7 * (1 DIV b)", "a * (1 DIV b) + (2 DIV b)", "(1 DIV b) / a"),
    *("(1 DIV b) % a", "(1 DIV b) DIV a", "mod(1 DIV b, a)", "pmod(1 DIV b, a)"),
    *("a = (1 DIV b)", "a < CAST(s AS INT)", "a & CAST(s AS INT)", "a IN (5, CAST(s AS INT))"),
    *("a BETWEEN 1 AND CAST(s AS INT)", "nullif(a, CAST(s AS INT))"),
    "substring(CAST(a AS STRING), CAST(s AS INT))",
    *("locate(CAST(1 DIV b AS STRING), 'abc', a)", "date_add(DATE'2024-1-1' + a, CAST(s AS INT))"),
    *("lpad(CAST(a AS STRING), CAST(s AS INT), 'x')", "make_date(a, CAST(s AS INT), 1)"),
]  # fmt: skip
_EVALUATED = [
    *("(1 DIV b) + a", "a <=> (1 DIV b)", "greatest(a, CAST(s AS INT))", "a / (1 DIV b)"),
    *("mod(a, CAST(s AS INT))", "array(a, CAST(s AS INT))", "concat_ws(',', s, 1 DIV b)"),
]  # fmt: skip
_CONSTANTS_ONLY = [
    *("CAST(bin AS STRING)", "power(k, 2)", "xpath_int(s, 'a')", "parse_url(s, 'HOST')"),
    *("from_json(s, 'a INT')", "try_variant_get(try_parse_json(s), '$.a', 'int')"),
    *("regexp_replace(s, 'a*', 'X')", "regexp_count(s, '(?=b)')"),
]  # fmt: skip
_IN_ANY_ORDER = [
    f"SELECT a || CAST(1 DIV b AS STRING) AS c {_ROWS}",
    f"SELECT if((1 DIV b) = 1, a, a) AS c {_ROWS}",
    "SELECT b, sum(d) AS a, count(DISTINCT y) AS c FROM everyday GROUP BY b",
    "SELECT b, max_by(s, y) AS a FROM everyday GROUP BY b",
    "SELECT b, any_value(s) AS a FROM everyday GROUP BY b",
]
_CONSTANTS_THAT_RAISE = [
    "SELECT ((l * k) + (1Y + 9223372036854775807)) AS a FROM everyday WHERE CAST(NULL AS BOOLEAN)",
    "SELECT k + (1 DIV 0) AS a FROM everyday WHERE k > 100",
    "SELECT k FROM everyday WHERE k > 100 AND k > CAST('x' AS INT)",
    "SELECT k > 0 OR (1 DIV 0) = k AS a FROM everyday",
    "SELECT CASE WHEN (1 DIV 0) = 1 THEN 3 ELSE 1 END AS a FROM everyday WHERE k > 100",
    "SELECT k IN (k, 1 DIV 0) AS a FROM everyday",
    "SELECT sum(1 DIV 0) AS a FROM everyday WHERE k > 100",
    "SELECT k FROM everyday WHERE k > 100 AND (TRUE AND (1 DIV 0) = 1)",
    "SELECT transform(ai, x -> x + (1 DIV 0)) AS a FROM everyday WHERE k > 100",
    "SELECT explode(array(1 DIV 0)) AS a FROM everyday WHERE k > 100",
    "SELECT dateadd(YEAR, 1000000000, DATE'2024-01-01') AS a FROM everyday WHERE k > 100",
    "SELECT int('x') + k AS a FROM everyday WHERE k > 100",
    "SELECT dt > 'x' AS a FROM everyday WHERE k > 100",
    "SELECT date_add('x', k) AS a FROM everyday WHERE k > 100",
]
_CONSTANTS_IN_BRANCHES = [
    "SELECT CASE WHEN k > 100 THEN k + (1 DIV 0) ELSE 1 END AS a FROM everyday",
    "SELECT CASE WHEN k > 0 THEN 2 WHEN (1 DIV 0) = k THEN 3 END AS a FROM everyday",
    "SELECT coalesce(k, 1 DIV 0) AS a, nvl2(k, k, int('x')) AS b FROM everyday",
    "SELECT if(k > 0, k, 1 DIV 0) AS a, decode(k, k, 'a', 1 DIV 0, 'b') AS b FROM everyday",
    "SELECT if(k > 0, true, k = 'x') AS a FROM everyday",
    "SELECT transform(ai, x -> if(x > 100000, 1 DIV 0, x)) AS a FROM everyday",
    "SELECT NULL + (1 DIV 0) AS a, CASE WHEN TRUE THEN 1 ELSE 1 DIV 0 END AS b FROM everyday",
    "SELECT k FROM everyday WHERE TRUE OR ((1 DIV 0) = 1)",
]
_Z = "(SELECT k, i, b, 1 DIV i AS z FROM extreme)"
_COMPUTED_ELSEWHERE = [
    f"SELECT k, i <> 0 AND z > 0 AS c FROM {_Z}",
    f"SELECT k, i = 0 OR z > 0 AS c, b FROM {_Z}",
    "SELECT k FROM extreme WHERE 1 DIV i > 0 AND NULL",
    "SELECT k FROM extreme WHERE k > 0 AND 1 DIV i > 0 AND CAST(NULL AS BOOLEAN)",
    "SELECT k FROM extreme WHERE 1 DIV i > 0 AND b = NULL",
    "SELECT k FROM (SELECT k, 1 DIV i AS z FROM extreme ORDER BY z)",
    "SELECT k FROM (SELECT k FROM extreme ORDER BY 1 DIV i)",
    "SELECT (SELECT k FROM extreme) AS a FROM everyday WHERE false",
    "SELECT (SELECT max(1 DIV i) FROM extreme) AS a FROM everyday WHERE 1 = 2",
]
_MAX = "9" * 32 + ".999999"
_SUMS = f"FROM VALUES (1, {_MAX}BD), (1, {_MAX}BD), (1, -{_MAX}BD), (1, -{_MAX}BD) AS v(g, d)"
_TINY = "FROM VALUES (1E-100D, 1E-100D), (2E-100D, 2E-100D), (4E-100D, 3E-100D) AS v(a, b)"
"""The products of their moments underflow to zero."""
_JSON = [
    *("'a'", "{'a':1}", '{"a":"x\ty"}', '{"a":1} x', "1 x", "12x", '"a"x', "truex", "true x"),
    *("-0", "-0.0", "1e999", "[1,2", "[1,2] 3", '{"a":1,}', "[1,]", "{a:1}", "/*c*/1", "", "  "),
    *('{"a":"\\ud800"}', '{"a":"\\ud83d\\ude00"}', '{"a":"\\x"}', "{\"a\":'b\"c'}", "NaN", "01"),
    *("1.", ".5", '{"a":"\x01"}', "{'a':'it\\'s'}", '{"a":"it\\\'s"}', '{"\\ud800":1}', "null:"),
    *('["\\ud800","x"]', "{'a':\"x'y\",\"b\":'p\"q\\'r'}", "[1,'x'", "true}", "1}", "[1e5,2.50]"),
    *("1" * 1000, "1" * 1001, "[true1]", '{"a":1E5}', '{"a":null,"a":2}', "\x00{}"),
]  # fmt: skip
_TEXTS = {
    "JSON": (
        _JSON,
        (
            "get_json_object(v, '$') a, get_json_object(v, '$.a') b, json_array_length(v) c, "
            "json_object_keys(v) d, get_json_object(v, '$[*]') e, get_json_object(v, '$[0]') f"
        ),
    ),
    "numbers": (
        [*("0x1p3", "-0x.8p0", "0x1.000001p0", "0x1p99999", "0x1", "0x1.00000100000000000001p0")],
        "try_cast(v AS DOUBLE) a, try_cast(v AS FLOAT) b",
    ),
    "formats": (
        [*("1,23", ",123", "1234", "12,345", "1,2,3", "1,", "\t1", "1\u00a0", " 1 2", "+1,2", "")],
        "try_to_number(v, '99,999') a, try_to_number(v, 'S9,999') b, try_to_number(v, '99.9') c",
    ),
    "encodings": (
        [*("YWI", "YW I=", "YQ", "Y", "YR==", "YWI=YWI=", "AAAQ", "aa======", "7", " =A", "A0B")],
        "try_to_binary(v, 'base64') a, from_base32(v) b",
    ),
    "escapes": (
        [*("%41", "%4", "%+1", "%-1", "%-0", "%e4", "%f0%9f", "%ed%a0%80", "%e4a", "%C3%A4+b")],
        "try_url_decode(v) a",
    ),
    "words": (
        [
            *("ΑΣ ΑΣ", "ﬁn ßa ǆa", "\u0130STANBUL \u0131I", "a\tB", "aΣ́b", "\U00010d70x"),
            *("\u0661\u0668", "18", ""),
        ],
        "initcap(v) a, luhn_check(v) b, instr(v, '', -5) c",
    ),
}  # fmt: skip


def test_an_argument_after_a_null_is_not_evaluated(session: Any) -> None:
    columns = ", ".join(f"{text} AS c{place}" for place, text in enumerate(_NOT_EVALUATED))
    sql = f"SELECT {columns} {_ROWS}"
    tally = Tally()
    tally.count(sql, Prepared(sql, {}).rows(), spark_rows(session, sql))
    assert (tally.different, tally.equal) == ([], 1)
    assert not isinstance(Prepared(sql, {}).rows(), str)


@pytest.mark.parametrize("unit", ["QUARTER", "HOUR"])
def test_the_local_time_of_an_instant_is_not_computed_next_to_a_null(
    unit: str, session: Any
) -> None:
    """In Zurich, the last instant has no local time that an instant can hold."""
    rows = "FROM VALUES (9223372036854775807, NULL), (0, DATE'2026-01-01') AS v(n, d)"
    both = f"timestampdiff({unit}, {{}}, {{}})"
    time = "timestamp_micros(n)"
    sql = f"SELECT {both.format(time, 'd')} AS a, {both.format('d', time)} AS b {rows}"
    session.conf.set("spark.sql.session.timeZone", "Europe/Zurich")
    try:
        expected = spark_rows(session, sql)
    finally:
        session.conf.set("spark.sql.session.timeZone", "UTC")
    tally = Tally()
    tally.count(sql, Prepared(sql, {}, Settings(time_zone="Europe/Zurich")).rows(), expected)
    assert (tally.different, tally.equal) == ([], 1)


@pytest.mark.parametrize("text", _EVALUATED)
def test_an_argument_that_spark_evaluates_fails_on_both(text: str, session: Any) -> None:
    sql = f"SELECT {text} AS c {_ROWS}"
    assert isinstance(Prepared(sql, {}).rows(), str)
    assert isinstance(spark_rows(session, sql), str)


def test_what_only_spark_computes_for_some_values_is_refused_over_columns() -> None:
    for text in _CONSTANTS_ONLY:
        with pytest.raises(Refused) as caught:
            Prepared(f"SELECT {text} AS a FROM extreme", TABLES)
        assert caught.value.refusal.blame is Blame.RUNNER


@pytest.mark.parametrize("sql", _IN_ANY_ORDER)
def test_what_depends_on_an_order_that_spark_changes_is_refused(sql: str) -> None:
    with pytest.raises(Refused) as caught:
        Prepared(sql, TABLES)
    assert caught.value.refusal.blame is Blame.RUNNER


@pytest.mark.parametrize("sql", _COMPUTED_ELSEWHERE)
def test_what_only_one_engine_computes_for_some_rows_is_refused(sql: str) -> None:
    with pytest.raises(Refused) as caught:
        Prepared(sql, TABLES)
    assert caught.value.refusal.place(sql) is not None


def test_a_sequence_longer_than_an_array_fails_before_it_is_made() -> None:
    rows = Prepared("SELECT size(sequence(k, k + 3000000000L)) AS a FROM everyday", TABLES).rows()
    assert "longer than any array" in str(rows)


def test_a_constant_that_only_spark_computes_is_refused() -> None:
    assert str(Prepared("SELECT CAST(X'41' AS STRING) AS a", {}).rows()).endswith('"A"]]')
    with pytest.raises(Refused, match="only Spark"):
        Prepared("SELECT concat('x', CAST(X'ff' AS STRING)) AS a", {})


@pytest.mark.parametrize("sql", _CONSTANTS_THAT_RAISE)
def test_a_constant_that_raises_on_spark_before_any_row_is_refused(sql: str, session: Any) -> None:
    assert isinstance(spark_rows(session, sql), str)
    with pytest.raises(Refused, match="a constant raises"):
        Prepared(sql, TABLES)


@pytest.mark.parametrize("sql", _CONSTANTS_IN_BRANCHES)
def test_a_constant_in_a_branch_raises_only_where_a_row_needs_it(sql: str, session: Any) -> None:
    tally = Tally()
    tally.count(sql, Prepared(sql, TABLES).rows(), spark_rows(session, sql))
    assert (tally.different, tally.equal) == ([], 1)
    assert not isinstance(Prepared(sql, TABLES).rows(), str)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT sum(d) AS a {_SUMS}",
        f"SELECT g, sum(d) AS a {_SUMS} GROUP BY g",
        f"SELECT sum(d) OVER () AS a {_SUMS}",
        f"SELECT sum(d) OVER (ORDER BY d) AS a {_SUMS}",
        "SELECT b, sum(big) AS a FROM extreme GROUP BY b",
        (
            "SELECT max_by(s, y) AS a, min_by(w, y) AS c, any_value(dt) AS d, "
            "any_value(b, true) AS e FROM everyday WHERE k > 2"
        ),
        "SELECT k, array_sort(ai, (x, y) -> CASE WHEN x < y THEN 1 ELSE -1 END) AS a FROM everyday",
        "SELECT k, array(dt, dt) AS a, map(dt, ts) AS c FROM extreme WHERE k <> 4",
        "SELECT k, dateadd(DATE '1500-02-28', i) AS a, date_sub(dt, i) AS c FROM extreme",
        "SELECT regr_avgx(i, l) AS a, regr_avgy(d, i) AS c FROM everyday",
        "SELECT k, negative(((l - big) + (l + dec))) AS a FROM extreme",
        "SELECT k, -big AS a, -(-big) AS c, abs(-big) AS d FROM extreme WHERE k > 2",
        "SELECT -big AS a FROM extreme WHERE k = 1",
        f"SELECT -{_MAX}BD AS a, - {_MAX} AS b, -(1{_MAX[1:]}) AS c",
        "SELECT abs(big) AS a FROM extreme WHERE k <> 2",
        "SELECT abs(big) AS a FROM extreme WHERE k = 2",
        "SELECT corr(d, 0) AS a, corr(0, d) AS b, corr(d, k) AS c FROM extreme",
        "SELECT corr(d, 0) AS a, corr(d, d) AS b FROM extreme WHERE k = 1",
        "SELECT corr(d, 0) AS a, covar_samp(d, 0) AS b, regr_r2(0, d) AS c FROM extreme GROUP BY b",
        f"SELECT corr(a, b) AS c {_TINY}",
        f"SELECT regr_r2(a, b) AS c {_TINY}",
        f"SELECT skewness(a) AS c {_TINY}",
        f"SELECT kurtosis(a) AS c {_TINY}",
    ],
)
def test_a_statement_ends_as_on_spark(sql: str, session: Any) -> None:
    tally = Tally()
    tally.count(sql, Prepared(sql, TABLES).rows(), spark_rows(session, sql))
    assert (tally.different, tally.equal) == ([], 1)


@pytest.mark.parametrize("kind", _TEXTS)
def test_hostile_texts_are_read_as_spark_reads_them(kind: str, session: Any) -> None:
    texts, columns = _TEXTS[kind]
    table = pa.table({"n": pa.array(range(len(texts)), pa.int32()), "v": pa.array(texts)})
    session.createDataFrame(table, schema_text(table.schema)).createOrReplaceTempView("texts")
    sql = f"SELECT n, {columns} FROM texts"
    tally = Tally()
    tally.count(sql, Prepared(sql, {"texts": table}).rows(), spark_rows(session, sql))
    assert (tally.different, tally.equal) == ([], 1)
