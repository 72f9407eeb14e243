"""Statistics texts, valid and invalid, and a comparison of both ways to read them."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import product

import pyarrow as pa

from headrace.compiled.statistics import Path
from headrace.protocol.schema import DecimalType
from headrace.protocol.statistics.decoder import LeafValues
from headrace.protocol.statistics.leaf_column import LeafColumns, read_columns
from headrace.protocol.statistics.leaf_row import row_decoder

_DECIMALS = (DecimalType(20, 2), DecimalType(38, 38), DecimalType(38, 18), DecimalType(5, 0))
TYPES = (int, bool, str, float, Decimal)
SCALARS: Mapping[type, Sequence[str]] = {
    int: ("0", "7", "-12", "12345678", "-123456789", "999999999999999999"),
    bool: ("true", "false"),
    str: ('""', '"a"', '"2024-02-29"', '"eight by"', '"2024-02-29T01:02:03.004Z"', '"é €"'),
    float: ("0.0", "-1.5", "12345678.12345678", "1E10", "1.7e-5", "5", "-0.0", "0.1"),
    Decimal: ("0", "1.5", "-12345678.91", "123456789012345678", "0.125", "-0.0"),
}
UNUSUAL = (
    *("-0", "01", "1.", ".5", "+1", "1e", "1e+", "-", "NaN", "Infinity", "1_0", "0x1"),
    *("1234567890123456789", "9223372036854775808", "1e99", "1e400", "-1e-400", "1.0", "5e0"),
    *("203666", "12345678901234567890123456789012345678", "0." + "1" * 37, "9" * 400),
    *('"\\n"', '"\\u0041"', '"\\ud800"', '"\\q"', '"\\"', '"open', '"\t"'),
    *('"\x7f"', '"\\/"', '"}"', '"\\\\"'),
    *("null", "nul", "nullx", "true", "tru", "True", "[]", "[1,]", "[1 2]", "{}", '{"a":1,}'),
    *("[" * 40 + "]" * 40, '{"a":' * 31 + "1" + "}" * 31, '[{"x":[1,"]"]},null]', ""),
)


def leaves(kind: type) -> dict[Path, type]:
    """Return the leaves of the texts below."""
    sides = ("minValues", "maxValues")
    extremes = {(side, *path): kind for side in sides for path in (("id",), ("s", "é"))}
    return {("numRecords",): int, ("nullCount", "id"): int, **extremes}


def stats_text(value: str, *, other: str = "1", space: str = "") -> str:
    """Return statistics in which every minimum and maximum is written as `value`."""
    below = f'{{"id":{space}{value},"other":{other}{space},"s":{{"é":{value}}}}}'
    first = f'"numRecords"{space}:5,{space}"minValues":{below},"maxValues"'
    return f'{{{space}{first}:{space}{below}{space},"nullCount":{{"id":{space}0}}}}'


def read_both(texts: pa.BinaryArray, kind: type) -> LeafColumns | None:
    """Return what the compiled loop reads, checked against the row decoder, or None."""
    requested = leaves(kind)
    values = read_columns(texts, requested)
    if values is None:
        return None
    expected = row_decoder(requested).decode(texts)
    for leaf, leaf_kind in requested.items():
        for one, other in zip(
            _arrays(values, leaf, leaf_kind), _arrays(expected, leaf, leaf_kind), strict=True
        ):
            one.validate(full=True)
            assert one.type == other.type
            assert one.to_pylist() == other.to_pylist(), (leaf, texts)
    return values


def _arrays(values: LeafValues, leaf: Path, kind: type) -> list[pa.Array]:
    if kind is Decimal:
        ways = product(_DECIMALS, (ROUND_FLOOR, ROUND_CEILING))
        return [values.decimals(leaf, data_type, rounding) for data_type, rounding in ways]
    if kind is float:
        return [values.doubles(leaf).view(pa.int64())]  # compares the sign of zero, too
    reader = {int: values.integers, bool: values.booleans, str: values.strings}[kind]
    return [reader(leaf)]


def binary(texts: Sequence[str | bytes | None]) -> pa.BinaryArray:
    """Return these texts as input for the loop."""
    return pa.array([t.encode() if isinstance(t, str) else t for t in texts], pa.binary())
