import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from headrace.errors import PredicateSyntaxError
from headrace.expr.node import (
    And,
    Column,
    Compare,
    CompareOp,
    Constant,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    Value,
)
from headrace.expr.parse import parse_predicate

X, Y = Column(("x",)), Column(("y",))


def _compare(op: str, value: Value, column: Column = X) -> Compare[Column]:
    return Compare(column, CompareOp(op), Literal(value))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1", _compare("=", 1)),
        ("x == 1", _compare("=", 1)),
        ("x <> 1", _compare("<>", 1)),
        ("x != 1", _compare("<>", 1)),
        ("x <=> 1", _compare("<=>", 1)),
        ("5 < x", _compare(">", 5)),
        ("5 <= x", _compare(">=", 5)),
        ("5 <=> x", _compare("<=>", 5)),
        ("(x) = ((1))", _compare("=", 1)),
        ("a.b.c = 1", _compare("=", 1, Column(("a", "b", "c")))),
        ("a.b.c.d.e.f = 1", _compare("=", 1, Column(("a", "b", "c", "d", "e", "f")))),
        ("`a b`.`c.d` = 1", _compare("=", 1, Column(("a b", "c.d")))),
        ("`x``y` = 1", _compare("=", 1, Column(("x`y",)))),
        ("date = '2024-01-01'", _compare("=", "2024-01-01", Column(("date",)))),
        ("x BETWEEN 1 AND 2", And((_compare(">=", 1), _compare("<=", 2)))),
        ("x NOT BETWEEN 1 AND 2", Not(And((_compare(">=", 1), _compare("<=", 2))))),
        ("x IN (1, NULL)", In(X, (Literal(1), Literal(None)))),
        ("x NOT IN (-1)", Not(In(X, (Literal(-1),)))),
        ("x IS NULL", IsNull(X)),
        ("x IS NOT NULL", Not(IsNull(X))),
        ("x IS TRUE", _compare("<=>", True)),
        ("x IS NOT FALSE", Not(_compare("<=>", False))),
        ("x IS DISTINCT FROM 1", Not(_compare("<=>", 1))),
        ("x LIKE 'ab%'", StartsWith(X, "ab")),
        ("x NOT LIKE 'ab%'", Not(StartsWith(X, "ab"))),
        ("startswith(x, 'a%_')", StartsWith(X, "a%_")),
        ("x LIKE 'a%b'", Like(X, "a%b")),
        ("x NOT LIKE '_'", Not(Like(X, "_"))),
        ("x LIKE 'abc'", Like(X, "abc")),
        ("x LIKE 'a\\\\%'", Like(X, "a\\%")),
        ("x", X),
        ("NOT x", Not(X)),
        ("!x", Not(X)),
        ("TRUE", Constant(True)),
        ("NULL", Constant(None)),
        ("1 = 1", Constant(True)),
        ("'a' > 'b'", Constant(False)),
        ("NULL <=> NULL", Constant(True)),
        ("1 = NULL", Constant(None)),
        ("x AND y AND x", And((X, Y, X))),
        ("x AND (y AND x)", And((X, Y, X))),
        ("x OR y AND x", Or((X, And((Y, X))))),
        ("NOT x AND y", And((Not(X), Y))),
        ("x = 1 -- and a comment", _compare("=", 1)),
    ],
)
def test_sql_becomes_nodes(text: str, expected: Predicate) -> None:
    assert parse_predicate(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("-1", -1),
        ("- -1", 1),
        ("+1", 1),
        ("1L", 1),
        ("1S", 1),
        ("1Y", 1),
        ("-9223372036854775808L", -(2**63)),
        ("12345678901234567890", 12345678901234567890),
        ("1.50", Decimal("1.50")),
        (".5", Decimal("0.5")),
        ("1.5BD", Decimal("1.5")),
        ("1e3", 1000.0),
        ("1.5D", 1.5),
        ("0.1F", 0.10000000149011612),
        ("-1.5e-3", -0.0015),
        ("double('-inf')", float("-inf")),
        ("TRUE", True),
        ("NULL", None),
        ("'it\\'s'", "it's"),
        ("'it''s'", "it's"),
        ('"say ""hi"""', 'say "hi"'),
        ("'a' 'b'", "ab"),
        ("'\\n\\u00e9\\\\'", "\né\\"),
        ("r'\\n'", "\\n"),
        ("''", ""),
        ("X'1Fa0'", b"\x1f\xa0"),
        ("DATE '2024-02-29'", date(2024, 2, 29)),
        ("DATE '2024-02'", date(2024, 2, 1)),
        ("CAST('2024-02-29' AS DATE)", date(2024, 2, 29)),
        ("TIMESTAMP '2024-01-01 10:11:12.123456'", datetime(2024, 1, 1, 10, 11, 12, 123456)),  # noqa: DTZ001
        ("TIMESTAMP_NTZ '2024-01-01T10:11'", datetime(2024, 1, 1, 10, 11)),  # noqa: DTZ001
        ("TIMESTAMP '2024-01-01 10:11:12Z'", datetime(2024, 1, 1, 10, 11, 12, tzinfo=UTC)),
        (
            "TIMESTAMP '2024-01-01 10:11:12 +02:00'",
            datetime(2024, 1, 1, 10, 11, 12, tzinfo=timezone(timedelta(hours=2))),
        ),
    ],
)
def test_literals_have_spark_types(text: str, expected: Value) -> None:
    predicate = parse_predicate(f"x = {text}")
    assert isinstance(predicate, Compare)
    value = predicate.literal.value
    assert (type(value), value) == (type(expected), expected)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("f(x) > 3", [X]),
        ("x > y", [X, Y]),
        ("CAST(x AS INT) = 3", [X]),
        ("x + 1 > 3", [X]),
        ("x LIKE 'a\\\\'", [X]),
        ("x LIKE 'a\\\\b%'", [X]),
        ("x LIKE 'a%' ESCAPE '!'", [X]),
        ("x RLIKE 'a'", [X]),
        ("x ILIKE 'a%'", [X]),
        ("x IN (1, y)", [X, Y]),
        ("CASE WHEN x THEN y END", [X, Y]),
        ("m['a'] = y", [Column(("m",)), Y]),
        ("a.b[0].c = 1", [Column(("a", "b"))]),
        ("exists(x, e -> e > y)", [X, Y]),
        ("(x > 1) IS NULL", [X]),
        ("x > current_date()", [X]),
        ("x = DATE '2024-01-01' + INTERVAL 1 DAY", [X]),
        ("x = DATE '12024-01-01'", [X]),
        ("x = TIMESTAMP '2024-01-01 00:00:00 Europe/Zurich'", [X]),
        ("x = 'a' COLLATE UTF8_LCASE", [X]),
        ("f(DISTINCT_TABLE.x)", [Column(("DISTINCT_TABLE", "x"))]),
    ],
)
def test_unsupported_conditions_are_opaque_and_name_their_columns(
    text: str, columns: list[Column]
) -> None:
    predicate = parse_predicate(text)
    assert isinstance(predicate, Opaque)
    assert list(predicate.columns) == columns


