"""A table lists the same files, with the same counts, whether or not Spark replays it."""

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import headrace
import headrace.spark
from headrace import wiring
from headrace.engines.spark.executor import SparkExecutor
from headrace.engines.spark.lowering import lower_leaves
from headrace.errors import (
    CorruptCheckpointError,
    EngineFailedError,
    InvalidArgumentError,
    PlanRefusedError,
)
from headrace.expr.node import And
from headrace.metrics.event import CheckpointAbandoned, Event, LogReplayCompleted
from headrace.plan import (
    Chain,
    CollectKeys,
    DropSeen,
    FirstOfEach,
    ListFiles,
    Node,
    ReadDocument,
    RecordSeen,
    ScanJson,
    ScanParquet,
    SkipFiles,
)
from headrace.plan.context import ExecutionSettings
from headrace.protocol.log_file import LogFile
from headrace.replay.seen import FrozenSeenSet, SeenSet
from headrace.storage.local import LocalStore
from tests.effort import examples
from tests.engines.meeting import MeetingStore
from tests.lake.action import add, opening
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import state_at, write_history
from tests.lake.plan import Plan
from tests.lake.strategies import WELL_FORMED, plans
from tests.listing import AS_WRITTEN, batch_rows, by_key, file_rows
from tests.spark import abroad
from tests.spark.large_checkpoint import FILES, NAMES, SIDECARS, counted, write_large_checkpoint
from tests.waiting import wait_until

WHERE = (None, "part = 'x'", "n = 1", "id > 20", "id < 10 OR part IS NULL")

pytestmark = pytest.mark.usefixtures("quiet_log")


def distributed(
    spark: SparkSession, table: Path, events: list[Event], **sizes: Any
) -> headrace.Table:
    embedded = wiring.open_executor(LocalStore(str(table)))
    executor = SparkExecutor(spark, embedded=embedded, **sizes)
    return headrace.Table(table, executor=executor, reporter=events.append)


@pytest.mark.property
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    plan=plans().filter(lambda plan: plan.checkpoints),
    where=st.sampled_from(WHERE),
    strategy=st.sampled_from(["reverse", "forward"]),
)
def test_a_random_history_has_the_same_files_and_counts_on_both_engines(
    spark: SparkSession, plan: Plan, where: str | None, strategy: str
) -> None:
    local_events: list[Event] = []
    spark_events: list[Event] = []
    with plan.on_disk() as table:
        embedded = headrace.Table(table, reporter=local_events.append).snapshot()
        on_spark = distributed(spark, table, spark_events, task_bytes=1, wave_bytes=400).snapshot()
        expected = file_rows(embedded.scan(where=where, strategy=strategy), AS_WRITTEN)
        files = list(on_spark.scan(where=where, strategy=strategy))
    assert file_rows(files, AS_WRITTEN) == expected
    if where is None:
        assert by_key(files).keys() == plan.state(plan.latest).live.keys()
    assert counted(spark_events) == counted(local_events)


def test_a_footer_that_two_threads_need_is_counted_as_on_the_embedded_engine(
    spark: SparkSession, tmp_path: Path
) -> None:
    [path] = write_large_checkpoint(tmp_path, Shape(form=Form.CLASSIC, row_group_rows=9))
    embedded = headrace.Table(tmp_path).snapshot().scan(where="id > 20", leaf_parallelism=1)
    store = MeetingStore(str(tmp_path), f"_delta_log/{path.name}")
    executor = SparkExecutor(spark, embedded=wiring.open_executor(store))
    table = headrace.Table(tmp_path, executor=executor)
    on_spark = table.snapshot().scan(where="id > 20", leaf_parallelism=2)
    assert sorted(file.path for file in on_spark) == sorted(file.path for file in embedded)
    assert on_spark.metrics.counts == embedded.metrics.counts


@pytest.mark.property
@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    plan=plans(oddities=WELL_FORMED).filter(lambda plan: plan.checkpoints),
    where=st.sampled_from(WHERE),
)
def test_a_frame_of_files_has_the_rows_of_the_batches(
    spark: SparkSession, plan: Plan, where: str | None
) -> None:
    with plan.on_disk() as table:
        snapshot = headrace.Table(table).snapshot()
        scan = snapshot.scan(where=where)
        frame = headrace.spark.files(spark, table, where=where, task_bytes=1)
        rows = frame.toArrow()
        assert batch_rows(rows.to_batches()) == batch_rows(scan.batches())
        assert rows.schema.names == scan.arrow_schema().names


