"""Parquet files are pruned only if no row can match, according to a naive filter."""

import math
import operator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.pipeline.sources.footer_pruning import files_that_may_match, read_footers
from tests.effort import examples

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any], str]] = {
    "long": (pa.int64(), st.integers(-5, 5), "{}"),
    "double": (pa.float64(), st.sampled_from([-1.5, 0.0, -0.0, 2.0, math.nan]), "{}"),
    "text": (pa.string(), st.sampled_from(["", "a", "b" * 80, "b" * 81, "ü", "z"]), "'{}'"),
    "decimal": (
        pa.decimal128(9, 2),
        st.sampled_from([Decimal("-1.25"), Decimal("0.00"), Decimal("3.50")]),
        "CAST({} AS DECIMAL(9,2))",
    ),
    "day": (
        pa.date32(),
        st.dates(date(1999, 12, 30), date(2000, 1, 3)),
        "DATE '{}'",
    ),
    "moment": (
        pa.timestamp("us"),
        st.datetimes(datetime(2000, 1, 1), datetime(2000, 1, 2)),  # noqa: DTZ001  (on the wall)
        "TIMESTAMP_NTZ '{}'",
    ),
    "truth": (pa.bool_(), st.booleans(), "{}"),
}
COMPARE = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "<>": operator.ne,
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(12), deadline=None)
@given(data=st.data())
def test_a_file_is_pruned_only_if_none_of_its_rows_matches(
    kind: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    arrow, values, form = KINDS[kind]
    folder = tmp_path_factory.mktemp("files")
    columns = st.lists(st.one_of(st.none(), values), max_size=5)
    files = [folder / f"{number}.parquet" for number in range(3)]
    tables = [pa.table({"x": pa.array(data.draw(columns), arrow)}) for _ in files]
    for file, table in zip(files, tables, strict=True):
        pq.write_table(table, file, row_group_size=2)
    chosen = data.draw(values.filter(lambda value: value == value))  # noqa: PLR0124  (not NaN)
    compare = data.draw(st.sampled_from(list(COMPARE)))
    negated = data.draw(st.booleans())
    literal = form.format(str(chosen).lower() if kind == "truth" else chosen)
    where = f"NOT (x {compare} {literal})" if negated else f"x {compare} {literal}"
    files_kept = files_that_may_match(
        read_footers(files), schema=pa.schema([("x", arrow)]), where=where
    )
    for file, table in zip(files, tables, strict=True):
        if file not in files_kept:
            assert not _has_match(table, compare, chosen, negated=negated), where


def _has_match(table: pa.Table, compare: str, value: Any, *, negated: bool) -> bool:
    """Whether a row matches: null never does, and NaN is the largest number, as in Spark."""
    chosen = _ordered(value)
    return any(
        COMPARE[compare](_ordered(row_value), chosen) is not negated
        for row_value in table["x"].to_pylist()
        if row_value is not None
    )


def _ordered(value: Any) -> tuple[bool, Any]:
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0.0 if is_nan else value


def test_files_are_pruned_if_their_footers_prove_it(tmp_path: Path) -> None:
    files = [tmp_path / f"{start}.parquet" for start in (0, 10, 20)]
    for start, file in zip((0, 10, 20), files, strict=True):
        pq.write_table(pa.table({"a": [start, start + 5]}), file)
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    assert files_that_may_match(read_footers(files), schema=schema, where="a = 12") == files[1:2]
    assert (
        files_that_may_match(read_footers(files), schema=schema, where="a >= 5 AND a < 12")
        == files[:2]
    )
    assert (
        files_that_may_match(read_footers(files), schema=schema, where="b = 'x'") == []
    )  # no file has it
    assert files_that_may_match(read_footers(files), schema=schema, where="b IS NULL") == files


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"a": ["x"]}),
        pa.table([pa.array([1]), pa.array([99])], names=["A", "a"]),
        pa.table({"a": pa.array([[1]])}),
    ],
    ids=["another type", "two names that differ in case", "a list"],
)
def test_a_file_that_proves_nothing_is_kept(tmp_path: Path, table: pa.Table) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(table, file)
    schema = pa.schema([("a", pa.int64())])
    assert files_that_may_match(read_footers([file]), schema=schema, where="a = 50") == [file]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not a file of Parquet at all"])
def test_a_damaged_file_is_kept_so_that_the_run_reports_it(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.parquet"
    file.write_bytes(content)
    schema = pa.schema([("a", pa.int64())])
    assert files_that_may_match(read_footers([file]), schema=schema, where="a = 50") == [file]
