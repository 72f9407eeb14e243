"""Counts are exact, and files are opened only if the log does not prove the count."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from headrace import Table
from headrace.errors import DataFileNotFoundError, UnsupportedPredicateError
from tests.effort import examples
from tests.expr.naive import sql, truth
from tests.expr.strategies import predicates
from tests.lake.action import add, statistics
from tests.lake.checkpoint import Form, Shape, Statistics, write_checkpoint
from tests.lake.log import state_at, write_history
from tests.lake.vector import inline_vector
from tests.listing import open_snapshot
from tests.rows.lake import field, table_lines, write_data
from tests.rows.strategies import ALL, history, tables


def stats(values: Sequence[int | None]) -> str:
    known = [value for value in values if value is not None]
    return json.dumps(
        {
            "numRecords": len(values),
            "minValues": {"id": min(known)} if known else {},
            "maxValues": {"id": max(known)} if known else {},
            "nullCount": {"id": len(values) - len(known)},
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Four files: plain, with deleted rows, with nulls, and without statistics."""
    lines = table_lines([field("id", "long")])
    first, second = list(range(1, 6)), list(range(6, 11))
    third: list[int | None] = [*range(11, 16), None, None]
    for number, values in enumerate((first, second, third, [100, 101])):
        data = pa.table({"id": pa.array(values, pa.int64())})
        write_data(tmp_path, f"{number}.parquet", data)
    adds = [
        add("0.parquet", stats=stats(first)),
        add("1.parquet", stats=stats(second), vector=inline_vector([0, 4])),
        add("2.parquet", stats=stats(third)),
        add("3.parquet"),
    ]
    return write_history(tmp_path, [[*lines, *adds]])


@pytest.mark.parametrize(
    ("where", "rows", "read"),
    [
        (None, 5 + 3 + 7 + 2, 1),
        ("id <= 5", 5, 1),
        ("id > 3", 2 + 3 + 5 + 2, 3),
        ("id BETWEEN 6 AND 10", 3, 1),
        ("id > 5 AND id < 11", 3, 1),
        ("NOT id > 10", 8, 1),
        ("id >= 11", 5 + 2, 2),  # with nulls, it is unknown how many are below
        ("id IS NOT NULL", 5 + 3 + 5 + 2, 2),
        ("id IS NULL", 2, 2),
        ("id < 11 OR id IS NULL", 8 + 2, 2),
        ("id IN (1, NULL)", 1, 2),
        ("id <> 50", 5 + 3 + 5 + 2, 2),
        ("id > 0 OR NULL", 5 + 3 + 5 + 2, 2),
        ("id > 50 OR NULL", 2, 4),
        ("id > 200", 0, 1),
        ("true", 17, 1),
        ("false", 0, 0),
        ("id <=> 7", 1, 2),
    ],
)
def test_only_files_whose_statistics_prove_nothing_are_read(
    table: Path, where: str | None, rows: int, read: int
) -> None:
    snapshot = Table(table).snapshot()
    count = snapshot.count(where)
    assert count == rows == snapshot.rows(where).read_all().num_rows
    assert count.files_read <= read
    assert f"{count.files_read} file" in count.how


@pytest.mark.parametrize("form", Statistics)
def test_statistics_of_checkpoints_are_used_in_every_form(tmp_path: Path, form: Statistics) -> None:
    lines = table_lines([field("id", "long")])
    commits = [[*lines, *(add(f"{n}.parquet", stats=statistics(n + 1)) for n in range(5))]]
    write_history(tmp_path, commits)
    write_checkpoint(tmp_path, 0, state_at(commits, 0), Shape(form=Form.CLASSIC, statistics=form))
    count = Table(tmp_path).snapshot().count()
    assert (count, count.files_read) == (15, 0)
    low = Table(tmp_path).snapshot().count("id >= 0")
    assert (low, low.files_read) == (15, 0)


@pytest.mark.parametrize(
    "stats", ['{"numRecords": 0}', '{"numRecords": -3}', '{"numRecords": "3"}']
)
def test_statistics_that_contradict_a_vector_are_not_used(tmp_path: Path, stats: str) -> None:
    lines = table_lines([field("id", "long")])
    path = write_data(tmp_path, "a.parquet", pa.table({"id": [1, 2, 3]}))
    deleted = inline_vector([1])
    write_history(tmp_path, [[*lines, add(path, stats=stats, vector=deleted)]])
    count = Table(tmp_path).snapshot().count()
    assert (count, count.files_read) == (2, 1)


def test_a_count_by_statistics_opens_no_file(table: Path) -> None:
    for number in range(3):
        (table / f"{number}.parquet").unlink()
    assert Table(table).snapshot().count() == 17
    (table / "3.parquet").unlink()
    with pytest.raises(DataFileNotFoundError):
        Table(table).snapshot().count()


def test_the_count_is_that_of_deltalake(tmp_path: Path) -> None:
    rows = pa.table({"id": range(100), "p": [str(n % 4) for n in range(100)]})
    write_deltalake(tmp_path, rows, partition_by=["p"])
    DeltaTable(tmp_path).delete("id < 10")
    write_deltalake(tmp_path, rows, mode="append")
    snapshot = Table(tmp_path).snapshot()
    assert snapshot.count() == DeltaTable(tmp_path).count() == 190
    count = snapshot.count("p = '3'")
    assert (count, count.files_read) == (48, 0)


def test_a_count_is_a_number(table: Path) -> None:
    count: Any = Table(table).snapshot().count()
    assert isinstance(count, int)
    assert json.dumps({"rows": count}) == '{"rows": 17}'
    assert f"{count:,} {count + 1}" == "17 18"


@pytest.mark.property
@settings(max_examples=examples(120))
@given(data=st.data())
def test_every_count_is_exact(data: st.DataObject) -> None:
    columns = tuple(data.draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=3, unique=True)))
    table = data.draw(tables(columns, least=1), label="table")
    node = data.draw(predicates(columns, table.rows), label="predicate")
    with tempfile.TemporaryDirectory() as folder:
        write_history(Path(folder), history(table, Path(folder)))
        snapshot = open_snapshot(Path(folder))
        everything = snapshot.count()
        try:
            count = snapshot.count(sql(node))
        except UnsupportedPredicateError:
            event("unsupported")
            assume(False)
    event(f"by statistics: {bool(count.files_from_statistics)}, some: {count > 0}")
    assert everything == len(table.rows)
    assert count == sum(truth(node, row) is True for row in table.rows)
