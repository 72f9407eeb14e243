"""States on Spark: their manifests are leaves that workers read."""

from pathlib import Path

import deltalake
import msgspec
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import headrace
import headrace.spark
from headrace import wiring
from headrace.avro.state_file import decode_state
from headrace.engines.spark.executor import SparkExecutor
from headrace.errors import CorruptStateError
from headrace.metrics.event import Event, StateAbandoned
from headrace.protocol.state import Tombstone
from headrace.storage.local import LocalStore
from tests.lake.action import add, opening, remove
from tests.lake.log import write_history
from tests.state.delta_state import ROOT, put_state, write_state
from tests.state.real_log import entries_of

HISTORY = [
    [*opening(), *(add(f"{n:03}", partition_values={"n": str(n % 7)}) for n in range(60))],
    [remove("005"), add("new", partition_values={"n": "3"})],
]


@pytest.mark.parametrize("where", [None, "n = 3", "n > 4 OR part IS NULL"])
def test_manifests_are_read_by_workers(
    spark: SparkSession, tmp_path: Path, where: str | None
) -> None:
    table = write_history(tmp_path, HISTORY)
    write_state(table, HISTORY, 0, manifests=4, block_entries=10)
    local = sorted(file.path for file in headrace.Table(table, state="").snapshot().scan(where))
    opened = headrace.spark.open_table(spark, table)
    scan = opened.snapshot().scan(where)
    assert scan.decision.state_version == 0
    assert sorted(file.path for file in scan) == local
    assert isinstance(opened.executor, SparkExecutor)
    assert "DropSeen" not in opened.executor.refusals


def test_a_manifest_damaged_on_a_worker_makes_the_scan_use_the_log(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = write_history(tmp_path, HISTORY)
    write_state(table, HISTORY, 1)
    next((table / ROOT / "manifests").iterdir()).write_bytes(b"nonsense")
    scan = headrace.spark.open_table(spark, table).snapshot().scan()
    assert len(list(scan)) == 60
    assert scan.metrics.counts.fallbacks == 1


@pytest.mark.parametrize("at", [0, 7, 15])
def test_damage_in_one_of_many_tasks_makes_the_scan_use_the_log(
    spark: SparkSession, tmp_path: Path, at: int
) -> None:
    table = write_history(tmp_path, HISTORY)
    write_state(table, HISTORY, 0, manifests=16, block_entries=2)
    manifest = sorted((table / ROOT / "manifests").iterdir())[at]
    content = bytearray(manifest.read_bytes())
    content[-25] ^= 1
    manifest.write_bytes(content)
    local = sorted(file.path for file in headrace.Table(table, state="").snapshot().scan())
    events: list[Event] = []
    embedded = wiring.open_executor(LocalStore(str(table)))
    executor = SparkExecutor(spark, embedded=embedded, task_bytes=1, wave_bytes=400)
    opened = headrace.Table(table, executor=executor, reporter=events.append)
    scan = opened.snapshot().scan()
    assert sorted(file.path for file in scan) == local
    abandoned = [event for event in events if isinstance(event, StateAbandoned)]
    assert [manifest.name in str(event) for event in abandoned] == [True]
    assert scan.metrics.counts.fallbacks == 1


def test_an_indextables_log_is_read_by_workers(
    spark: SparkSession, fixture_indextables: Path
) -> None:
    table = fixture_indextables / "06_schema_dedup"
    files = headrace.spark.open_table(spark, table).snapshot().scan()
    assert {file.path for file in files} == set(entries_of(table, 12))


def test_a_stream_of_the_rows_of_splits_is_refused_before_it_starts(
    spark: SparkSession, fixture_indextables: Path
) -> None:
    headrace.spark.register(spark)
    for options in ({}, {"startingVersion": "0"}, {"readChangeFeed": "true"}):
        stream = spark.readStream.format("headrace").options(**options)
        with pytest.raises(PySparkException, match="rows of splits"):
            stream.load(str(fixture_indextables / "02_five_appends"))


def test_a_manifest_that_a_worker_cannot_read_is_named(
    spark: SparkSession, fixture_indextables: Path, tmp_path: Path
) -> None:
    source = fixture_indextables / "02_five_appends"
    for file in (file for file in source.rglob("*") if file.is_file()):
        place = tmp_path / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes())
    manifest = min((tmp_path / "_transaction_log/manifests").glob("manifest-*"))
    manifest.write_bytes(manifest.read_bytes()[:-5])
    with pytest.raises(CorruptStateError, match=manifest.name):
        list(headrace.spark.open_table(spark, tmp_path).snapshot().scan())


def test_rows_are_read_from_the_files_of_the_state(spark: SparkSession, tmp_path: Path) -> None:
    """A state that hides a file proves that the source reads the state, and not the log."""
    deltalake.write_deltalake(tmp_path, pa.table({"id": [1, 2]}))
    deltalake.write_deltalake(tmp_path, pa.table({"id": [3]}), mode="append")
    headrace.Table(tmp_path).state.sync()

    def ids() -> set[int]:
        rows = spark.read.format("headrace").load(str(tmp_path)).collect()
        return {row["id"] for row in rows}

    assert ids() == {1, 2, 3}
    (path,) = (tmp_path / ROOT).glob("state-v*/_manifest.avro")
    state = decode_state(path.read_bytes(), path=str(path))
    first = next(f.path for f in headrace.Table(tmp_path, state="").snapshot(0).scan())
    hiding = Tombstone(path=first, removed_at_version=2)
    put_state(tmp_path / ROOT, msgspec.structs.replace(state, tombstone_entries=(hiding,)))
    assert ids() == {3}
