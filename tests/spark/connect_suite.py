"""Read through Spark Connect. `test_connect.py` runs this suite in a separate process.

A process can only have sessions of one kind, and the other tests run theirs in this process's JVM.
"""

import io
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rich.console import Console

import headrace
import headrace.spark
from headrace import wiring
from headrace.engines.spark.executor import SparkExecutor
from headrace.errors import CorruptDataFileError, FilesNotSeenError, SessionError
from headrace.metrics.event import Event
from headrace.pipeline import Project
from headrace.spark import connect
from tests.lake.checkpoint import Form, Shape
from tests.lake.log import write_commit
from tests.pipeline.shop import write_shop
from tests.rows.lake import field, table_lines
from tests.spark import abroad
from tests.spark.lake import data_file, kernel_rows, numbers, rows_of, write_hours
from tests.spark.large_checkpoint import NAMES, SIDECARS, counted, write_large_checkpoint
from tests.spark.special_table import mapped_table, partitioned, with_vectors, write_partitions


@pytest.fixture(scope="module")
def remote() -> Iterator[SparkSession]:
    settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    session = headrace.spark.open_session(remote="local[2]", **settings)
    assert headrace.spark.is_connect(session)
    yield session
    session.stop()


def test_the_server_session_is_created_once(remote: SparkSession) -> None:
    assert headrace.spark.open_session(remote="local[2]") is remote


def test_rows_of_a_partitioned_table(remote: SparkSession, tmp_path: Path) -> None:
    table = partitioned(tmp_path)
    frame = headrace.spark.read(remote, table)
    assert frame.columns == ["id", "day", "city"]
    assert rows_of(frame) == kernel_rows(table)
    assert frame.count() == 60


def test_rows_of_a_table_without_partitions(remote: SparkSession, tmp_path: Path) -> None:
    assert headrace.spark.read(remote, numbers(tmp_path)).count() == 40


def test_a_condition_prunes_before_anything_is_sent(remote: SparkSession, tmp_path: Path) -> None:
    table = partitioned(tmp_path)
    where = "city = 'Bern' AND id > 25"
    frame = headrace.spark.read(remote, table, where=where, columns=["id", "city"])
    assert rows_of(frame) == kernel_rows(table, where=where, columns=["id", "city"])
    assert len(frame.inputFiles()) == 2


def test_a_condition_on_times_uses_the_zone_of_the_session(
    remote: SparkSession, tmp_path: Path
) -> None:
    write_hours(tmp_path)
    remote.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        frame = headrace.spark.read(remote, tmp_path, where="at < '1970-01-01 12:00:00'")
        assert frame.count() == 3
    finally:
        remote.conf.set("spark.sql.session.timeZone", "UTC")


def test_deleted_rows_are_not_returned(remote: SparkSession, tmp_path: Path) -> None:
    table = with_vectors(tmp_path)
    frame = headrace.spark.read(remote, table)
    assert rows_of(frame) == kernel_rows(table)
    assert frame.where("p = 'odd'").count() == 17


def test_partition_values_that_are_null_or_odd(remote: SparkSession, tmp_path: Path) -> None:
    table = write_partitions(tmp_path, "string", ["x", None, "", "a=b/c %20", "ü"])
    assert rows_of(headrace.spark.read(remote, table)) == kernel_rows(table)


