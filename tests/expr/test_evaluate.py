"""What bounds prove, leaf by leaf. A property test covers single values."""

from typing import Any

import pyarrow as pa
import pytest

from headrace.expr.bind import bind
from headrace.expr.evaluate import Bounds, evaluate
from headrace.expr.membership import any_between
from headrace.expr.node import BoundColumn
from headrace.expr.parse import parse_predicate
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.schema import Field, PrimitiveType, StructType

SCHEMA = StructType(
    (
        Field("x", PrimitiveType("long")),
        Field("s", PrimitiveType("string")),
        Field("d", PrimitiveType("double")),
    )
)
NAN = float("nan")


class OneFile:
    """A file in which all columns have the same bounds."""

    def __init__(self, lower: Any, upper: Any, nulls: str) -> None:
        self._lower, self._upper, self._nulls = lower, upper, nulls

    def __len__(self) -> int:
        return 1

    def bounds(self, column: BoundColumn) -> Bounds:
        kind = arrow_type(column.type)
        value = self._nulls != "all"
        return Bounds(
            lower=pa.array([self._lower], kind),
            upper=pa.array([self._upper], kind),
            may_be_null=pa.array([self._nulls != "none"]),
            may_be_value=pa.array([value]),
            may_be_nan=pa.array([value]) if column.type == PrimitiveType("double") else None,
        )


def _evaluate(text: str, lower: Any, upper: Any, nulls: str) -> str:
    """Return T if it can be true, F if it can be false, - if neither."""
    predicate = bind(parse_predicate(text), schema=SCHEMA, partition_columns=[])
    truth = evaluate(predicate, OneFile(lower, upper, nulls))
    can = (truth.can_be_true.to_pylist()[0], truth.can_be_false.to_pylist()[0])
    return {(True, True): "TF", (True, False): "T", (False, True): "F", (False, False): "-"}[can]


@pytest.mark.parametrize(
    ("text", "inside", "unknown", "all_null"),
    [
        # x from 3 to 7 without nulls; x of any value, perhaps null; x always null
        ("x = 5", "TF", "TF", "-"),
        ("x = 8", "F", "TF", "-"),
        ("x <> 8", "T", "TF", "-"),
        ("x < 3", "F", "TF", "-"),
        ("x < 4", "TF", "TF", "-"),
        ("x < 8", "T", "TF", "-"),
        ("x <= 2", "F", "TF", "-"),
        ("x <= 7", "T", "TF", "-"),
        ("x > 7", "F", "TF", "-"),
        ("x > 2", "T", "TF", "-"),
        ("x >= 3", "T", "TF", "-"),
        ("x >= 8", "F", "TF", "-"),
        ("x <=> 8", "F", "TF", "F"),
        ("x <=> NULL", "F", "TF", "T"),
        ("x IS NULL", "F", "TF", "T"),
        ("x IS NOT NULL", "T", "TF", "F"),
        ("x IN (1, 2, 8)", "F", "TF", "-"),
        ("x IN (1, 2, 7)", "TF", "TF", "-"),
        ("x IN (1, 8, NULL)", "-", "T", "-"),
        ("x NOT IN (1, 8)", "T", "TF", "-"),
        ("x NOT IN (1, 5, NULL)", "F", "F", "-"),
        ("x IN (1,2,8,9,10,11,12,13,14,15)", "F", "TF", "-"),
        ("x IN (1,2,8,9,10,11,12,13,14,5)", "TF", "TF", "-"),
        ("NOT (x < 8)", "F", "TF", "-"),
        ("x > 7 OR x < 3", "F", "TF", "-"),
        ("x > 7 OR x IS NULL", "F", "TF", "T"),
        ("x > 2 AND x < 8", "T", "TF", "-"),
        ("x = 8 AND f(x)", "F", "TF", "F"),
        ("f(x)", "TF", "TF", "TF"),
        ("TRUE", "T", "T", "T"),
        ("NULL", "-", "-", "-"),
        ("NULL AND x = 8", "F", "F", "-"),
        ("x = 2.5", "F", "F", "-"),
    ],
)
def test_bounds_prove_what_lies_outside_them(
    text: str, inside: str, unknown: str, all_null: str
) -> None:
    assert _evaluate(text, 3, 7, "none") == inside
    assert _evaluate(text, None, None, "some") == unknown
    assert _evaluate(text, None, None, "all") == all_null


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s LIKE 'b%'", "TF"),
        ("s LIKE 'bx%'", "F"),
        ("s LIKE 'ba%'", "TF"),
        ("s LIKE 'a%'", "F"),
        ("s LIKE 'c%'", "F"),
        ("s LIKE '%'", "T"),
        ("s NOT LIKE 'a%'", "T"),
        ("s LIKE 'b%a'", "TF"),
        ("s LIKE 'x%a'", "F"),
        ("s LIKE '%a'", "TF"),
        ("s NOT LIKE 'x_'", "T"),
    ],
)
def test_a_prefix_is_a_range(text: str, expected: str) -> None:
    assert _evaluate(text, "b", "bm", "none").replace("TF", "T") == expected.replace("TF", "T")
    assert _evaluate("s LIKE 'b%'", "b", "bm", "none") == "T"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d > 7", "TF"),
        ("d >= 3", "T"),
        ("d = 8", "F"),
        ("d < 3", "F"),
        ("d < 8", "TF"),
        ("d = 'NaN'", "TF"),
        ("d <= 'NaN'", "T"),
        ("d > 'NaN'", "F"),
        ("d IN (8, 9)", "F"),
        ("d IN (8, 'NaN')", "TF"),
    ],
)
def test_nan_may_be_above_every_upper_bound(text: str, expected: str) -> None:
    assert _evaluate(text, 3.0, 7.0, "none") == expected


@pytest.mark.parametrize("count", [3, 30])
def test_ranges_are_searched_for_any_of_the_values(count: int) -> None:
    values = pa.array([10 * i for i in range(count)], pa.int64())
    lower = pa.array([0, 1, 11, None, None, 10 * count, 25, None], pa.int64())
    upper = pa.array([0, 9, None, -1, 0, None, 15, None], pa.int64())
    result = any_between(values, lower=lower, upper=upper).to_pylist()
    assert result == [True, False, True, False, True, False, False, True]


def test_no_values_are_in_no_range() -> None:
    empty = pa.array([], pa.int64())
    assert any_between(empty, lower=pa.array([1]), upper=pa.array([2])).to_pylist() == [False]
