"""Rows of every comparable type, and predicates over them, for the property tests."""

import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from headrace.protocol.schema import DataType, DecimalType, Field, PrimitiveType, StructType
from tests.expr.naive import (
    NULL,
    Among,
    Cmp,
    Const,
    Every,
    Flag,
    Inverse,
    Lit,
    Node,
    Null,
    Pattern,
    Prefix,
    Some,
    micros,
    text_sql,
)

COLUMNS: dict[str, DataType] = {
    "tiny": PrimitiveType("byte"),
    "int": PrimitiveType("integer"),
    "big": PrimitiveType("long"),
    "single": PrimitiveType("float"),
    "real": PrimitiveType("double"),
    "money": DecimalType(10, 2),
    "wei": DecimalType(30, 4),
    "text": PrimitiveType("string"),
    "flag": PrimitiveType("boolean"),
    "day": PrimitiveType("date"),
    "at": PrimitiveType("timestamp"),
    "wall": PrimitiveType("timestamp_ntz"),
}
SCHEMA = StructType(tuple(Field(name, kind) for name, kind in COLUMNS.items()))
OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")

_small = st.integers(-3, 3)
_doubles = st.sampled_from(
    [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 0.1, 1.5, -2.5, 1e300, 2.0**53]
) | st.floats(width=64)
_long_texts = st.builds(
    "{}{}".format,
    st.sampled_from(["a" * 32, "a" * 31, "é" * 16, "a" * 31 + "\x7f", "\U0010ffff" * 32]),
    st.text("ab\x7f\U0010ffffé", min_size=1, max_size=3),
)
_texts = st.text("ab", max_size=3) | _long_texts | _long_texts
_days = st.dates(date(1969, 12, 30), date(1970, 1, 3)) | st.dates(date(1, 1, 2), date(9999, 12, 30))
_walls = st.builds(
    lambda ms, us: datetime(1970, 1, 1) + timedelta(milliseconds=ms, microseconds=us),  # noqa: DTZ001
    st.integers(-3, 3) | st.integers(-(10**12), 10**13),
    st.sampled_from([0, 1, 499, 999]),
)