def test_paths_with_any_character_find_their_partition(
    remote: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "a table {x} [y] *#?"
    lines = table_lines([field("id", "long"), field("p", "string")], partition_columns=["p"])
    names = ["a b", "a%20b", "p=ü+1", "{a,b}", "[ab]", "a*", "a?b#c", "q\\r", "ab"]
    for number, name in enumerate(names):
        data = pa.table({"id": [number]})
        values = {"p": f"of {name}"}
        lines.append(data_file(table, f"{name}.parquet", data, partition_values=values))
    write_commit(table, 0, lines)
    assert rows_of(headrace.spark.read(remote, table)) == kernel_rows(table)


def test_an_unknown_path_fails_the_query_instead_of_losing_rows(
    remote: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "_spellings", lambda path: (f"file:///elsewhere{path}",))
    frame = headrace.spark.read(remote, partitioned(tmp_path))
    with pytest.raises(PySparkException, match="no file of the pin has the path"):
        frame.collect()
    deleted = headrace.spark.read(remote, with_vectors(tmp_path / "vectors"))
    with pytest.raises(PySparkException, match="no file of the pin has the path"):
        deleted.collect()


def test_a_file_that_the_server_skips_is_an_error(remote: SparkSession, tmp_path: Path) -> None:
    line = data_file(tmp_path, "_hidden.parquet", pa.table({"id": [1]}))
    plain = data_file(tmp_path, "plain.parquet", pa.table({"id": [2]}))
    write_commit(tmp_path, 0, [*table_lines([field("id", "long")]), line, plain])
    with pytest.raises(FilesNotSeenError, match="2 files and sees 1"):
        headrace.spark.read(remote, tmp_path)


def test_a_missing_file_is_an_error(remote: SparkSession, tmp_path: Path) -> None:
    table = numbers(tmp_path)
    (table / "2.parquet").unlink()
    with pytest.raises(PySparkException, match=r"2\.parquet"):
        headrace.spark.read(remote, table).count()


def test_a_truncated_file_is_an_error(remote: SparkSession, tmp_path: Path) -> None:
    table = numbers(tmp_path)
    (table / "2.parquet").write_bytes(b"")
    with pytest.raises(CorruptDataFileError, match=r"2\.parquet"):
        headrace.spark.read(remote, table)


def test_mapped_columns_are_found_by_name(remote: SparkSession, tmp_path: Path) -> None:
    frame = headrace.spark.read(remote, mapped_table(tmp_path, "name"))
    assert frame.where("s.x = 60").select("s.y", "`day part`").count() == 1
    assert frame.count() == 10


def test_columns_by_id_need_a_setting_of_the_session(remote: SparkSession, tmp_path: Path) -> None:
    table = mapped_table(tmp_path, "id")
    name = "spark.sql.parquet.fieldId.read.enabled"
    with pytest.raises(SessionError, match=name):
        headrace.spark.read(remote, table)
    remote.conf.set(name, "true")
    try:
        frame = headrace.spark.read(remote, table)
        assert [row.y for row in frame.where("s.x = 60").select("s.y").collect()] == ["6"]
    finally:
        remote.conf.unset(name)


def test_a_table_without_files_has_no_rows(remote: SparkSession, tmp_path: Path) -> None:
    write_commit(tmp_path, 0, table_lines([field("id", "long")]))
    assert headrace.spark.read(remote, tmp_path).collect() == []


def test_the_server_reports_progress(remote: SparkSession) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, force_interactive=True, width=80)
    with headrace.spark.progress(remote, "counting", console=console):
        slow = remote.range(0, 4, 1, 4).mapInPandas(
            lambda frames: (__import__("time").sleep(1) or frame for frame in frames), "id long"
        )
        assert slow.count() == 4
    assert isinstance(console.file, io.StringIO)
    assert "counting" in console.file.getvalue()
    assert "/4" in console.file.getvalue()


def test_a_checkpoint_is_replayed_by_workers(remote: SparkSession, tmp_path: Path) -> None:
    write_large_checkpoint(tmp_path, SIDECARS)
    local_events: list[Event] = []
    spark_events: list[Event] = []
    table = headrace.spark.open_table(remote, tmp_path, reporter=spark_events.append)
    assert sorted(file.path for file in table.snapshot().scan()) == NAMES
    list(headrace.Table(tmp_path, reporter=local_events.append).snapshot().scan())
    assert counted(spark_events) == counted(local_events)
    frame = headrace.spark.files(remote, tmp_path, columns=["path"])
    assert sorted(row.path for row in frame.collect()) == NAMES


def test_closing_a_scan_cancels_its_operations(remote: SparkSession, tmp_path: Path) -> None:
    *_, last = write_large_checkpoint(tmp_path, Shape(form=Form.V2_PARQUET, sidecars=40))
    store = abroad.SlowAbroad(str(tmp_path), name=last.name, seconds=40)
    executor = SparkExecutor(remote, embedded=wiring.open_executor(store), task_bytes=1)
    files = iter(headrace.Table(tmp_path, executor=executor).snapshot().scan())
    for _ in range(3):
        next(files)  # the files of the commit, and one of the first wave
    started = time.monotonic()
    files.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 30


def test_the_data_source_and_the_functions_of_sql(remote: SparkSession, tmp_path: Path) -> None:
    table = partitioned(tmp_path)
    headrace.spark.register(remote)
    frame = remote.read.format("headrace").option("where", "city = 'Bern'").load(str(table))
    assert rows_of(frame) == kernel_rows(table, where="city = 'Bern'")
    rows = remote.sql(f"SELECT count(*) FROM headrace_files(path => '{table}')").collect()
    assert rows[0][0] == headrace.Table(table).snapshot().scan().count()


def test_a_stream(remote: SparkSession, tmp_path: Path) -> None:
    table = partitioned(tmp_path / "table")
    headrace.spark.register(remote)
    query = (
        remote.readStream.format("headrace")
        .load(str(table))
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "sink"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert rows_of(remote.read.parquet(str(tmp_path / "sink"))) == kernel_rows(table)


def test_a_pipeline_is_refused_before_anything_runs(remote: SparkSession, tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    with pytest.raises(SessionError, match="Spark Connect"):
        Project.load(root).run(session=remote)
    with pytest.raises(SessionError, match="Spark Connect"):
        Project.load(root).run()  # this would use the running session
    assert not (root / "output").exists()