def test_a_frame_of_files_may_have_few_columns_of_an_older_version(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_large_checkpoint(tmp_path, SIDECARS)
    frame = headrace.spark.files(spark, tmp_path, version=0, columns=["size_bytes", "path"])
    assert frame.columns == ["size_bytes", "path"]
    assert sorted(row.path for row in frame.collect()) == NAMES


def test_a_table_opened_with_spark_is_replayed_by_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_large_checkpoint(tmp_path, SIDECARS)
    table = headrace.spark.open_table(spark, tmp_path)
    assert sorted(file.path for file in table.snapshot().scan()) == NAMES
    assert isinstance(table.executor, SparkExecutor)
    assert "DropSeen" not in table.executor.refusals


def test_a_frame_of_a_table_with_its_own_executor_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = headrace.Table(tmp_path, executor=abroad.NoExecutor())
    with pytest.raises(InvalidArgumentError, match="NoExecutor"):
        headrace.spark.files(spark, table)


JSON = ScanJson(files=(LogFile(path="a.json"),), columns=("add",))
PARQUET = ScanParquet(files=(LogFile(path="a.parquet"),), columns=("add.path",))


@pytest.mark.parametrize(
    "plan",
    [
        ListFiles(directory="_delta_log"),
        ReadDocument(path="_delta_log/_last_checkpoint"),
        JSON,
        PARQUET,
        Chain(inputs=(PARQUET,)),
        FirstOfEach(input=PARQUET, columns=("protocol",)),
        RecordSeen(input=JSON, seen=SeenSet()),
        CollectKeys(input=JSON, seen=SeenSet()),
        DropSeen(input=JSON, seen=FrozenSeenSet()),
        SkipFiles(input=PARQUET, predicate=And(parts=())),
    ],
    ids=lambda plan: type(plan).__name__,
)
def test_spark_refuses_plans_that_are_not_parquet_leaves(plan: Node, tmp_path: Path) -> None:
    engine = wiring.open_executor(LocalStore(str(tmp_path)))
    with pytest.raises(PlanRefusedError) as refused:
        lower_leaves([plan], engine=engine, settings=ExecutionSettings())
    assert refused.value.node == type(plan).__name__


def test_refused_plans_run_on_the_embedded_engine_and_are_reported(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_large_checkpoint(tmp_path, Shape(form=Form.V2_JSON))
    table = distributed(spark, tmp_path, [])
    assert sorted(file.path for file in table.snapshot().scan()) == NAMES
    assert isinstance(table.executor, SparkExecutor)
    # The file actions are in the manifest itself, which is JSON.
    assert table.executor.refusals["DropSeen"] == 1
    assert table.executor.refusals["RecordSeen"] == 1


def test_a_sidecar_without_a_footer_makes_the_scan_use_an_older_base(
    spark: SparkSession, tmp_path: Path
) -> None:
    history = [[*opening(), *(add(f"f{i}") for i in range(FILES))], [add("f1")]]
    write_history(tmp_path, history)
    write_checkpoint(tmp_path, 0, state_at(history, 0), SIDECARS)
    sidecars = sorted((tmp_path / "_delta_log" / "_sidecars").iterdir())
    sidecars[-1].write_bytes(b"PAR1 no more PAR1")
    events: list[Event] = []
    scan = distributed(spark, tmp_path, events).snapshot().scan()
    assert sorted(file.path for file in scan) == NAMES
    assert [type(e) for e in events] == [CheckpointAbandoned, LogReplayCompleted]
    assert scan.metrics.counts.fallbacks == 1


def test_a_decoding_error_of_a_worker_keeps_its_type_and_path(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_large_checkpoint(tmp_path, SIDECARS)
    sidecar = min((tmp_path / "_delta_log" / "_sidecars").iterdir())
    content = bytearray(sidecar.read_bytes())
    content[4:600] = b"\xff" * 596  # the first pages; the footer at the end stays intact
    sidecar.write_bytes(content)
    with pytest.raises(CorruptCheckpointError) as raised:
        list(distributed(spark, tmp_path, []).snapshot().scan())
    assert raised.value.path.endswith(sidecar.name)


def test_any_other_failure_of_a_worker_is_raised_with_its_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_large_checkpoint(tmp_path, SIDECARS)
    executor = SparkExecutor(
        spark, embedded=wiring.open_executor(abroad.BrokenAbroad(str(tmp_path)))
    )
    with pytest.raises(EngineFailedError, match="RuntimeError: no store on this machine"):
        list(headrace.Table(tmp_path, executor=executor).snapshot().scan())


def test_closing_a_scan_cancels_its_jobs(spark: SparkSession, tmp_path: Path) -> None:
    *_, last = write_large_checkpoint(tmp_path, Shape(form=Form.V2_PARQUET, sidecars=3))
    store = abroad.SlowAbroad(str(tmp_path), name=last.name, seconds=30)
    executor = SparkExecutor(spark, embedded=wiring.open_executor(store), task_bytes=1)
    files = iter(headrace.Table(tmp_path, executor=executor).snapshot().scan())
    assert sorted(next(files).path for _ in range(2)) == ["f1", "f2"]  # the files of the commit
    next(files)  # a file of the first wave; the second is running
    tracker = spark.sparkContext.statusTracker()
    started = time.monotonic()
    wait_until(tracker.getActiveJobsIds)
    files.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 20
    assert tracker.getActiveJobsIds() == []


def test_closing_batches_does_not_wait_for_a_job(spark: SparkSession, tmp_path: Path) -> None:
    [only] = write_large_checkpoint(tmp_path, Shape(form=Form.CLASSIC))
    store = abroad.SlowAbroad(str(tmp_path), name=only.name, seconds=30)
    executor = SparkExecutor(spark, embedded=wiring.open_executor(store))
    batches = headrace.Table(tmp_path, executor=executor).snapshot().scan().batches()
    next(batches)  # the batch of the commit
    tracker = spark.sparkContext.statusTracker()
    started = time.monotonic()
    wait_until(tracker.getActiveJobsIds)
    batches.close()
    assert time.monotonic() - started < 20
    assert tracker.getActiveJobsIds() == []