def to_single(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _decimals(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    large = st.integers(10 ** (digits - 2), 10**digits - 1)
    units = st.integers(-300, 300) | large | large.map(lambda u: -u)
    return units.map(lambda u: Decimal((int(u < 0), tuple(map(int, str(abs(u)))), -scale)))


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "tiny": _small | st.integers(-128, 127),
    "int": _small | st.integers(-(2**31), 2**31 - 1),
    "big": _small | st.integers(2**62, 2**63 - 1) | st.integers(2**53 - 2, 2**53 + 4),
    "single": (_doubles | _small.map(float)).map(to_single),
    "real": _doubles | _small.map(float),
    "money": _decimals(10, 2),
    "wei": _decimals(30, 4),
    "text": _texts,
    "flag": st.booleans(),
    "day": _days,
    "at": _walls.map(lambda wall: wall.replace(tzinfo=UTC)),
    "wall": _walls,
}


def values(column: str) -> st.SearchStrategy[Any]:
    return st.none() | VALUES[column]


def rows(columns: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw rows with values in these columns, and nulls in all others."""
    return st.fixed_dictionaries(
        {name: values(name) if name in columns else st.none() for name in COLUMNS}
    )


def _whole(value: int) -> Lit:
    return Lit(str(value), "exact", Fraction(value))


def _decimal(value: Decimal) -> Lit:
    return (
        Lit(f"{value:f}", "exact", Fraction(value)) if "." in f"{value:f}" else _whole(int(value))
    )


def _double(value: float) -> Lit:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
        return Lit(f"double('{value}')", "double", value)
    return Lit(f"{value!r}D", "double", value)


_numbers = (
    _small.map(_whole)
    | st.integers(-(2**64), 2**64).map(_whole)
    | _decimals(6, 2).map(_decimal)
    | _decimals(30, 6).map(_decimal)
)
_double_literals = (_doubles | _small.map(float) | st.just(2.0**60)).map(_double)


def _as_double(literal: Lit) -> Lit:
    return Lit(literal.sql, "double", float(literal.value))


_mixed = _numbers.map(_as_double) | _double_literals
_whole_texts = (_small | st.integers(-(2**63), 2**63 - 1)).map(
    lambda value: Lit(f"'{value}'", "exact", Fraction(value))
)
_decimal_texts = _numbers.map(
    lambda number: Lit(f"'{float(number.value)!r}'", "double", float(number.value))
)
_double_texts = _doubles.map(lambda value: Lit(f"'{value!r}'", "double", value))


def _time(value: date | datetime) -> Lit:
    if not isinstance(value, datetime):
        return Lit(f"DATE '{value}'", "time", micros(value))
    return Lit(f"TIMESTAMP '{value}'", "time", micros(value))


_zones = st.sampled_from(
    [UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-9, minutes=-30))]
)
_times = (
    _days.map(_time)
    | _walls.map(_time)
    | st.builds(lambda w, z: _time(w.replace(tzinfo=UTC).astimezone(z)), _walls, _zones)
)


def _time_texts(column: str) -> st.SearchStrategy[Lit]:
    if column == "day":
        return _days.map(lambda d: Lit(f"'{d}'", "time", micros(d)))
    return _walls.map(lambda w: Lit(f"'{w}'", "time", micros(w)))


def literal_lists(column: str) -> st.SearchStrategy[tuple[Lit, ...]]:
    """Draw lists that Spark compares with the column in one domain."""
    match column:
        case "tiny" | "int" | "big":
            return _several(_numbers | _whole_texts) | _several(_mixed).map(_with_a_double)
        case "money" | "wei":
            return _several(_numbers) | _several(_mixed | _decimal_texts).map(_with_a_double)
        case "single" | "real":
            return _several(_mixed | _double_texts)
        case "text":
            return _several(_texts.map(lambda text: literal_of("text", text)))
        case "flag":
            flags = st.booleans().map(lambda flag: literal_of("flag", flag))
            return _several(flags | st.just(Lit("'yes'", "flag", True)))
        case _:
            return _several(_times) | _several(_time_texts(column))


def _several(literals: st.SearchStrategy[Lit]) -> st.SearchStrategy[tuple[Lit, ...]]:
    return st.lists(literals, min_size=1, max_size=12).map(tuple)


def _with_a_double(literals: tuple[Lit, ...]) -> tuple[Lit, ...]:
    return (*literals, _double(1.5))


def literal_of(column: str, value: Any) -> Lit:
    """Return the literal that equals a value of the column."""
    match column:
        case "tiny" | "int" | "big":
            return _whole(value)
        case "money" | "wei":
            return _decimal(value)
        case "single" | "real":
            return _double(value)
        case "text":
            return Lit(text_sql(value), "text", value.encode())
        case "flag":
            return Lit(str(value), "flag", value)
        case _:
            return _time(value)


def _patterns(seen: list[str]) -> st.SearchStrategy[str]:
    """Draw patterns of few letters, some of them with prefixes of values in the table."""
    parts = ["a", "b", "é", "%", "_", "\\%", "\\_", "\\\\"]
    known = [text[:2].replace("\\", "\\\\").replace("_", "\\_") for text in seen]
    return st.lists(st.sampled_from([*parts, "%", "_", *known]), max_size=5).map("".join)


def _leaves(column: str, seen: list[Any]) -> st.SearchStrategy[Node]:
    """Draw leaves over a column; half of the literals are values of the table."""
    known = [literal_of(column, value) for value in seen]
    literals = literal_lists(column).map(lambda listed_literals: listed_literals[-1])
    if known:
        literals |= st.sampled_from(known)
        literals |= st.sampled_from(known)
    literals |= st.just(NULL)
    operators = st.sampled_from(OPERATORS)
    compared = st.builds(Cmp, st.just(column), operators, literals, st.booleans())
    lists = literal_lists(column)
    if known:
        lists |= st.lists(st.sampled_from(known), min_size=1, max_size=12).map(tuple)
    nulls = st.sampled_from([(), (), (NULL,)])
    listed = st.builds(
        lambda listed_literals, more: Among(column, (*listed_literals, *more)), lists, nulls
    )
    leaves: st.SearchStrategy[Node] = compared | compared | compared | listed
    leaves |= st.just(Null(column))
    if column == "text":
        prefixes = _texts | st.sampled_from([v[:end] for v in seen for end in (1, 32)] or ["a"])
        leaves |= prefixes.map(lambda prefix: Prefix(column, prefix))
        leaves |= _patterns(seen).map(lambda pattern: Pattern(column, pattern))
    if column == "flag":
        leaves |= st.just(Flag(column))
    return leaves


def predicates(
    columns: tuple[str, ...], table: list[dict[str, Any]] | None = None
) -> st.SearchStrategy[Node]:
    """Draw predicates over these columns, with literals that are relevant to the table's rows."""
    seen = {name: [row[name] for row in table or [] if row[name] is not None] for name in columns}
    leaf = st.sampled_from(columns).flatmap(lambda name: _leaves(name, seen[name]))
    any_leaf = leaf | leaf | leaf | leaf | st.sampled_from([True, False, None]).map(Const)
    inner = any_leaf | any_leaf.map(Inverse)
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    joined = several.map(Every) | several.map(Some)
    return leaf | leaf | leaf | leaf.map(Inverse) | joined | joined.map(Inverse)
