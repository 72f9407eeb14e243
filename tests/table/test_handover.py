"""Rows and files handed to other libraries, and checked with those libraries."""

import asyncio
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable, write_deltalake

from headrace import Snapshot, Table
from headrace.errors import CorruptDataFileError, UnknownColumnError
from tests.lake.action import add, opening
from tests.lake.log import write_history
from tests.lake.vector import inline_vector
from tests.rows.lake import field, mapped, table_lines, write_data, write_table

ROWS = pa.table(
    {
        "id": pa.array(range(12), pa.int64()),
        "day": pa.array([date(2026, 1, 1 + i % 3) for i in range(12)], pa.date32()),
        "city": ["Bern", None, "Basel", "Genève"] * 3,
        "amount": [float(i) / 2 for i in range(12)],
    }
)


@pytest.fixture
def plain(tmp_path: Path) -> Snapshot:
    """A table as current writers create it: partitioned, with a null partition."""
    path = tmp_path / "plain"
    write_deltalake(path, ROWS, partition_by=["day", "city"])
    write_deltalake(path, ROWS.slice(0, 4), mode="append")
    return Table(path).snapshot()


@pytest.fixture
def awkward(tmp_path: Path) -> Snapshot:
    """Mapped columns, deleted rows, and a file that lacks a column."""
    path = tmp_path / "awkward"
    fields = [mapped("id", "long", "c-1", 1), mapped("name", "string", "c-2", 2)]
    files = [
        pa.table({"c-1": pa.array([1, 2, 3], pa.int64()), "c-2": ["a", "b", None]}),
        pa.table({"c-1": pa.array([4, 5], pa.int64())}),
    ]
    properties = {"delta.columnMapping.mode": "name"}
    return Table(
        write_table(path, fields, files, properties=properties, deleted={0: [1]})
    ).snapshot()


def rows_of(data: Any) -> list[tuple[Any, ...]]:
    table = data if isinstance(data, pa.Table) else pa.table(data)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    return sorted(rows, key=repr)


AWKWARD = [(1, "a"), (3, None), (4, None), (5, None)]


def test_any_library_accepts_a_snapshot(plain: Snapshot) -> None:
    expected = rows_of(DeltaTable(plain.table.uri).to_pyarrow_table().select(plain.schema.names))
    assert rows_of(plain) == expected
    assert rows_of(pl.DataFrame(plain).to_arrow()) == expected
    assert rows_of(duckdb.sql("FROM plain").to_arrow_table()) == expected
    assert rows_of(pa.Table.from_pandas(plain.to_pandas())) == expected
    assert rows_of(plain.to_pyarrow_table()) == expected


def test_every_conversion_applies_vectors_and_mapping(awkward: Snapshot) -> None:
    assert rows_of(awkward) == AWKWARD
    assert rows_of(pl.DataFrame(awkward).to_arrow()) == AWKWARD
    assert rows_of(awkward.to_polars().collect().to_arrow()) == AWKWARD
    assert rows_of(awkward.to_pyarrow_dataset().to_table()) == AWKWARD
    assert rows_of(awkward.to_duckdb(duckdb.connect()).to_arrow_table()) == AWKWARD
    assert sorted(awkward.to_pandas()["id"]) == [1, 3, 4, 5]


@pytest.mark.parametrize("make", ["files", "rows", "changes"])
def test_an_empty_result_has_its_schema(tmp_path: Path, make: str) -> None:
    table = Table(write_history(tmp_path, [opening()]))
    data: Any = {
        "files": table.snapshot().scan(),
        "rows": table.snapshot(),
        "changes": table.changes(0),
    }[make]
    frame = pl.DataFrame(data)
    assert frame.height == 0
    assert frame.columns == pa.table(data).column_names == pa.schema(data).names
    assert duckdb.sql("FROM data").columns == frame.columns


