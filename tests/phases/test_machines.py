import pickle
from pathlib import Path
from typing import Any

import pytest

import headrace
from examples.memory_executor import MemoryExecutor, two_commits
from headrace import wiring
from headrace.errors import NotFrozenError, NotTerminalError, UnexpectedBatchError
from headrace.phases import (
    CheckpointReplay,
    CommitReplay,
    Consume,
    KeyCollection,
    ListLog,
    Parallel,
    Phase,
    ReadHint,
    ScanRequest,
    Sequential,
    SnapshotRequest,
    Terminus,
    plan_scan,
)
from headrace.plan import Chain, Document, ListFiles, ReadDocument, ScanJson, explain_plan
from headrace.protocol.key import FileKey
from headrace.protocol.schema import StructType
from headrace.replay.projection import ADD_FIELDS
from headrace.replay.seen import FrozenSeenSet
from headrace.scan.run import Run
from tests.lake.action import add, commit_info, opening, txn
from tests.lake.log import write_history

V2_CHECKPOINT = (
    "_delta_log/00000000000000000001.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"
)


def v2_log() -> dict[str, bytes]:
    """Return the two commits, a V2 checkpoint with a sidecar, and one commit after it."""
    files = two_commits()
    files[V2_CHECKPOINT] = b"\n".join(
        [
            b'{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["v2Checkpoint"]}}',
            b'{"metaData":{"id":"demo"}}',
            b'{"checkpointMetadata":{"version":1}}',
            b'{"sidecar":{"path":"leaf%2D1.parquet","sizeInBytes":9,"modificationTime":1}}',
        ]
    )
    files["_delta_log/00000000000000000002.json"] = (
        b'{"add":{"path":"d.parquet","partitionValues":{},"size":40}}'
    )
    return files


def scan_request(version: int = 1) -> ScanRequest:
    return ScanRequest(
        table="memory",
        version=version,
        logical_schema=StructType(),
        physical_schema=StructType(),
        projection=ADD_FIELDS,
    )


def step_by_hand(phase: Phase[Any], executor: MemoryExecutor) -> list[Phase[Any]]:
    """Return every phase of a machine, with partial results left unexecuted."""
    phases = [phase]
    while not isinstance(phase, Terminus):
        match phase:
            case Consume():
                phase = phase.next(list(executor.execute(phase.plan())))
            case _:
                phase = phase.next()
        phases.append(phase)
    return phases


def names(phases: list[Phase[Any]]) -> list[str]:
    return [type(phase).__name__ for phase in phases]


def test_a_snapshot_is_taken_in_three_steps() -> None:
    executor = MemoryExecutor(two_commits())
    phases = step_by_hand(ReadHint(request=SnapshotRequest(table="memory")), executor)
    assert names(phases) == ["ReadHint", "ListLog", "ReadProtocolAndMetadata", "Terminus"]


def test_a_scan_of_a_v2_checkpoint_collects_sidecars_before_it_replays_them() -> None:
    executor = MemoryExecutor(v2_log())
    state = Run(
        ReadHint(request=SnapshotRequest(table="memory")), executor=executor
    ).run_to_terminal()
    phases = step_by_hand(plan_scan(scan_request(2), state.segment), executor)
    manifest = ["CheckpointManifest", "CheckpointManifest"]  # its sidecars, then its inline adds
    assert names(phases) == ["CommitReplay", *manifest, "SidecarReplay", "Terminus"]


def test_the_plans_of_a_whole_scan_can_be_recorded_without_any_io() -> None:
    executor = MemoryExecutor(v2_log())
    snapshot = headrace.Table("/nowhere", executor=executor).snapshot()
    plans = [type(plan) for plan in executor.asked]
    assert plans[:4] == [Chain, ReadDocument, ReadDocument, ListFiles]
    assert ScanJson in plans
    explained = snapshot.scan().explain()
    for word in ("CommitReplay", "RecordSeen", "CheckpointManifest", "SidecarReplay", "leaf-1"):
        assert word in explained


def test_commits_are_read_with_only_the_fields_a_scan_needs(tmp_path: Path) -> None:
    table = write_history(tmp_path, [[*opening(), add("a")]])
    snapshot = headrace.Table(str(table)).snapshot()

    def asked(where: str | None, projection: tuple[str, ...] | None) -> str:
        phase = snapshot.scan(where=where).run(projection=projection).phase
        assert isinstance(phase, CommitReplay)
        return explain_plan(phase.plan()).rpartition("[")[2]

    added, removed = "add.path, add.deletionVector", "remove.path, remove.deletionVector"
    assert asked("id > 1", None) == "add, remove]"
    assert asked(None, ("path", "size")) == f"{added}, add.size, {removed}]"
    assert asked("part = 'x'", ("path",)) == f"{added}, add.partitionValues, {removed}]"
    assert asked("id > 1", ("path",)) == f"{added}, add.stats, {removed}]"


