"""Random tables written by deltalake, with vectors added by hand, against a naive reader."""

import tempfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracle
from tests.effort import examples
from tests.lake.action import add, protocol, remove
from tests.lake.log import write_commit
from tests.lake.vector import inline_vector
from tests.listing import open_snapshot
from tests.rows.naive import bag

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("city", pa.string()),
        ("day", pa.date32()),
        ("tags", pa.list_(pa.string())),
    ]
)
PARTITIONS = ("city", "day")
texts = st.text("ab %#?&=ü+:'\\/\U0001f600", min_size=1, max_size=4)
rows = st.fixed_dictionaries(
    {
        "id": st.integers(-5, 5),
        "name": st.none() | texts,
        "city": st.none() | st.sampled_from(["Bern", "Zürich", "a/b=c d%20", "x:y", "%2F"]),
        "day": st.none() | st.sampled_from([date(2026, 3, 1), date(1969, 12, 31)]),
        "tags": st.none() | st.lists(st.none() | texts, max_size=2),
    }
)
appends = st.lists(st.lists(rows, min_size=1, max_size=6), min_size=1, max_size=3)


def write(table: Path, batches: list[list[dict[str, Any]]], *, checkpoint: bool) -> None:
    for batch in batches:
        data = pa.Table.from_pylist(batch, schema=SCHEMA)
        write_deltalake(table, data, mode="append", partition_by=list(PARTITIONS))
    if checkpoint:
        DeltaTable(table).create_checkpoint()


def delete_some(table: Path, data: st.DataObject) -> dict[str, set[int]]:
    """Delete rows of one file with a vector; return them by the path as the log spells it."""
    version = DeltaTable(table).version()
    live = list(oracle.live_files(table, version).values())
    action = data.draw(st.sampled_from(sorted(live, key=lambda candidate: candidate["path"])))
    count = pq.ParquetFile(table / unquote(action["path"])).metadata.num_rows
    deleted = data.draw(st.sets(st.integers(0, count - 1)), label="deleted")
    changed = add(
        action["path"],
        size=action["size"],
        partition_values=action["partitionValues"],
        vector=inline_vector(deleted),
    )
    lines = [protocol(features=("deletionVectors",)), remove(action["path"]), changed]
    write_commit(table, version + 1, lines)
    return {action["path"]: deleted}


def naive_rows(table: Path, deleted: dict[str, set[int]]) -> list[dict[str, Any]]:
    """Return the rows file by file; partition values are read from the log."""
    version = max(oracle.versions(table))
    rows = []
    for action in oracle.live_files(table, version).values():
        values = action["partitionValues"]
        day = values.get("day")
        partition = {
            "city": values.get("city") or None,
            "day": date.fromisoformat(day) if day else None,
        }
        stored = pq.ParquetFile(table / unquote(action["path"])).read().to_pylist()
        deleted_indexes = deleted.get(action["path"], set())
        rows += [
            row | partition for index, row in enumerate(stored) if index not in deleted_indexes
        ]
    return rows


@pytest.mark.property
@settings(max_examples=examples(20))
@given(batches=appends, checkpoint=st.booleans(), data=st.data())
def test_tables_of_deltalake_are_read_as_by_a_naive_reader(
    batches: list[list[dict[str, Any]]], *, checkpoint: bool, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder)
        write(table, batches, checkpoint=checkpoint)
        whole = open_snapshot(table).rows().read_all()
        assert bag(whole.to_pylist(), SCHEMA.names) == bag(
            (row for batch in batches for row in batch), SCHEMA.names
        )
        deleted = delete_some(table, data)
        expected = naive_rows(table, deleted)
        snapshot = open_snapshot(table)
        left = snapshot.rows().read_all()
        assert bag(left.to_pylist(), SCHEMA.names) == bag(expected, SCHEMA.names)
        some = snapshot.rows(where="city = 'a/b=c d%20' OR day IS NULL", columns=["id", "day"])
        matching = [row for row in expected if row["city"] == "a/b=c d%20" or row["day"] is None]
        assert bag(some.read_all().to_pylist(), ["id", "day"]) == bag(matching, ["id", "day"])


def test_decimals_beyond_64_bits_are_found_despite_clipped_statistics(
    tmp_path: Path,
) -> None:
    large = Decimal("9" * 38)
    numbers = pa.array([large, Decimal(f"-{large}"), Decimal(0), None], pa.decimal128(38, 0))
    write_deltalake(tmp_path, pa.table({"id": range(4), "n": numbers}))
    snapshot = open_snapshot(tmp_path)
    for condition, count in ((f"n = {large}", 0), (f"n <= -{large}", 1), (f"n >= {large}", 0)):
        assert snapshot.rows(condition).read_all()["id"].to_pylist() == [count]
        assert snapshot.count(condition) == 1


OVERFLOWING = {
    "s < '000000500000'": pc.field("s") < "000000500000",
    "s IS NULL": pc.field("s").is_null(),
    "s >= '0' AND id > 1000": (pc.field("s") >= "0") & (pc.field("id") > 1000),
}


@pytest.mark.parametrize(("where", "expected"), OVERFLOWING.items(), ids=OVERFLOWING)
def test_rows_are_right_where_a_dictionary_overflows(
    tmp_path: Path, where: str, expected: pc.Expression
) -> None:
    """A writer whose dictionary is full goes on with plain pages, often within a batch of rows."""
    words = [
        None if number * number % 7 < 3 and number // 1000 % 2 else f"{number * 7919 % 1000003:012}"
        for number in range(300_000)
    ]
    table = pa.table({"id": pa.array(range(len(words))), "s": pa.array(words)})
    write_deltalake(tmp_path, table)
    result = open_snapshot(tmp_path).rows(where).read_all()
    assert result.sort_by("id").to_pydict() == table.filter(expected).to_pydict()
