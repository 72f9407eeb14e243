"""Streams on Spark: each new row reaches a sink exactly once, whatever fails on the way."""

from pathlib import Path
from shutil import rmtree
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import headrace.spark
from headrace.spark.file_group import group_files
from headrace.spark.pinned_table import pin_table
from headrace.spark.source_option import BatchLimits, parse_options
from headrace.spark.stream_plan import StreamPlan
from tests.lake.action import add, remove
from tests.lake.log import write_history
from tests.lake.vector import inline_vector
from tests.rows.lake import field, table_lines, write_data
from tests.spark.soak import soak


def append(table: Path, *ids: int) -> None:
    parts = [number % 2 for number in ids]
    rows = pa.table({"id": pa.array(ids, pa.int64()), "part": parts})
    write_deltalake(table, rows, mode="append", partition_by=["part"])


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    headrace.spark.register(spark)
    return spark


def catch_up(session: SparkSession, folder: Path, **options: Any) -> list[dict[str, Any]]:
    """Run a stream until it has caught up, and return its progress, batch by batch."""
    rows = session.readStream.format("headrace").options(**options).load(str(folder / "table"))
    query = (
        rows.writeStream.format("parquet")
        .option("path", str(folder / "sink"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [dict(progress) for progress in query.recentProgress if progress["numInputRows"]]


def ids_in(session: SparkSession, folder: Path) -> list[int]:
    return sorted(row.id for row in session.read.parquet(str(folder / "sink")).collect())


def test_a_stream_resumes_where_it_stopped_and_obeys_its_limit(
    session: SparkSession, tmp_path: Path
) -> None:
    for first in range(0, 8, 4):
        append(tmp_path / "table", *range(first, first + 4))
    assert len(catch_up(session, tmp_path, maxFilesPerTrigger=3)) == 2  # four files
    assert ids_in(session, tmp_path) == list(range(8))
    append(tmp_path / "table", 8, 9)
    assert sum(batch["numInputRows"] for batch in catch_up(session, tmp_path)) == 2
    assert ids_in(session, tmp_path) == list(range(10))


def test_an_update_ends_a_stream_with_its_own_error(session: SparkSession, tmp_path: Path) -> None:
    append(tmp_path / "table", 1, 2)
    catch_up(session, tmp_path)
    DeltaTable(tmp_path / "table").update(updates={"id": "id + 10"}, predicate="id = 1")
    append(tmp_path / "table", 3)
    with pytest.raises(StreamingQueryException, match=r"UnstreamableChangeError.*version 1 "):
        catch_up(session, tmp_path)
    catch_up(session, tmp_path, skipChangeCommits="true")
    assert ids_in(session, tmp_path) == [1, 2, 3]


def test_a_stream_of_changes_has_the_change_of_each_row(
    session: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    keep = {"delta.enableChangeDataFeed": "true"}
    rows = pa.table({"id": pa.array(range(4), pa.int64()), "part": [0, 1, 0, 1]})
    write_deltalake(table, rows, configuration=keep, partition_by=["part"])
    catch_up(session, tmp_path, readChangeFeed="true")
    DeltaTable(table).delete("id = 2")
    catch_up(session, tmp_path, readChangeFeed="true")
    sink = session.read.parquet(str(tmp_path / "sink"))
    changes = {(row.id, row["_change_type"], row["_commit_version"]) for row in sink.collect()}
    assert changes == {*((n, "insert", 0) for n in range(4)), (2, "delete", 1)}


def test_a_new_vector_changes_only_the_rows_that_differ(
    tmp_path: Path,
) -> None:
    fields = [field("id", "long")]
    opening = table_lines(fields, properties={"delta.enableChangeDataFeed": "true"})
    path = write_data(tmp_path, "part-0.parquet", pa.table({"id": pa.array(range(6), pa.int64())}))
    first, second = inline_vector([1, 3]), inline_vector([1, 4])
    history = [
        [*opening, add(path)],
        [remove(path), add(path, vector=first)],
        [remove(path, vector=first), add(path, vector=second)],
    ]
    write_history(tmp_path, history)
    parsed = parse_options(
        {"path": str(tmp_path), "readChangeFeed": "true", "startingVersion": "1"}
    )
    pinned = pin_table(parsed)
    plan = StreamPlan(pinned, parsed)
    start = plan.beginning()
    end = plan.advance(start, limits=BatchLimits(), last_version=2)
    groups = group_files(pa.concat_tables(plan.files(start, end)), partition_bytes=1)
    rows = [
        row for group in groups for b in pinned.group_reader().read(group) for row in b.to_pylist()
    ]
    assert sorted((r["_commit_version"], r["id"], r["_change_type"]) for r in rows) == [
        (1, 1, "delete"),
        (1, 3, "delete"),
        (2, 3, "insert"),
        (2, 4, "delete"),
    ]


@pytest.mark.parametrize("options", [{}, {"startingVersion": "latest"}])
def test_an_unfinished_first_micro_batch_is_repeated_unchanged(
    session: SparkSession, tmp_path: Path, options: dict[str, Any]
) -> None:
    append(tmp_path / "table", *range(4))
    append(tmp_path / "table", *range(4, 8))
    catch_up(session, tmp_path, maxFilesPerTrigger=3, **options)
    expected = ids_in(session, tmp_path) if not options else []
    # As if the process was killed in it: its end offset is written, but none of its rows.
    for folder in ("sink", "checkpoint/commits"):
        rmtree(tmp_path / folder)
    for name in ("1", ".1.crc"):
        (tmp_path / "checkpoint/offsets" / name).unlink(missing_ok=True)
    append(tmp_path / "table", 8, 9)
    catch_up(session, tmp_path, maxFilesPerTrigger=3, **options)
    assert ids_in(session, tmp_path) == [*expected, 8, 9]


@pytest.mark.timeout(900)  # starts four sessions, one after the other
def test_no_row_is_lost_or_duplicated_when_a_stream_is_killed(tmp_path: Path) -> None:
    outcome = soak(tmp_path, kills=3, seed=7)  # `make spark-soak` kills it 20 times
    assert (outcome.lost, outcome.doubled) == ([], [])
    assert outcome.batches >= 2
    assert outcome.rows > 0