def test_only_the_unsupported_part_is_opaque() -> None:
    predicate = parse_predicate("x BETWEEN 1 AND y")
    assert predicate == And((_compare(">=", 1), Opaque("x <= y", (X, Y))))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "-- nothing",
        ";",
        "x = 1; y = 2",
        "x = 1;",
        "x =",
        "x = 1)",
        "x AND",
        "x = 1 y",
        "x = 1 ORDER BY x",
        "x = 'abc",
        "`x = 1",
        "x = /* 1",
        "SELECT 1",
        "DROP TABLE x",
        "x IN (SELECT 1)",
        "EXISTS (SELECT 1)",
        "(SELECT 1) = x",
        "x IN ()",
        "count(x) > 3",
        "sum(x) OVER () > 3",
        "explode(x)",
        "x = ?",
        "x = :p",
        "* = 1",
        "x = 0x1F",
        "x = X'1'",
        "x = 128Y",
        "x = 9223372036854775808L",
        "x = 1e400",
        "x = " + "9" * 39,
        "x = 0." + "9" * 39,
        "x = DATE 'abc'",
        "x = DATE '2024-02-30'",
        "x = TIMESTAMP '2024-01-01 25:00:00'",
        "x IS 3",
        "1",
        "'abc'",
        "ELSE",
        "x = '\ud800'",
        "(" * 500 + "x" + ")" * 500,
        "NOT " * 5000 + "x",
        "x = " + "f(" * 3000 + "1" + ")" * 3000,
    ],
)
def test_an_invalid_condition_is_a_syntax_error(text: str) -> None:
    with pytest.raises(PredicateSyntaxError):
        parse_predicate(text)


@pytest.mark.parametrize(
    ("text", "position"),
    [("x = 1)", 6), ("x = 1 y", 7), ("x\n=\n1)", 6), ("x AND", 3)],
)
def test_a_syntax_error_has_a_position(text: str, position: int) -> None:
    with pytest.raises(PredicateSyntaxError) as caught:
        parse_predicate(text)
    assert caught.value.position == position


def test_a_long_chain_does_not_count_as_deep_nesting() -> None:
    predicate = parse_predicate(" OR ".join(f"x = {i}" for i in range(5000)))
    assert isinstance(predicate, Or)
    assert len(predicate.parts) == 5000
    assert pickle.loads(pickle.dumps(predicate)) == predicate


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("x=1 and y>2", "x = 1 AND y > 2"),
        ("(x=1 or y=2) and x<>3", "(x = 1 OR y = 2) AND x <> 3"),
        ("x is not null", "x IS NOT NULL"),
        ("x not in (1,null)", "x NOT IN (1, NULL)"),
        ("not (x=1)", "NOT (x = 1)"),
        ("x like 'it\\'s%'", "x LIKE 'it\\'s%'"),
        ("startswith(x, '100%')", "startswith(x, '100%')"),
        ("`a b`.c = 1.5", "`a b`.c = 1.5BD"),
        ("x = 1e3", "x = 1000.0D"),
        ("x = double('nan')", "x = DOUBLE('nan')"),
        ("x = date'2024-01-01'", "x = DATE '2024-01-01'"),
        ("x = timestamp'2024-01-01 00:00:00Z'", "x = TIMESTAMP '2024-01-01 00:00:00+00:00'"),
        ("x = timestamp'2024-01-01'", "x = TIMESTAMP '2024-01-01 00:00:00'"),
        ("x = timestamp_ntz'2024-01-01'", "x = TIMESTAMP_NTZ '2024-01-01 00:00:00'"),
        ("x = 5L", "x = 5L"),
        ("x = cast('1.5' as decimal(9,2))", "x = CAST('1.50' AS decimal(9,2))"),
        ("x = x'0a'", "x = X'0A'"),
        ("null or true", "NULL OR TRUE"),
        ("abs( x )>1", "ABS(x) > 1"),
    ],
)
def test_predicates_print_as_sql(text: str, printed: str) -> None:
    assert str(parse_predicate(text)) == printed
