"""Pruning by bounds never skips a part that has a file the predicate keeps.

The oracle is `keep_mask` over the partition values of each single file: it decides which files a
scan returns. Skipping a part that has a kept file would lose that file.
"""

from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import wiring
from headrace.expr.node import Basis, BoundPredicate
from headrace.maintain.rewrite import corner
from headrace.protocol.partition_bounds import BoundsBuilder, merge_bounds, sort_key
from headrace.protocol.schema import DataType, DecimalType, Field, PrimitiveType, StructType
from headrace.protocol.state import PartitionBounds
from headrace.replay.partition_pruning import parts_to_read
from headrace.replay.skipping import keep_mask
from tests.effort import examples

Row = dict[str, str | None]

VALUES: dict[str, tuple[DataType, tuple[str, ...]]] = {
    "n": (PrimitiveType("integer"), ("1", "2", "9", "10", "-3", "-10", "+4", "007", "x")),
    "l": (PrimitiveType("long"), ("9223372036854775807", "-9223372036854775808", "0", "5")),
    "s": (PrimitiveType("string"), ("a", "ab", "b", "B", "ä", "NaN", "\ufffd", "\U00010000")),
    "f": (
        PrimitiveType("double"),
        ("0.0", "-0.0", "1.5", "-2.5", "NaN", "-Infinity", "Infinity", "1e3", "10", "9"),
    ),
    "r": (PrimitiveType("float"), ("0.1", "16777217", "nan", "-0.1", "1e39", "inf")),
    "d": (DecimalType(5, 2), ("9.5", "9.50", "10.00", "-1.25", "-10", "999.99", "1.005")),
    "t": (
        PrimitiveType("date"),
        ("2024-02-05", "2024-2-1", "2024-02-1", "2024-03-01", "1969-12-31", "10000-01-01"),
    ),
    "z": (
        PrimitiveType("timestamp"),
        (
            *("2024-01-01 00:00:00", "2024-01-01T01:00:00+02:00", "2023-12-31 23:30:00Z"),
            *("1969-12-31 23:59:59.999999", "2024-01-01 00:00:00.5", "2024-1-1 9:00:00"),
        ),
    ),
    "y": (PrimitiveType("timestamp_ntz"), ("2024-01-01 00:00:00", "2024-01-01 9:00:00", "1969")),
    "b": (PrimitiveType("boolean"), ("true", "false", "T", "0")),
    "x": (PrimitiveType("binary"), ("a", "b")),
}
TYPES = {name: kind for name, (kind, _) in VALUES.items()}
SCHEMA = StructType(fields=tuple(Field(name, kind) for name, kind in TYPES.items()))
LITERALS = {
    "n": ("9", "10", "-3", "2.5"),
    "l": ("0", "9223372036854775807", "-9223372036854775808"),
    "s": ("'ab'", "'B'", "'b'", "'\ufffe'"),
    "f": ("0.0D", "1.5D", "-2.5D", "CAST('NaN' AS DOUBLE)", "9"),
    "r": ("0.1D", "16777216", "CAST('NaN' AS FLOAT)"),
    "d": ("9.5", "-1.25", "10"),
    "t": ("DATE '2024-02-01'", "DATE '2024-02-05'", "DATE '1970-01-01'"),
    "z": ("TIMESTAMP '2024-01-01 00:00:00Z'", "TIMESTAMP '2023-12-31 23:00:00Z'"),
    "y": ("TIMESTAMP_NTZ '2024-01-01 00:00:00'",),
    "b": ("true", "false"),
}
ROWS = st.fixed_dictionaries(
    {name: st.sampled_from((None, "", *texts)) for name, (_, texts) in VALUES.items()}
)


def comparisons(name: str) -> st.SearchStrategy[str]:
    """Return conditions on one column."""
    nulls = st.sampled_from((f"{name} IS NULL", f"{name} IS NOT NULL"))
    if name not in LITERALS:
        return nulls
    literal = st.sampled_from(LITERALS[name])
    operator = st.sampled_from(("=", "<>", "<", "<=", ">", ">=", "<=>"))
    return st.one_of(
        nulls,
        st.builds(lambda op, value: f"{name} {op} {value}", operator, literal),
        st.builds(lambda a, b: f"{name} IN ({a}, {b})", literal, literal),
        st.builds(lambda a, b: f"{name} NOT IN ({a}, {b})", literal, literal),
        st.builds(lambda a, b: f"{name} BETWEEN {a} AND {b}", literal, literal),
        st.sampled_from(("s LIKE 'a%'", "s LIKE '%b'", "s LIKE 'Na_'", "NOT s LIKE 'a%'")),
    )


LEAVES = st.sampled_from(sorted(VALUES)).flatmap(comparisons)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=3,
)


