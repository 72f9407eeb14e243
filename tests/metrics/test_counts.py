"""Counts of small histories, with pruning, limits and early close."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from headrace import Scan, Table
from headrace.errors import SnapshotExpiredError
from headrace.metrics.counts import Counts
from headrace.metrics.event import Event, LogReplayCompleted
from headrace.metrics.meter import Meter
from tests.effort import examples
from tests.lake.action import Line, add, commit_info, opening, remove, statistics
from tests.lake.checkpoint import CLASSIC, Form, Shape, Statistics, TypedValues, write_checkpoint
from tests.lake.log import commit_path, state_at, write_commit, write_history
from tests.lake.plan import Plan
from tests.lake.strategies import plans
from tests.waiting import settled

OLDEST_FIRST = [[*opening(), add("a"), add("b")], [remove("a"), add("c")], [add("b"), add("d")]]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(write_history(tmp_path, OLDEST_FIRST))


def test_every_row_of_every_commit_is_counted_once(table: Table) -> None:
    scan = table.snapshot().scan()
    list(scan)
    counts = scan.metrics.counts
    assert counts.total_metadata_rows == sum(map(len, OLDEST_FIRST))
    assert counts.rows_from_json == counts.total_metadata_rows
    assert counts.non_file_action_rows == len(opening())
    assert counts.removes_processed == 1
    assert counts.adds_emitted == 3
    assert counts.commits_scanned == 3
    assert scan.metrics.dedup_hashmap_size == 4


def test_an_early_close_counts_only_the_work_done(table: Table) -> None:
    scan = table.snapshot().scan()
    files = iter(scan)
    assert len(list(islice(files, 1))) == 1
    counts = scan.metrics.counts
    assert (counts.adds_emitted, counts.commits_scanned) == (1, 1)
    assert counts.rows_from_json == 2


def test_a_limit_counts_only_returned_files(table: Table) -> None:
    scan = table.snapshot().scan(limit=2)
    list(scan)
    assert scan.metrics.counts.adds_emitted == 2
    assert scan.count() == 2
    assert scan.metrics.counts.adds_emitted == 2


def test_unconsumed_batches_do_not_count(tmp_path: Path) -> None:
    events: list[Event] = []
    history = [[add(f"{version}-{i}") for i in range(3)] for version in range(9)]
    write_history(tmp_path, [[*opening()], *history])
    scan = Table(tmp_path, reporter=events.append).snapshot().scan()
    with scan.batches() as batches:
        next(batches)
        assert settled(lambda: scan.metrics.counts.commits_scanned) > 1  # the reader is ahead
        assert scan.metrics.counts.adds_emitted == 3
    [event] = events
    assert isinstance(event, LogReplayCompleted)
    assert event.counts.adds_emitted == 3


def test_the_event_of_a_whole_scan_has_all_files(tmp_path: Path) -> None:
    events: list[Event] = []
    history = [[add(f"{version}-{i}") for i in range(3)] for version in range(9)]
    write_history(tmp_path, [[*opening()], *history])
    scan = Table(tmp_path, reporter=events.append).snapshot().scan()
    for _ in scan.batches():
        time.sleep(0.01)  # slower than the reader
    [event] = events
    assert isinstance(event, LogReplayCompleted)
    assert (event.counts.adds_emitted, scan.metrics.counts.adds_emitted) == (27, 27)


def test_the_event_of_a_scan_that_fails_has_the_files_before_the_failure(tmp_path: Path) -> None:
    events: list[Event] = []
    history = [[add(f"{version}-{i}") for i in range(3)] for version in range(9)]
    write_history(tmp_path, [[*opening()], *history])
    scan = Table(tmp_path, reporter=events.append).snapshot().scan()
    commit_path(tmp_path, 2).write_bytes(b"{")
    files = 0
    batches = scan.batches()
    with suppress(SnapshotExpiredError):
        for batch in batches:
            time.sleep(0.01)  # slower than the reader
            files += batch.num_rows
    with pytest.raises(SnapshotExpiredError):
        next(batches)
    [event] = events
    assert isinstance(event, LogReplayCompleted)
    assert (event.counts.adds_emitted, scan.metrics.counts.adds_emitted) == (files, files)


def test_a_run_counts_the_batches_it_returns(table: Table) -> None:
    events: list[Event] = []
    with table.snapshot().scan(reporter=events.append).run() as run:
        sizes = [len(next(run)), len(next(run))]
    [event] = events
    assert isinstance(event, LogReplayCompleted)
    assert (sizes, event.counts.adds_emitted) == ([2, 1], 3)
    assert 0 < (event.time_to_first_file_ns or 0) <= event.duration_ns


def test_rows_report_the_files_they_were_read_from(tmp_path: Path) -> None:
    events: list[Event] = []
    commits = [[add(f"{version}-{i}") for i in range(9)] for version in range(2)]
    write_history(tmp_path, [opening(), *commits])
    for path in (action["add"]["path"] for commit in commits for action in commit):
        pq.write_table(pa.table({"id": [1]}), tmp_path / path)
    reader = Table(tmp_path).snapshot().rows(limit=1, reporter=events.append)
    assert reader.read_all().num_rows == 1
    [event] = events
    assert isinstance(event, LogReplayCompleted)
    assert event.counts.adds_emitted == 1


def test_files_not_consumed_in_asyncio_do_not_count(table: Table) -> None:
    events: list[Event] = []

    async def take_two(scan: Scan) -> None:
        count = 0
        async for _ in scan:
            count += 1
            if count == 2:
                break

    asyncio.run(take_two(table.snapshot().scan(reporter=events.append)))
    [event] = events
    assert isinstance(event, LogReplayCompleted)
    assert event.counts.adds_emitted == 2
    assert event.time_to_first_file_ns is not None


async def _to_the_end(scan: Scan) -> None:
    async for _ in scan:
        pass


@pytest.mark.parametrize(
    "how",
    [list, lambda scan: list(scan.batches()), Scan.count, lambda s: asyncio.run(_to_the_end(s))],
)
def test_a_scan_without_files_is_reported_too(table: Table, how: Callable[[Scan], object]) -> None:
    events: list[Event] = []
    how(table.snapshot().scan(limit=0, reporter=events.append))
    [event] = events
    assert isinstance(event, LogReplayCompleted)
    assert event.counts.adds_emitted == 0


def test_a_base_that_the_snapshot_abandoned_counts_for_its_scans(tmp_path: Path) -> None:
    write_history(tmp_path, OLDEST_FIRST)
    [path] = write_checkpoint(tmp_path, 1, state_at(OLDEST_FIRST, 1), CLASSIC)
    path.write_bytes(b"PAR1 no")
    scan = Table(tmp_path).snapshot().scan()
    assert len(list(scan)) == 3
    assert scan.metrics.counts.fallbacks == 1


def test_an_abandoned_base_counts_after_a_refresh_until_there_is_a_newer_one(
    tmp_path: Path,
) -> None:
    history = [*OLDEST_FIRST]
    write_history(tmp_path, history)
    [path] = write_checkpoint(tmp_path, 1, state_at(history, 1), CLASSIC)
    path.write_bytes(b"PAR1 no")
    snapshot = Table(tmp_path).snapshot()
    counted = []
    for version in (3, 4):
        history.append([add(f"of {version}")])
        write_commit(tmp_path, version, history[-1])
        if version == 4:
            write_checkpoint(tmp_path, 4, state_at(history, 4), CLASSIC)
        snapshot = snapshot.refresh()
        scan = snapshot.scan()
        assert snapshot.version == version
        assert len(list(scan)) == version + 1
        counted.append(scan.metrics.counts.fallbacks)
    assert counted == [1, 0]


def of_two_rows_a_group(table: Path, adds: list[Line]) -> Table:
    """Write a checkpoint whose first row group has no adds, and the others two adds each."""
    history = [[*opening(), *adds]]
    write_history(table, history)
    shape = Shape(
        form=Form.CLASSIC,
        row_group_rows=2,
        statistics=Statistics.STRUCT,
        typed_values=TypedValues.ALL,
    )
    write_checkpoint(table, 0, state_at(history, 0), shape)
    return Table(table)


def test_a_limit_counts_the_row_groups_that_were_reached(tmp_path: Path) -> None:
    table = of_two_rows_a_group(tmp_path, [add(name) for name in "abcdefgh"])
    scan = table.snapshot().scan(limit=3, leaf_parallelism=1)
    list(scan)
    counts = scan.metrics.counts
    assert (counts.total_metadata_rows, counts.rows_from_checkpoint) == (6, 6)
    assert (counts.non_file_action_rows, counts.row_groups_skipped) == (2, 1)


def test_row_groups_after_an_early_close_are_not_counted_as_skipped(tmp_path: Path) -> None:
    known = [add(str(i), stats=statistics(1, low=i, high=i)) for i in range(8)]
    table = of_two_rows_a_group(tmp_path, known)
    scan = table.snapshot().scan(where="id = 2", leaf_parallelism=1)
    next(iter(scan))
    counts = scan.metrics.counts
    assert (counts.rows_from_checkpoint, counts.rows_filtered_by_data_skipping) == (6, 3)


def test_a_skipped_row_group_counts_by_what_ruled_it_out(tmp_path: Path) -> None:
    files = [("y", 1), ("y", 2), ("x", 101), ("x", 102), ("x", 1), ("y", 2), ("x", 1), ("x", 102)]
    adds = [
        add(str(place), partition_values={"part": part}, stats=statistics(1, low=low, high=low))
        for place, (part, low) in enumerate(files)
    ]
    scan = of_two_rows_a_group(tmp_path, adds).snapshot().scan(where="part = 'x' AND id < 100")
    assert scan.count() == 2
    counts = scan.metrics.counts
    assert counts.rows_filtered_by_partition_pruning == 3
    assert counts.rows_filtered_by_data_skipping == 3
    assert counts.row_groups_skipped == 3


def replayed(scan: Scan) -> tuple[int, ...]:
    """Return what a scan reports about the commits whose keys it knows."""
    list(scan)
    counts = scan.metrics.counts
    return (
        counts.rows_from_json,
        counts.removes_processed,
        counts.spilled_keys,
        scan.metrics.dedup_hashmap_size,
    )


@pytest.mark.parametrize("options", [{"strategy": "forward"}, {"tripwire": "strict"}])
@pytest.mark.parametrize("limit", [None, 1])
def test_keys_collected_first_count_once_and_immediately(
    tmp_path: Path, options: dict[str, Any], limit: int | None
) -> None:
    history = [[*opening(), add("a"), add("b")], [commit_info(), remove("a"), add("c")], [add("d")]]
    write_history(tmp_path, history)
    write_checkpoint(tmp_path, 0, state_at(history, 0), Shape(form=Form.MULTI_PART))
    scan = Table(tmp_path).snapshot().scan(limit=limit, memory_limit_bytes=1, **options)
    assert replayed(scan) == (4, 1, 3, 3)


def test_metrics_are_live_while_the_scan_runs(table: Table) -> None:
    scan = table.snapshot().scan()
    counts = [scan.metrics.counts.adds_emitted for _ in scan]
    assert counts == [1, 2, 3]
    assert scan.metrics.time_to_first_file_ns is not None


def test_metrics_have_the_documented_names(table: Table) -> None:
    scan = table.snapshot().scan()
    list(scan)
    shown = scan.metrics.as_dict()
    assert shown["delta.lazy.files_emitted"] == 3
    assert shown["delta.lazy.commits_scanned"] == 3
    assert shown["delta.lazy.fallback_triggered"] == 0
    assert shown["delta.lazy.remove_set_size"] == 4
    assert shown["delta.lazy.time_to_first_file_ms"] > 0
    assert shown["strategy"] == "reverse"


def test_the_counts_of_workers_add_up() -> None:
    meter = Meter()
    worker = Counts(**{name: i for i, name in enumerate(Counts.__struct_fields__)})
    meter.merge(worker)
    meter.merge(worker)
    counted = msgspec.structs.asdict(worker)
    assert msgspec.structs.asdict(meter.counts) == {name: 2 * n for name, n in counted.items()}


@pytest.mark.property
@given(plans())
@settings(max_examples=examples(40))
def test_both_strategies_count_the_same_rows_keys_and_files(plan: Plan) -> None:
    with plan.on_disk() as table:
        snapshot = Table(table).snapshot()
        counted = [_counted(snapshot.scan(strategy=way)) for way in ("reverse", "forward")]
    assert counted[0] == counted[1]


def _counted(scan: Scan) -> tuple[int, ...]:
    rows, counts = replayed(scan), scan.metrics.counts
    return *rows, counts.total_metadata_rows, counts.non_file_action_rows, counts.files_read