def test_any_library_accepts_the_files_of_a_scan(plain: Snapshot) -> None:
    scan = plain.scan("city = 'Bern'")
    paths = sorted(file.path for file in scan)
    assert sorted(pl.DataFrame(scan)["path"]) == paths
    assert sorted(pa.table(scan)["path"].to_pylist()) == paths
    per_city = "SELECT typed_partition_values.city, count(*) FROM scan GROUP BY 1"
    assert duckdb.sql(per_city).fetchall() == [("Bern", len(paths))]


def test_files_of_a_table_without_partitions_are_accepted_too(awkward: Snapshot) -> None:
    scan = awkward.scan()
    total = sum(file.size_bytes for file in scan)
    assert duckdb.sql("SELECT sum(size_bytes) FROM scan").fetchall() == [(total,)]


def test_changes_of_files_are_accepted(plain: Snapshot) -> None:
    changes = plain.table.changes(0)
    counts = duckdb.sql("SELECT version, kind, count(*) FROM changes GROUP BY ALL ORDER BY ALL")
    listed = list(changes)
    assert counts.fetchall() == [
        (version, "added", sum(c.version == version for c in listed)) for version in (0, 1)
    ]


def test_readers_of_rows_are_accepted_and_have_a_schema(plain: Snapshot) -> None:
    assert pa.schema(plain.rows(columns=["id"])).names == ["id"]
    assert pl.DataFrame(plain.rows("id < 2", columns=["id"])).height == 4


def test_rows_are_iterated_in_asyncio(plain: Snapshot) -> None:
    async def count() -> int:
        return sum([batch.num_rows async for batch in plain.rows()])

    assert asyncio.run(count()) == 16


def test_leaving_rows_in_asyncio_ends_the_read(plain: Snapshot) -> None:
    async def first() -> int:
        reader = plain.rows(rows_per_batch=1)
        async for batch in reader:
            return int(batch.num_rows)
        return 0

    assert asyncio.run(first()) == 1


def test_a_lazy_frame_reads_only_what_a_query_needs(plain: Snapshot) -> None:
    frame = plain.to_polars()
    expected = pl.DataFrame(plain).filter(pl.col("day") > date(2026, 1, 1), pl.col("id") != 5)
    query = frame.filter(pl.col("day") > date(2026, 1, 1), pl.col("id") != 5)
    assert query.collect().sort("id").equals(expected.sort("id"))
    assert sorted(query.select("amount").collect()["amount"]) == sorted(expected["amount"])
    assert frame.head(3).collect().height == 3
    assert frame.select(pl.len()).collect().item() == 16


@pytest.mark.parametrize(
    "condition",
    [
        pl.col("id") >= 6,
        pl.lit(6) > pl.col("id"),
        pl.col("city") == "Genève",
        pl.col("city").is_null(),
        (pl.col("city") == "Bern") & (pl.col("amount") < 2.0) & pl.col("id").is_in([0, 4]),
        (pl.col("day") == date(2026, 1, 2)) | (pl.col("id") == 0),
        ~(pl.col("id") < 9),
        pl.col("id").cast(pl.Int8) == 7,
        pl.col("city") > "B' \\ `",
        pl.col("id") * 2 == 8,
    ],
    ids=str,
)
def test_filters_of_polars_keep_their_meaning(plain: Snapshot, condition: pl.Expr) -> None:
    expected = pl.DataFrame(plain).filter(condition).sort("id")
    assert plain.to_polars().filter(condition).collect().sort("id").equals(expected)


def test_filters_of_polars_prune_files(plain: Snapshot) -> None:
    seen: list[str | None] = []
    whole = plain.rows

    def rows(where: Any = None, **options: Any) -> Any:
        seen.append(where)
        return whole(where, **options)

    plain.rows = rows  # type: ignore[method-assign]
    condition = (pl.col("city") == "Bern") & (pl.col("id") > 1) & (pl.col("amount") > 1.0)
    plain.to_polars().filter(condition).collect()
    assert seen[-1] == "(`city` = 'Bern' AND `id` > 1)"