def test_keys_are_collected_by_reading_only_keys(tmp_path: Path) -> None:
    table = write_history(tmp_path, [[*opening(), add("a")], [add("b")]])
    segment = headrace.Table(str(table)).snapshot().segment
    explained = explain_plan(KeyCollection(request=scan_request(), segment=segment).plan())
    keys = "[add.path, add.deletionVector, remove.path, remove.deletionVector]"
    assert explained.endswith(keys)


def test_a_tripwire_gets_only_the_newest_action_of_each_kind(tmp_path: Path) -> None:
    history = [[add(f"{v}"), commit_info(), txn("app", v)] for v in range(40)]
    table = write_history(tmp_path, [opening(), *history])
    phase = headrace.Table(str(table)).snapshot().scan(tripwire="strict").run().phase
    executor = wiring.open_executor(wiring.open_store(str(table)))
    sources = [batch.source.version for batch in executor.execute(phase.plan())]  # type: ignore[union-attr]
    assert sources == [40, 0]


def test_sequential_and_parallel_are_types() -> None:
    executor = MemoryExecutor(v2_log())
    state = Run(
        ReadHint(request=SnapshotRequest(table="memory")), executor=executor
    ).run_to_terminal()
    commits, _, _, sidecars, _ = step_by_hand(plan_scan(scan_request(2), state.segment), executor)
    assert isinstance(commits, Sequential)
    assert isinstance(sidecars, Parallel)
    assert len(sidecars.leaves()) == 1


def test_a_parallel_phase_pickles_with_its_frozen_set() -> None:
    executor = MemoryExecutor(v2_log())
    state = Run(
        ReadHint(request=SnapshotRequest(table="memory")), executor=executor
    ).run_to_terminal()
    assert state.segment.checkpoint is not None
    phase = CheckpointReplay(
        request=scan_request(2),
        segment=state.segment,
        seen=FrozenSeenSet([FileKey("a"), FileKey("b", "u1")]),
        files=state.segment.checkpoint.files,
    )
    again = pickle.loads(pickle.dumps(phase))
    assert explain_plan(again.plan()) == explain_plan(phase.plan())
    assert FileKey("b", "u1") in again.seen


def test_a_sequential_phase_refuses_to_pickle_its_live_set() -> None:
    executor = MemoryExecutor(two_commits())
    state = Run(
        ReadHint(request=SnapshotRequest(table="memory")), executor=executor
    ).run_to_terminal()
    phase: CommitReplay = plan_scan(scan_request(), state.segment)
    with pytest.raises(NotFrozenError):
        pickle.dumps(phase)


def test_a_wrong_kind_of_batch_is_an_error_of_the_executor() -> None:
    phase = ListLog(request=SnapshotRequest(table="memory"))
    with pytest.raises(UnexpectedBatchError, match="FileListing"):
        phase.next([Document("x", b"")])


def test_the_terminal_value_is_not_available_early() -> None:
    run = Run(
        ReadHint(request=SnapshotRequest(table="memory")),
        executor=MemoryExecutor(two_commits()),
    )
    with pytest.raises(NotTerminalError, match="ReadHint"):
        _ = run.terminal


def test_the_terminal_value_of_a_scan_has_the_request() -> None:
    snapshot = headrace.Table("/nowhere", executor=MemoryExecutor(two_commits())).snapshot()
    batches, outcome = snapshot.scan().run().collect()
    assert sum(map(len, batches)) == 2
    assert outcome.request.projection == ADD_FIELDS
    assert outcome.request.logical_schema == StructType()
    assert outcome.request.predicate is None
    assert outcome.keys_seen == 3


def test_a_third_party_executor_serves_the_public_api() -> None:
    table = headrace.Table("/nowhere", executor=MemoryExecutor(two_commits()))
    assert [f.path for f in table.snapshot().scan()] == ["c.parquet", "a.parquet"]
    assert [f.path for f in table.snapshot(version=0).scan()] == ["a.parquet", "b.parquet"]


def test_a_snapshot_and_its_scan_pickle(tmp_path: Path) -> None:
    table = write_history(tmp_path, [[*opening(), add("a"), add("b")]])
    snapshot = pickle.loads(pickle.dumps(headrace.Table(table).snapshot()))
    assert sorted(file.path for file in snapshot.scan()) == ["a", "b"]
