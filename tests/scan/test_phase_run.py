"""Phases that run one by one each report their own counts, which add up to those of a scan."""

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings

from headrace import Scan, Table
from headrace.errors import PhaseUnfinishedError, SnapshotExpiredError
from headrace.metrics.counts import Counts
from headrace.metrics.event import CheckpointAbandoned, Event, LogReplayCompleted, ReplayPhase
from headrace.phases import (
    CheckpointReplay,
    CommitReplay,
    Consume,
    SidecarReplay,
    Terminus,
    share_leaves,
)
from headrace.plan import ActionBatch
from headrace.scan.phase_run import PhaseRun
from headrace.scan.run import Run
from tests.effort import examples
from tests.lake.action import Line, add, opening, remove
from tests.lake.checkpoint import CLASSIC, Form, Shape, write_checkpoint
from tests.lake.log import commit_path, state_at, write_history
from tests.lake.plan import Plan
from tests.lake.strategies import plans

P = TypeVar("P", bound=CommitReplay | CheckpointReplay)

HISTORY: list[list[Line]] = [
    [*opening(), *(add(f"f{i}") for i in range(6))],
    [remove("f0"), add("g")],
    [add("f1"), add("h")],
]
SIDECARS = Shape(form=Form.V2_PARQUET, sidecars=3)
ROWS = (
    *("total_metadata_rows", "rows_from_json", "rows_from_checkpoint", "non_file_action_rows"),
    *("rows_filtered_by_partition_pruning", "rows_filtered_by_data_skipping"),
    *("adds_emitted", "removes_processed", "commits_scanned", "row_groups_skipped"),
)
"""The counts that do not depend on the cache."""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    write_history(tmp_path, HISTORY)
    write_checkpoint(tmp_path, 0, state_at(HISTORY, 0), SIDECARS)
    return Table(tmp_path)


def phase_of(table: Table, kind: type[P]) -> P:
    """Return the first phase of this kind in a scan, running the phases before it."""
    phase = table.snapshot().scan().run().phase
    while not isinstance(phase, kind):
        assert not isinstance(phase, Terminus)
        batches = list(table.executor.execute(phase.plan()))
        phase = phase.next(batches) if isinstance(phase, Consume) else phase.next()
    return phase


def paths(batches: Iterable[ActionBatch]) -> list[str]:
    return [add.path for batch in batches for add in batch.actions("add")]


def step(table: Table, scan: Scan) -> tuple[list[str], list[Event]]:
    """Run every phase by hand; return the paths and the events of the phases that produce them."""
    events: list[Event] = []
    listed: list[str] = []
    phase = scan.run().phase
    while not isinstance(phase, Terminus):
        if isinstance(phase, CommitReplay | CheckpointReplay):
            run = PhaseRun(phase, executor=table.executor, reporter=events.append)
            listed += paths(run)
            phase = run.next_phase
        else:
            assert isinstance(phase, Consume)
            phase = phase.next(list(table.executor.execute(phase.plan())))
    return listed, events


def total(events: Iterable[Event]) -> dict[str, int]:
    counts = Counts()
    for event in events:
        assert isinstance(event, LogReplayCompleted)
        counts.add(event.counts)
    return rows(counts)


def rows(counts: Counts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in ROWS}


def test_each_phase_reports_its_counts_once(table: Table) -> None:
    listed, events = step(table, table.snapshot().scan())
    sequential, parallel = events
    assert isinstance(sequential, LogReplayCompleted)
    assert isinstance(parallel, LogReplayCompleted)
    assert sorted(listed) == ["f1", "f2", "f3", "f4", "f5", "g", "h"]
    assert (sequential.phase, parallel.phase) == (ReplayPhase.SEQUENTIAL, ReplayPhase.PARALLEL)
    assert (sequential.counts.adds_emitted, parallel.counts.adds_emitted) == (3, 4)
    assert (sequential.counts.rows_from_json, parallel.counts.rows_from_json) == (4, 0)
    assert parallel.counts.rows_from_checkpoint == 6
    assert sequential.dedup_hashmap_size == parallel.dedup_hashmap_size == 4
    assert 0 < (parallel.time_to_first_file_ns or 0) <= parallel.duration_ns


@pytest.mark.property
@settings(max_examples=examples(80))
@given(plans())
def test_the_counts_of_all_phases_are_those_of_the_scan(plan: Plan) -> None:
    with plan.on_disk() as folder:
        table = Table(folder)
        scan = table.snapshot().scan(where="n = 1 OR id > 20")
        listed, events = step(table, scan)
        assert sorted(listed) == sorted(file.path for file in scan)
        assert total(events) == rows(scan.metrics.counts)


def test_closing_early_reports_the_counts_so_far(table: Table) -> None:
    events: list[Event] = []
    phase = phase_of(table, CommitReplay)
    with PhaseRun(phase, executor=table.executor, reporter=events.append) as run:
        next(run)
    run.close()
    [event] = events
    assert isinstance(event, LogReplayCompleted)
    assert (event.counts.commits_scanned, event.counts.adds_emitted) == (1, 2)
    with pytest.raises(PhaseUnfinishedError, match="CommitReplay"):
        _ = run.next_phase


def test_a_phase_that_fails_is_reported_as_ended(table: Table) -> None:
    phase = phase_of(table, CommitReplay)
    commit_path(Path(table.uri), 1).write_bytes(b"{")
    events: list[Event] = []
    run = PhaseRun(phase, executor=table.executor, reporter=events.append)
    with pytest.raises(SnapshotExpiredError):
        list(run)
    run.close()
    assert len(events) == 1


def test_a_damaged_checkpoint_leads_to_an_older_base(tmp_path: Path) -> None:
    write_history(tmp_path, HISTORY)
    [path] = write_checkpoint(tmp_path, 1, state_at(HISTORY, 1), CLASSIC)
    table = Table(tmp_path)
    phase = phase_of(table, CheckpointReplay)
    path.write_bytes(b"PAR1")
    with PhaseRun(phase, executor=Table(tmp_path).executor) as run:
        assert list(run) == []
    events: list[Event] = []
    older = Run(run.next_phase, executor=table.executor, reporter=events.append)
    assert sorted(paths(older)) == ["f2", "f3", "f4", "f5", "g"]
    assert [type(event) for event in events] == [CheckpointAbandoned]


def test_workers_count_from_zero_and_their_counts_add_up(table: Table) -> None:
    phase = phase_of(table, SidecarReplay)
    whole = PhaseRun(phase, executor=table.executor)
    expected = sorted(paths(whole))
    events: list[Event] = []
    listed: list[str] = []
    for share in share_leaves(phase, workers=2):
        sent = pickle.loads(pickle.dumps(share))
        engine = pickle.loads(pickle.dumps(table.executor))
        with PhaseRun(sent, executor=engine, reporter=events.append) as run:
            listed += paths(run)
        assert isinstance(run.next_phase, Terminus)
    assert sorted(listed) == expected
    assert total(events) == rows(whole.counts)
    sizes = {event.dedup_hashmap_size for event in events if isinstance(event, LogReplayCompleted)}
    assert (len(events), sizes) == (2, {4})


def test_shares_are_never_more_than_leaves(table: Table) -> None:
    phase = phase_of(table, SidecarReplay)
    assert [len(share.leaves()) for share in share_leaves(phase, workers=9)] == [1, 1, 1]