def test_a_wrong_condition_is_reported_before_anything_is_collected(plain: Snapshot) -> None:
    with pytest.raises(UnknownColumnError):
        plain.to_polars("town = 'Bern'")
    with pytest.raises(UnknownColumnError):
        plain.to_pyarrow_dataset("town = 'Bern'")


def test_conditions_are_exact_in_every_library(plain: Snapshot) -> None:
    where = "id > 5 AND city = 'Basel'"
    expected = rows_of(plain.to_pyarrow_table(where))
    assert expected
    assert rows_of(plain.to_polars(where).collect().to_arrow()) == expected
    assert rows_of(plain.to_pyarrow_dataset(where).to_table()) == expected
    assert rows_of(plain.to_duckdb(where=where).to_arrow_table()) == expected


def test_a_dataset_is_lazy_and_prunes_by_partition(plain: Snapshot) -> None:
    dataset = plain.to_pyarrow_dataset()
    theirs = DeltaTable(plain.table.uri).to_pyarrow_dataset()
    for condition in (
        ds.field("city") == "Bern",
        ds.field("city").is_null(),
        (ds.field("day") > date(2026, 1, 1)) & (ds.field("id") < 9),
    ):
        expected = rows_of(theirs.to_table(filter=condition, columns=["id", "amount"]))
        assert rows_of(dataset.to_table(filter=condition, columns=["id", "amount"])) == expected
    assert len(list(dataset.get_fragments(ds.field("city") == "Bern"))) < len(
        list(dataset.get_fragments())
    )
    assert dataset.schema == plain.schema


def test_a_dataset_reads_files_with_vectors_and_without(tmp_path: Path) -> None:
    lines = table_lines([field("id", "long"), field("at", "timestamp")])
    at = pa.array([datetime(2026, 1, 1)] * 3, pa.timestamp("us", "UTC"))  # noqa: DTZ001
    paths = [
        write_data(tmp_path, f"{n}.parquet", pa.table({"id": [n, n + 1, n + 2], "at": at}))
        for n in (0, 10)
    ]
    adds = [add(paths[0]), add(paths[1], vector=inline_vector([0, 2]))]
    snapshot = Table(write_history(tmp_path, [[*lines, *adds]])).snapshot()
    dataset = snapshot.to_pyarrow_dataset()
    assert sorted(dataset.to_table()["id"].to_pylist()) == [0, 1, 2, 11]
    assert dataset.count_rows() == 4
    assert dataset.count_rows(filter=ds.field("id") > 1) == 2
    assert duckdb.from_arrow(dataset).aggregate("sum(id)").fetchall() == [(14,)]


def test_a_dataset_finds_columns_in_another_spelling(tmp_path: Path) -> None:
    data = pa.table({"ID": pa.array([1, 2], pa.int64()), "n": pa.array([1, 2], pa.int32())})
    path = write_data(tmp_path, "a.parquet", data)
    lines = table_lines([field("id", "long"), field("n", "long")])
    snapshot = Table(write_history(tmp_path, [[*lines, add(path)]])).snapshot()
    assert rows_of(snapshot.to_pyarrow_dataset().to_table()) == [(1, 1), (2, 2)]


def test_a_damaged_file_is_reported_when_the_dataset_is_created(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"not parquet")
    lines = table_lines([field("id", "long")])
    snapshot = Table(write_history(tmp_path, [[*lines, add("a.parquet")]])).snapshot()
    with pytest.raises(CorruptDataFileError):
        snapshot.to_pyarrow_dataset()


@pytest.mark.parametrize("value", ["<b>", "a&b"])
def test_notebooks_show_escaped_facts(tmp_path: Path, value: str) -> None:
    path = tmp_path / "t"
    write_deltalake(path, pa.table({value: [1]}))
    snapshot = Table(path).snapshot()
    (file,) = snapshot.scan()
    shown = "".join(item._repr_html_() for item in (snapshot.table, snapshot, file))
    shown += snapshot.scan()._repr_html_()
    assert value not in shown
    assert "version" in shown
