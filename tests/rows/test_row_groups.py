"""Row groups are skipped by their statistics, and only if they provably cannot match."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.expr.bind import bind
from headrace.expr.node import Basis
from headrace.expr.parse import parse_predicate
from headrace.metrics.meter import Meter
from headrace.rows.data_file import DataFile, RowSource
from headrace.rows.file_bytes import FileBytes
from headrace.rows.request import RowRequest
from headrace.rows.resolve import MatchBy
from headrace.wiring import open_store
from tests.listing import open_snapshot
from tests.rows.lake import field, struct, write_table


def skipped(
    folder: Path, fields: list[dict[str, Any]], data: pa.Table, where: str, **options: Any
) -> int:
    """Return how many row groups, of two rows each, are skipped."""
    table = write_table(folder, fields, [data], row_group_size=2, **options)
    schema = open_snapshot(table).logical_schema
    predicate = bind(
        parse_predicate(where), schema=schema, partition_columns=(), basis=Basis.VALUES
    )
    request = RowRequest(
        schema=schema,
        columns=schema,
        partition_columns=frozenset(),
        predicate=predicate,
        match_by=MatchBy.NAME,
        rows_per_batch=10,
    )
    source = RowSource(files=FileBytes(open_store(str(table))), request=request, meter=Meter())
    list(source.batches(DataFile(uri="part-0.parquet", deletion_vector=None)))
    return source.meter.counts.row_groups_skipped


LONGS = pa.table({"a": pa.array([1, 2, 3, 4, None, None], pa.int64())})


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("a = 3", 2),
        ("a > 4", 3),
        ("a IS NULL", 2),
        ("a IS NOT NULL", 1),
        ("a <> 1", 1),
        ("a IN (2, 9)", 2),
        ("NOT (a < 3)", 2),
        ("a = 1 OR a = 4", 1),
        ("a <=> NULL", 2),
    ],
)
def test_row_groups_that_the_footer_rules_out_are_not_read(
    tmp_path: Path, where: str, expected: int
) -> None:
    assert skipped(tmp_path, [field("a", "long")], LONGS, where) == expected


def test_extremes_are_compared_in_the_type_of_the_table(tmp_path: Path) -> None:
    data = pa.table({"a": pa.array([1, 2, 3, 4], pa.int8())})
    assert skipped(tmp_path, [field("a", "decimal(10,2)")], data, "a > 2.50") == 1


def test_statistics_of_struct_members_are_used(tmp_path: Path) -> None:
    data = pa.table({"s": [{"x": 1}, {"x": 2}, {"x": 3}, None]})
    fields = [field("s", struct(field("x", "long")))]
    assert skipped(tmp_path, fields, data, "s.x > 2") == 1


def test_a_condition_on_a_missing_column_skips_every_row_group(tmp_path: Path) -> None:
    fields = [field("a", "long"), field("late", "string")]
    assert skipped(tmp_path, fields, LONGS, "late = 'x'") == 3


def test_nan_may_be_in_every_row_group(tmp_path: Path) -> None:
    data = pa.table({"a": [1.0, 2.0, float("nan"), 4.0]})
    assert skipped(tmp_path, [field("a", "double")], data, "a > 5D") == 0


@pytest.mark.parametrize(
    "options", [{"write_statistics": False}, {"use_deprecated_int96_timestamps": True}]
)
def test_without_reliable_statistics_nothing_is_skipped(
    tmp_path: Path, options: dict[str, bool]
) -> None:
    data = pa.table({"a": pa.array([1, 2, 3, 4], pa.timestamp("ns"))})
    where = "a > TIMESTAMP_NTZ '2026-01-01'"
    assert skipped(tmp_path, [field("a", "timestamp_ntz")], data, where, **options) == 0


def test_a_struct_is_not_null_where_its_only_member_is(tmp_path: Path) -> None:
    kind = pa.struct([("m", pa.int64())])
    values = [{"m": None}, {"m": None}, {"m": 1}, None, None, None]
    data = pa.table({"s": pa.array(values, kind)})
    fields = [field("s", struct(field("m", "long")))]
    snapshot = open_snapshot(write_table(tmp_path, fields, [data], row_group_size=2))
    assert snapshot.rows(where="s IS NOT NULL").read_all()["s"].to_pylist() == values[:3]
    assert snapshot.rows(where="s IS NULL").read_all().num_rows == 3
    assert snapshot.rows(where="s.m IS NULL").read_all().num_rows == 5


def test_a_struct_in_a_struct_is_not_null_where_its_only_member_is(tmp_path: Path) -> None:
    inner = pa.struct([("m", pa.int64())])
    values = [{"t": {"m": None}}, {"t": None}, None, {"t": {"m": 1}}]
    data = pa.table({"s": pa.array(values, pa.struct([("t", inner)]))})
    fields = [field("s", struct(field("t", struct(field("m", "long")))))]
    snapshot = open_snapshot(write_table(tmp_path, fields, [data], row_group_size=2))
    structs = snapshot.rows(where="s.t IS NOT NULL").read_all()["s"].to_pylist()
    assert structs == [values[0], values[3]]
