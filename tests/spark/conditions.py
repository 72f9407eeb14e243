"""Random SQL conditions over a table with columns of every type; Spark is the oracle."""

import math
import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.lake.log import write_commit
from tests.rows.lake import array, field, mapping, struct, table_lines
from tests.spark.lake import data_file

NAN, INF = float("nan"), float("inf")
DAY = date(2026, 3, 8)
MOMENT = datetime(2026, 3, 8, 6, 30, tzinfo=UTC)
POOLS: dict[str, Sequence[Any]] = {
    "byte": (-128, -1, 0, 1, 127),
    "short": (-32768, -1, 0, 1, 32767),
    "integer": (-(2**31), -1, 0, 5, 2**31 - 1),
    "long": (-(2**63), -1, 0, 5, 2**53, 2**53 + 1, 2**63 - 1),
    "float": (NAN, -INF, -1.5, -0.0, 0.0, 0.1, 16777216.0, INF),
    "double": (NAN, -INF, -1.5, -0.0, 0.0, 0.1, 1e300, INF),
    "decimal(10,2)": tuple(map(Decimal, ("-99999999.99", "-0.01", "0.00", "5.00", "5.01"))),
    "decimal(38,10)": tuple(
        map(
            Decimal,
            (
                "-1234567890123456789012345678.9876543210",
                "0.0000000000",
                "5.0000000000",
                "123456789012345678.1234567890",
                "9999999999999999999999999999.9999999999",
            ),
        )
    ),
    "decimal(38,20)": tuple(
        map(Decimal, ("5.00000000000000000000", "999999999999999999.99999999999999999999"))
    ),
    "string": ("", "a", "A", "ab", "a%b", "a_b", "C:\\x\\", "\\", "5", "ü", "\U0001f600", "a\nb"),
    "boolean": (True, False),
    "date": tuple(DAY + timedelta(days=n) for n in (-400, -1, 0, 1, 250)),
    "timestamp": tuple(MOMENT + timedelta(minutes=30 * n) for n in (-20, -13, -1, 0, 1, 3, 11)),
    "timestamp_ntz": tuple(
        MOMENT.replace(tzinfo=None) + timedelta(minutes=30 * n) for n in (-20, -13, -1, 0, 1, 3, 11)
    ),
}
ARROW = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(38,10)": pa.decimal128(38, 10),
    "decimal(38,20)": pa.decimal128(38, 20),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