class Files:
    """Files with partition values and no statistics."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def partition_text(self, physical_name: str) -> pa.StringArray:
        return pa.array([row[physical_name] for row in self._rows], pa.string())

    def stats_json(self) -> pa.StringArray | None:
        return None

    def stats_parsed(self, path: tuple[str, ...]) -> pa.Array | None:
        del path
        return None


@cache
def bound(text: str) -> BoundPredicate:
    return wiring.bound_predicate(
        text, schema=SCHEMA, partition_columns=list(TYPES), basis=Basis.STATISTICS
    )


def row(**values: str | None) -> Row:
    return {name: values.get(name) for name in TYPES}


def bounds_of(rows: list[Row]) -> dict[str, PartitionBounds]:
    builder = BoundsBuilder(TYPES)
    for values in rows:
        builder.add(values)
    return builder.bounds()


def merged(rows: list[Row]) -> dict[str, PartitionBounds] | None:
    """Return the bounds of a manifest with a block for each row."""
    return merge_bounds([bounds_of([values]) for values in rows], TYPES)


def foreign(rows: list[Row]) -> dict[str, PartitionBounds]:
    """Return bounds as IndexTables computes them: UTF-16 string order, no null and NaN flags.

    Its dates have one form; a column with another form gets no bounds here.
    """
    bounds = {}
    for name in TYPES:
        if name == "t" and not all(len(values["t"] or "2024-02-05") == 10 for values in rows):
            continue
        texts = [text for values in rows if (text := values[name]) is not None]
        ordered = sorted(texts, key=lambda text: text.encode("utf-16-be"))
        bounds[name] = (
            PartitionBounds(min=ordered[0], max=ordered[-1]) if ordered else PartitionBounds()
        )
    return bounds


def half_foreign(rows: list[Row]) -> dict[str, PartitionBounds] | None:
    """Return the bounds of a part that merges one of ours with one of another writer."""
    return merge_bounds([bounds_of(rows[:1]), foreign(rows)], TYPES)


@pytest.mark.property
@pytest.mark.parametrize("describe", [bounds_of, merged, foreign, half_foreign])
@settings(max_examples=examples(60))
@given(
    parts=st.lists(st.lists(ROWS, min_size=1, max_size=4), min_size=1, max_size=4), data=st.data()
)
def test_a_part_with_a_file_that_is_kept_is_read(
    describe: Callable[[list[Row]], dict[str, PartitionBounds] | None],
    parts: list[list[Row]],
    data: st.DataObject,
) -> None:
    predicate = bound(data.draw(CONDITIONS))
    is_read = parts_to_read(predicate, [describe(rows) for rows in parts])
    for rows, read in zip(parts, is_read, strict=True):
        assert read or not pc.any(keep_mask(predicate, Files(rows))).as_py()


@pytest.mark.property
@settings(max_examples=examples(60))
@given(st.lists(ROWS, min_size=1, max_size=4))
def test_corners_enclose_the_positions_of_entries(rows: list[Row]) -> None:
    for name, kind in TYPES.items():
        types, bounds = {name: kind}, bounds_of(rows)
        low, high = corner(bounds, types, 0), corner(bounds, types, 1)
        for values in rows:
            assert low <= sort_key(values, types) <= high


def test_parts_without_bounds_are_read() -> None:
    assert parts_to_read(bound("n = 1"), [None, {}]) == [True, True]
    mixed = [None, bounds_of([row(n="1")]), {}, bounds_of([row(n="2")])]
    assert parts_to_read(bound("n = 1"), mixed) == [True, True, True, False]


def test_months_are_compared_as_numbers() -> None:
    part = bounds_of([row(n="9"), row(n="10")])
    assert parts_to_read(bound("n = 9"), [part]) == [True]
    assert parts_to_read(bound("n = 11"), [part]) == [False]


def test_bounds_computed_as_texts_do_not_prune_numbers() -> None:
    assert parts_to_read(bound("n = 9"), [{"n": PartitionBounds(min="1", max="10")}]) == [True]


def test_a_column_of_nulls_prunes_values_and_never_nulls() -> None:
    part = bounds_of([row()])
    assert parts_to_read(bound("n = 1"), [part]) == [False]
    assert parts_to_read(bound("n IS NULL"), [part]) == [True]


@pytest.mark.parametrize("nulls", [[], [row()]])
def test_a_column_of_nan_is_greater_than_all_numbers(nulls: list[Row]) -> None:
    part = bounds_of([row(f="NaN"), *nulls])
    assert parts_to_read(bound("f < 0"), [part]) == [False]
    assert parts_to_read(bound("f > 1.5"), [part]) == [True]
    assert parts_to_read(bound("f IS NULL"), [part]) == [bool(nulls)]
