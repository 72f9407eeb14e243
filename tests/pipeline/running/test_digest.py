"""Digests are equal for equal results, and only for those."""

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.pipeline.execution.comparison import compare_results, compare_rows
from headrace.pipeline.project.header import Tier
from headrace.pipeline.runs.row_digest import RowDigest, digest_batches, merge_digests

TYPES = {
    "int": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "text": (pa.string(), st.text(max_size=20)),
    "bytes": (pa.binary(), st.binary(max_size=20)),
    "bool": (pa.bool_(), st.booleans()),
    "float": (pa.float64(), st.floats(allow_nan=False)),
    "list": (pa.list_(pa.string()), st.lists(st.none() | st.text(max_size=9), max_size=4)),
    "struct": (
        pa.struct([("a", pa.int32()), ("b", pa.string())]),
        st.fixed_dictionaries({"a": st.none() | st.integers(0, 9), "b": st.text(max_size=9)}),
    ),
}
tables = st.fixed_dictionaries(
    {
        name: st.lists(st.none() | values, min_size=6, max_size=6)
        for name, (_, values) in TYPES.items()
    }
).map(lambda columns: pa.table(columns, schema=pa.schema([(n, t) for n, (t, _) in TYPES.items()])))


def digest(table: pa.Table, chunk: int | None = None) -> RowDigest:
    return digest_batches(table.schema, table.to_batches(max_chunksize=chunk))


@settings(max_examples=60, deadline=None)
@given(tables, st.permutations(range(6)), st.integers(1, 6))
def test_neither_order_nor_batching_changes_the_digest_of_rows(
    table: pa.Table, order: list[int], chunk: int
) -> None:
    shuffled = table.take(order)
    assert digest(shuffled, chunk).rows_digest == digest(table).rows_digest
    assert digest(table, chunk).order_digest == digest(table).order_digest
    parts = [digest(shuffled.slice(0, 2)), digest(shuffled.slice(2))]
    assert merge_digests(parts).rows_digest == digest(table).rows_digest


@settings(max_examples=60, deadline=None)
@given(tables, tables)
def test_other_rows_have_another_digest(first: pa.Table, second: pa.Table) -> None:
    def as_set(table: pa.Table) -> list[str]:
        return sorted(
            repr({k: v if v != 0 else 0 for k, v in r.items()}) for r in table.to_pylist()
        )

    same = as_set(first) == as_set(second)
    assert (digest(first).rows_digest == digest(second).rows_digest) == same


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (pa.array([1, None], pa.int8()), pa.array([1, None], pa.int64())),
        (pa.array([1.5, -0.0], pa.float32()), pa.array([1.5, 0.0], pa.float64())),
        (
            pa.array([Decimal("1.50"), Decimal(0)], pa.decimal128(9, 2)),
            pa.array([Decimal("1.5"), Decimal("0E-20")], pa.decimal128(38, 20)),
        ),
        (pa.array(["a", "b"]).dictionary_encode(), pa.array(["a", "b"], pa.large_string())),
        (
            pa.array([[("a", 1), ("b", 2)]], pa.map_(pa.string(), pa.int32())),
            pa.array([[("b", 2), ("a", 1)]], pa.map_(pa.string(), pa.int64())),
        ),
    ],
)
def test_equal_values_of_other_types_have_the_same_digest(narrow: pa.Array, wide: pa.Array) -> None:
    first, second = pa.table({"c": narrow}), pa.table({"c": wide})
    assert digest(first).rows_digest == digest(second).rows_digest


def test_a_duplicated_row_counts() -> None:
    once, twice = pa.table({"c": [7]}), pa.table({"c": [7, 7]})
    assert digest(once).rows_digest != digest(twice).rows_digest


def test_the_names_of_columns_count() -> None:
    assert digest(pa.table({"a": [1]})).rows_digest != digest(pa.table({"b": [1]})).rows_digest


@pytest.mark.parametrize(
    ("tier", "expected"),
    [
        (Tier.CANONICAL, "it returns the same rows in another order"),
        (Tier.STABLE_SET, None),
        (Tier.BEST_EFFORT, None),
    ],
)
def test_order_counts_only_for_canonical_views(tier: Tier, expected: str | None) -> None:
    then, now = pa.table({"c": [1, 2]}), pa.table({"c": [2, 1]})
    assert compare_results(digest(then), digest(now), tier=tier) == expected


def test_numbers_may_be_off_by_the_tolerance_and_nothing_else_may() -> None:
    then = pa.table({"k": ["a", "b"], "x": [1.0, 2.0]})
    near = pa.table({"k": ["b", "a"], "x": [2.0000001, 1.0]})
    different = pa.table({"k": ["b", "a"], "x": [2.1, 1.0]})
    other = pa.table({"k": ["b", "c"], "x": [2.0, 1.0]})

    def compare(now: pa.Table) -> str | None:
        return compare_results(
            digest(then),
            digest(now),
            tier=Tier.BEST_EFFORT,
            tolerance=1e-6,
            rows_then=lambda: then,
            rows_now=lambda: now,
        )

    assert compare(near) is None
    assert compare(different) == "column x is off by more than 1e-06"
    assert (
        compare(other) == "it returns other rows, also in columns that are not floats or decimals"
    )
    swapped = pa.table({"k": ["a", "b"], "x": [2.0, 1.0]})
    assert compare(swapped) == "column x is off by more than 1e-06"
    assert compare_rows(then, near, tolerance=1e-6) is None