COLUMNS = {f"c{number}": kind for number, kind in enumerate(POOLS)}
OUTER = {f"m{number}": kind for number, kind in enumerate(POOLS)}
INNER = {"d": "double", "m": "decimal(10,2)", "t": "string", "at": "timestamp"}
MEMBERS = {f"s.{name}": kind for name, kind in OUTER.items()} | {
    f"s.i.{name}": kind for name, kind in INNER.items()
}
PARTITIONS = {f"p{number}": kind for number, kind in enumerate(POOLS)}
OPERANDS = {**COLUMNS, **MEMBERS, **PARTITIONS}
NULL_TESTED = ("s", "s.i", "raw", "list", "map")
OPERATORS = ("=", "<>", "!=", "<", "<=", ">", ">=", "<=>")
NUMBERS = (
    *("0", "-0", "5", "5L", "-1", "127", "128", "3000000000", "9007199254740993", "5S"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809"),
    *("99999999999999999999", "-99999999999999999999.5", "12345678901234567890123456789012345678"),
    *("0.0", "0.1", "5.0", "5.005", "5.00000000001", "5.00BD", "-0.01", "99999999.99"),
    *("123456789012345678.12345678901", "123456789012345678.1234567890"),
    *("5.00000000000000000000000000000000001", "1000000000000000000", "0.1D", "-0.0D", "1e300"),
    *("16777217", "0.1F", "double('NaN')", "double('Infinity')", "CAST('5.0' AS DECIMAL(12,1))"),
    *("'5'", "'5.0'", "' 5 '", "'NaN'", "NULL"),
)
TEXTS = ("''", "'a'", "'A'", "'ab'", "'\\\\'", "'C:\\\\x\\\\'", "'5'", "'ü'", "'b'", "NULL")
PATTERNS = (
    *("'a%'", "'%b'", "'a_b'", "'%'", "'_'", "''", "'a\\\\%b'", "'a\\\\_b'", "'%\\\\\\\\'"),
    *("'C:\\\\\\\\%'", "'%\\\\\\\\x%'", "'\\\\\\\\'", "'%a%'", "'__%'", "'a%b%'"),
)
TIMES = (
    *("'2026-03-08'", "DATE '2026-03-08'", "'2026-03-08 01:30:00'", "'2026-03-08 06:30:00Z'"),
    *("TIMESTAMP '2026-03-08 06:30:00'", "TIMESTAMP '2026-03-08 02:30:00'", "'2026-03-09'"),
    *("TIMESTAMP '2026-03-08 06:30:00+00:00'", "TIMESTAMP_NTZ '2026-03-08 06:30:00'"),
    *("'2026-03-08T06:30:00-05:00'", "TIMESTAMP '2026-03-08 00:00:00-05:00'", "NULL"),
)


def condition(draw: random.Random, depth: int = 2) -> str:
    """Return a random condition, with up to three levels of logic."""
    if depth and draw.random() < 0.45:
        parts = [condition(draw, depth - 1) for _ in range(draw.choice((1, 2, 2, 3)))]
        word = draw.choice((" AND ", " OR "))
        joined = word.join(f"({part})" for part in parts)
        return f"NOT ({joined})" if draw.random() < 0.3 else joined
    return _leaf(draw)


def _leaf(draw: random.Random) -> str:
    column = draw.choice((*OPERANDS, *OPERANDS, *NULL_TESTED))
    kind = OPERANDS.get(column)
    if kind is None or draw.random() < 0.12:
        return f"{column} IS {draw.choice(('', 'NOT '))}NULL"
    literals = _literals(kind)
    if kind == "string" and draw.random() < 0.5:
        return f"{column} {draw.choice(('', 'NOT '))}LIKE {draw.choice(PATTERNS)}"
    if kind == "boolean" and draw.random() < 0.4:
        return draw.choice((column, f"{column} IS TRUE", f"{column} IS NOT FALSE"))
    if kind == "string" and draw.random() < 0.1:
        return f"startswith({column}, {draw.choice(TEXTS)})"
    column = draw.choice((column, column, column.upper()))
    match draw.randrange(12):
        case 0 | 1:
            listed = ", ".join(draw.choices(literals, k=draw.randint(1, 4)))
            return f"{column} {draw.choice(('', 'NOT '))}IN ({listed})"
        case 2:
            negated = draw.choice(("", "NOT "))
            return f"{column} {negated}BETWEEN {draw.choice(literals)} AND {draw.choice(literals)}"
        case 3:
            return f"{draw.choice(literals)} {draw.choice(OPERATORS)} {column}"
        case 4:
            negated = draw.choice(("", "NOT "))
            return f"{column} IS {negated}DISTINCT FROM {draw.choice(literals)}"
        case 5:
            compared = f"{column} {draw.choice(OPERATORS)} {draw.choice(literals)}"
            return f"({compared}) IS {draw.choice(('', 'NOT '))}{draw.choice(('TRUE', 'FALSE'))}"
        case _:
            return f"{column} {draw.choice(OPERATORS)} {draw.choice(literals)}"


def _literals(kind: str) -> Sequence[str]:
    match kind:
        case "string":
            return TEXTS
        case "boolean":
            return ("TRUE", "FALSE", "NULL", "'true'")
        case "date" | "timestamp" | "timestamp_ntz":
            return TIMES
        case _:
            return NUMBERS


def write_table(folder: Path, *, files: int = 8, rows: int = 12, seed: int = 7) -> Path:
    """Write a partitioned table of these columns, in small row groups, with some null values."""
    draw = random.Random(seed)
    inner = struct(*(field(name, kind) for name, kind in INNER.items()))
    outer = struct(*(field(name, kind) for name, kind in OUTER.items()), field("i", inner))
    fields = [
        field("id", "long"),
        *(field(name, kind) for name, kind in (COLUMNS | PARTITIONS).items()),
        field("s", outer),
        field("raw", "binary"),
        field("list", array("long")),
        field("map", mapping("string", "long")),
    ]
    lines = table_lines(fields, partition_columns=list(PARTITIONS))
    for number in range(files):
        data = _data(draw, range(number * rows, (number + 1) * rows), is_poor=number % 3 == 0)
        values = {name: _text(_or_null(draw, POOLS[k])) for name, k in PARTITIONS.items()}
        lines.append(
            data_file(folder, f"{number}.parquet", data, partition_values=values, row_group_size=3)
        )
    write_commit(folder, 0, lines)
    return folder


def _data(draw: random.Random, ids: range, *, is_poor: bool) -> pa.Table:
    """Return rows; in a poor file, some columns are entirely null."""

    def column(kind: str) -> list[Any]:
        if is_poor and draw.random() < 0.3:
            return [None] * len(ids)
        return [_or_null(draw, POOLS[kind]) for _ in ids]

    columns = {name: pa.array(column(kind), ARROW[kind]) for name, kind in COLUMNS.items()}
    inner = pa.struct([(name, ARROW[kind]) for name, kind in INNER.items()])
    outer = pa.struct([*((name, ARROW[kind]) for name, kind in OUTER.items()), ("i", inner)])
    parts: list[Callable[[], Any]] = [lambda: None, lambda: _struct(draw), lambda: _struct(draw)]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            **columns,
            "s": pa.array([draw.choice(parts)() for _ in ids], outer),
            "raw": pa.array([_or_null(draw, (b"", b"x")) for _ in ids], pa.binary()),
            "list": pa.array([_or_null(draw, ([], [1, None])) for _ in ids], pa.list_(pa.int64())),
            "map": pa.array(
                [_or_null(draw, ([], [("k", 1)])) for _ in ids], pa.map_(pa.string(), pa.int64())
            ),
        }
    )


def _struct(draw: random.Random) -> dict[str, Any]:
    inner = {name: _or_null(draw, POOLS[kind]) for name, kind in INNER.items()}
    outer = {name: _or_null(draw, POOLS[kind]) for name, kind in OUTER.items()}
    return {**outer, "i": _or_null(draw, (inner,))}


def _or_null(draw: random.Random, pool: Sequence[Any]) -> Any:
    return None if draw.random() < 0.15 else draw.choice(pool)


def _text(value: Any) -> str | None:
    """Return a partition value as Delta writes it."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case float() if not math.isfinite(value):
            return str(value).replace("inf", "Infinity").replace("nan", "NaN")
        case Decimal():
            return f"{value:f}"
        case datetime() if value.tzinfo is None:
            return value.strftime("%Y-%m-%d %H:%M:%S.%f")
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        case _:
            return str(value)
