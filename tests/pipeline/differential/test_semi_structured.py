"""Variants, JSON schemas and XML: Spark's result for each value, or an error that names Spark."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from headrace.pipeline.translation.refusal import Refused
from tests.effort import examples
from tests.pipeline.differential.engine import (
    Tally,
    prepare,
    spark_rows,
    spark_rows_together,
)
from tests.pipeline.differential.hard_table import TABLES

_TEXTS = (
    *("null", "true", "1", "-7", "1.5", "100.00", "1e2", '"x"', '"12"', '" 12x"', "[]", "{}"),
    *("3000000000", "12345678901234567890", "0.1", "-0", "[1, 2.5]", '[1, "x"]', "[null, 1]"),
    *('[{"a":1},{"b":2}]', "[1, 1e3]", '[[1],["x"]]', '{"b":[5,6],"a":{"c":null}}', "nope"),
    *('{"a":1,"a":2}', "{'a':1}", "", " 1 ", "1 2", '{"é":1}', '{"a":"\\u00e9\\n"}', "[1.0, 10]"),
    *("123456789012345678901234567890123456789012", "1E400", "-9223372036854775808"),
)  # fmt: skip
_PATHS = ("$", "$.b[1]", "$[0]")
_TYPES = ("int", "bigint", "double", "string", "boolean")
_VARIANT_CALLS = (
    *("schema_of_variant(try_parse_json({0}))", "is_variant_null(try_parse_json({0}))"),
    "schema_of_json({0})",
    *(f"try_variant_get(try_parse_json({{0}}), '{p}', '{k}')" for p, k in product(_PATHS, _TYPES)),
    "try_variant_get(try_variant_get(try_parse_json({0}), '$.b'), '$[0]', 'string')",
)
_STRICT_CALLS = ("variant_get(parse_json({0}), '$', 'int')", "is_variant_null(parse_json({0}))")
_STRICT_TEXTS = ("1", "3000000000", '" 12x"', "[1]", "nope", '{"a":1,"a":2}', "null")
"""Calls that fail on Spark are sent to it one by one."""
_XML = (
    *("<a><b>1</b><b>2</b></a>", "<a><b> 1.5 </b></a>", "<a><b>x</b></a>", "<a/>", "<c><b/></c>"),
    *("<a><b>1<d>2</d>3</b></a>", "", "<a b='7'/>", "<a><b/></a>", "<a><b>&lt;</b></a>"),
    *("<a>\n <b>1</b>\n</a>", "<a><b>40000</b></a>", "<a><b>3000000000</b></a>", "<a><!--x--></a>"),
    *("<a><b>-2.9</b></a>", "<a><b>.5</b><b>5.</b><b>1e3</b></a>", "<a><b>é</b></a>"),
)  # fmt: skip
_NOT_XML = ("<a>", "x", "<a></b>")
_XML_CALLS = tuple(
    f"xpath{kind}({{0}}, '{path}')"
    for kind, path in product(
        ("", "_boolean", "_string", "_double", "_float", "_short", "_int", "_long"),
        ("a/b", "a/b/text()", "/a/b", "sum(a/b)", "count(a/b)", "a/@b", "a", "a/b/d"),
    )
)
_STATEMENTS = [
    (
        "SELECT sequence(dt, DATE'2024-05-31', INTERVAL 1 MONTH) AS a FROM everyday WHERE dt < "
        "DATE'2024-05-31'"
    ),
    "SELECT sequence(DATE'2020-02-29', DATE'2016-01-01', INTERVAL -1 YEAR) AS a",
    "SELECT sequence(DATE'2020-02-29', DATE'2020-02-29', INTERVAL -1 YEAR) AS a",
    "SELECT sequence(DATE'2020-02-29', DATE'2020-02-20') AS a",
    "SELECT sequence(DATE'2020-02-20', DATE'2020-02-29', INTERVAL 3 DAYS) AS a",
    "SELECT sequence(DATE'2020-02-20', DATE'2020-02-29', INTERVAL -3 DAYS) AS a",
    "SELECT k, (k, i) IN ((1, 3), (2, 5), (5, 1)) AS a FROM everyday",
    "SELECT k FROM everyday WHERE (k, i) NOT IN ((1, 3), (2, 5))",
    "SELECT k, (s, dt) IN (('abc', DATE'2024-02-29')) AS a FROM everyday",
    "SELECT bin(dec) AS a, bin(d) AS c FROM everyday",
    "SELECT to_char(dt, 'yyyy/MM') AS a, to_varchar(ts, 'HH:mm:ss') AS c FROM everyday",
]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def _count(session: Any, calls: Sequence[str], texts: Sequence[str]) -> Tally:
    """Compare calls on texts; the calls on one text go to Spark as one query.

    By default, each text is combined with some of the calls; a soak run uses all of them.
    """
    tally = Tally()
    stride = max(len(calls) // examples(4), 1)
    for place, text in enumerate(texts):
        prepared = []
        for call in calls[place % stride :: stride]:
            try:
                prepared.append(prepare(f"SELECT {call.format(_quoted(text))}", {}))
            except Refused:
                tally.refused += 1
        answers = spark_rows_together(session, [statement.sql for statement in prepared])
        for statement, theirs in zip(prepared, answers, strict=True):
            tally.count(statement.sql, statement.rows(), theirs)
    return tally


def test_variants_are_read_and_cast_as_spark_does(session: Any) -> None:
    for calls, texts in ((_VARIANT_CALLS, _TEXTS), (_STRICT_CALLS, _STRICT_TEXTS)):
        tally = _count(session, calls, texts)
        print(f"variants: {tally}")  # noqa: T201  (the counts are what it measures)
        assert tally.different == []
        assert tally.equal > tally.refused


def test_paths_through_xml_are_followed_as_spark_does(session: Any) -> None:
    for calls, texts in ((_XML_CALLS, _XML), (_XML_CALLS[::20], _NOT_XML)):
        tally = _count(session, calls, texts)
        print(f"XPath: {tally}")  # noqa: T201  (the counts are what it measures)
        assert tally.different == []
        assert tally.equal > tally.refused


@pytest.mark.parametrize("sql", _STATEMENTS)
def test_a_statement_returns_the_same_rows(sql: str, session: Any) -> None:
    tally = Tally()
    tally.count(sql, prepare(sql, TABLES).rows(), spark_rows(session, sql))
    assert (tally.different, tally.equal) == ([], 1)
