"""Two tables with the same columns: one with everyday values, one with extreme values."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa

INF, NAN = float("inf"), float("nan")

COLUMNS: dict[str, pa.DataType] = {
    "k": pa.int32(),
    "b": pa.bool_(),
    "y": pa.int8(),
    "i": pa.int32(),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "dec": pa.decimal128(10, 2),
    "big": pa.decimal128(38, 6),
    "s": pa.string(),
    "w": pa.string(),
    "dt": pa.date32(),
    "ts": pa.timestamp("us", "UTC"),
    "ntz": pa.timestamp("us"),
    "bin": pa.binary(),
    "ai": pa.list_(pa.field("element", pa.int32())),
    "st": pa.list_(pa.field("element", pa.string())),
    "m": pa.map_(pa.field("key", pa.string(), nullable=False), pa.field("value", pa.int32())),
}


def _days(*texts: str) -> list[int | None]:
    return [(dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days for text in texts]


EVERYDAY: dict[str, list[Any]] = {
    "k": [1, 2, 3, 4, 5, 6, 7, 8],
    "b": [True, False, None, True, False, None, True, True],
    "y": [1, 2, None, 3, -1, 0, 2, 1],
    "i": [3, -2, 0, 7, None, 3, 12, 1],
    "l": [10, 20, -30, None, 10, 0, 5, 7],
    "f": [0.5, -1.25, 2.0, 0.0, None, 3.75, 100.0, -0.0],
    "d": [0.5, -1.5, 2.0, 0.0, None, 3.5, 10.0, -0.0],
    "dec": [Decimal(x) if x else None for x in
            ("1.25", "-0.05", "3.00", None, "10.10", "2.35", "0.00", "7.77")],
    "big": [Decimal(x) if x else None for x in
            ("1.000001", "2.5", None, "-3.333333", "0", "9.999999", "100.5", "1")],
    "s": ["abc", "Abc def", "", None, "a,b,c", " x ", "100", "aXbXc"],
    "w": ["b", "abc", "x", "a", None, "1", "-5", "B"],
    "dt": [*_days("2024-02-29", "2023-12-31", "1999-01-01", "2026-03-29"), None,
           *_days("2026-03-01", "2020-10-25", "1970-01-01")],
    "ts": [0, 1_700_000_000_123_456, None, 1_774_746_000_000_000, 1_603_587_600_000_000,
           86_399_999_999, 1, 951_782_400_000_000],
    "ntz": [0, None, 1_700_000_000_000_000, 3_600_000_000, 60_000_000, 1, 2, 951_868_799_000_000],
    "bin": [b"abc", b"", None, b"\x00\xff", b"a", b"b", b"Spark", b"1"],
    "ai": [[1, 2, 3], [], None, [None, 1], [3, 3, 2], [7], [0, -1], [5, None, 5]],
    "st": [["a", "b"], ["b", None], [], None, ["x", "x", "a"], [""], ["abc"], ["c", "b", "a"]],
    "m": [[("a", 1)], [("a", 2), ("b", None)], [], None, [("c", 3)], [("x", 0)], [("a", 5)], []],
}  # fmt: skip

EXTREME: dict[str, list[Any]] = {
    "k": [1, 2, 3, 4, 5, 6, 7, 8],
    "b": [None, None, True, False, True, False, None, True],
    "y": [127, -128, 0, None, 1, -1, 100, -100],
    "i": [2**31 - 1, -(2**31), 0, None, 1, -1, 10**9, -(10**9)],
    "l": [2**63 - 1, -(2**63), 0, None, 1, -1, 10**18, -(10**18)],
    "f": [NAN, INF, -INF, -0.0, 0.1, None, 3.4028234663852886e38, 1.401298464324817e-45],
    "d": [NAN, INF, -INF, -0.0, 0.0, None, 1.7976931348623157e308, 5e-324],
    "dec": [Decimal(x) if x else None for x in
            ("99999999.99", "-99999999.99", "0.00", None, "0.01", "-0.01", "0.05", "-0.05")],
    "big": [Decimal(x) if x else None for x in
            ("9" * 32 + ".999999", "-" + "9" * 32 + ".999999", "0.000001", None, "0",
             "0.500000", "-0.000001", "123456789012345678901234567890.123456")],
    "s": ["", "\U0001f600 smile", "ß straße", None, "a%b_c\\d", "\u0130\u0131", "e\u0301", "\t\n "],
    "w": ["\U0001f600", "", "%", None, "_", "\\", "ss", "\u00df"],
    "dt": [-719_893, 2_932_897, -141_428, None, -719_162, 2_932_896, 18_322, -1],
    "ts": [-62_135_596_800_000_000, 253_402_300_799_999_999, None, -1, -12_219_292_800_000_001,
           1_774_749_599_999_999, 1_774_749_600_000_000, 1_792_890_000_000_000],
    "ntz": [-62_135_596_800_000_000, 253_402_300_799_999_999, None, -1, 1, -12_219_292_800_000_000,
            1_774_749_600_000_000, 0],
    "bin": [b"\xff", b"\x80\x00", b"", None, b"\x00", b"\x7f", b"\xf0\x9f\x98\x80", b"\x00\x00"],
    "ai": [[2**31 - 1], [-(2**31), None], [], None, [None], [0, 0], [1, -1, 1], [2, 1]],
    "st": [["\U0001f600"], [None, None], [], None, ["", ""], ["\u00df", "ss"], ["a"], ["b", "a"]],
    "m": [[("", None)], [("\U0001f600", 1)], [], None, [("a", -1)], [("b", 2)], [("a", 0)], []],
}  # fmt: skip


def table(values: dict[str, list[Any]]) -> pa.Table:
    arrays = []
    for name, kind in COLUMNS.items():
        plain = values[name]
        if pa.types.is_date(kind):
            arrays.append(pa.array(plain, pa.int32()).cast(kind))
        elif pa.types.is_timestamp(kind):
            arrays.append(pa.array(plain, pa.int64()).cast(kind))
        else:
            arrays.append(pa.array(plain, kind))
    return pa.Table.from_arrays(arrays, schema=pa.schema(list(COLUMNS.items())))


TABLES: dict[str, pa.Table] = {"everyday": table(EVERYDAY), "extreme": table(EXTREME)}
