"""A scan that cannot prune a large state reads the checkpoint, and either replaces the other."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace.errors import CorruptCheckpointError, HeadraceError
from headrace.metrics.event import CheckpointAbandoned, Event, StateAbandoned
from headrace.scan import strategy
from tests.effort import examples
from tests.lake.action import add, metadata, protocol, statistics
from tests.lake.checkpoint import CLASSIC, Form, Shape, write_checkpoint
from tests.lake.log import History, commit_path, state_at, write_history
from tests.lake.plan import Plan
from tests.lake.strategies import plans
from tests.listing import by_key
from tests.state.delta_state import HISTORY, ROOT, write_state

LIVE = ["c", "d", "e"]
SIDECARS = Shape(form=Form.V2_PARQUET, sidecars=2)


@pytest.fixture(autouse=True)
def _every_state_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy, "_LARGE_STATE", 0)
    monkeypatch.setattr(strategy, "_COMMIT_BYTES_PER_FILE", 1000)


def make(
    folder: Path, *, checkpoint: int = 1, state: int = 2, shape: Shape = CLASSIC
) -> tuple[Path, list[Path]]:
    """Write a table with a checkpoint and a state; return the files of the checkpoint."""
    table = write_history(folder, HISTORY)
    files = write_checkpoint(table, checkpoint, state_at(HISTORY, checkpoint), shape)
    write_state(table, HISTORY, state)
    return table, files


def listed(table: Path, where: str | None = None) -> tuple[list[str], list[Event]]:
    events: list[Event] = []
    scan = headrace.Table(table, reporter=events.append).snapshot().scan(where)
    return sorted(file.path for file in scan), events


@pytest.mark.parametrize("where", [None, "id < 5", "n = 10 OR id < 5", "concat(part) = 'x'"])
def test_a_scan_that_cannot_prune_by_partition_reads_the_checkpoint(
    tmp_path: Path, where: str | None
) -> None:
    table, _ = make(tmp_path)
    decision = headrace.Table(table).snapshot().scan(where).decision
    assert (decision.state_version, decision.unused_state) == (None, 2)
    assert decision.checkpoint_files == 1
    assert "instead of state 2, 1 checkpoint file" in str(decision)


@pytest.mark.parametrize("where", ["n = 10", "n = 10 AND id < 5", "part IS NULL"])
def test_a_scan_that_prunes_by_partition_reads_the_state(tmp_path: Path, where: str) -> None:
    table, _ = make(tmp_path)
    decision = headrace.Table(table).snapshot().scan(where).decision
    assert (decision.state_version, decision.unused_state) == (2, None)


def test_a_scan_with_a_limit_reads_the_state(tmp_path: Path) -> None:
    table, _ = make(tmp_path)
    assert headrace.Table(table).snapshot().scan(limit=1).decision.state_version == 2


def test_a_checkpoint_with_costly_commits_after_it_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strategy, "_COMMIT_BYTES_PER_FILE", 1)
    table, _ = make(tmp_path)
    assert headrace.Table(table).snapshot().scan().decision.state_version == 2


def test_a_small_state_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy, "_LARGE_STATE", 100)
    table, _ = make(tmp_path)
    assert headrace.Table(table).snapshot().scan().decision.state_version == 2


@pytest.mark.parametrize("shape", [CLASSIC, Shape(form=Form.MULTI_PART), SIDECARS])
@pytest.mark.parametrize("versions", [(1, 2), (2, 1), (2, 2), (1, 3), (3, 3)])
@pytest.mark.parametrize("damage", ["cut", "gone", "replaced"])
def test_a_bad_checkpoint_whose_older_commits_are_gone_is_replaced_by_the_state(
    tmp_path: Path, shape: Shape, versions: tuple[int, int], damage: str
) -> None:
    checkpoint, state = versions
    table, files = make(tmp_path, checkpoint=checkpoint, state=state, shape=shape)
    for version in range(min(versions)):
        commit_path(table, version).unlink()
    events: list[Event] = []
    snapshot = headrace.Table(table, reporter=events.append).snapshot()
    for file in files[-1:]:  # the sidecar or part, if there are several files
        if damage == "gone":
            file.unlink()
        elif damage == "cut":
            file.write_bytes(file.read_bytes()[:-30])
        else:
            file.write_bytes(b"PAR1" + os.urandom(len(file.read_bytes())) + b"PAR1")
    scan = snapshot.scan()
    assert scan.decision.unused_state == state
    assert sorted(file.path for file in scan) == LIVE
    assert [event for event in events if isinstance(event, CheckpointAbandoned)]
    assert scan.metrics.counts.fallbacks == 1


def test_a_forward_scan_falls_back_to_the_state(tmp_path: Path) -> None:
    table, files = make(tmp_path)
    commit_path(table, 0).unlink()
    files[0].write_bytes(b"no Parquet")
    scan = headrace.Table(table, reporter=lambda _: None).snapshot().scan(strategy="forward")
    assert sorted(file.path for file in scan) == LIVE


def test_a_bad_state_is_replaced_by_the_checkpoint(tmp_path: Path) -> None:
    table, _ = make(tmp_path)
    commit_path(table, 0).unlink()
    for manifest in (table / ROOT / "manifests").iterdir():
        manifest.unlink()
    paths, events = listed(table, "n >= 0")
    assert paths == LIVE
    assert [event for event in events if isinstance(event, StateAbandoned)]


def test_commits_replace_a_bad_checkpoint_and_a_bad_state(tmp_path: Path) -> None:
    table, files = make(tmp_path)
    files[0].write_bytes(b"no Parquet")
    for manifest in (table / ROOT / "manifests").iterdir():
        manifest.unlink()
    paths, events = listed(table)
    assert paths == LIVE
    assert [event for event in events if isinstance(event, StateAbandoned)]
    assert [event for event in events if isinstance(event, CheckpointAbandoned)]


def test_without_a_good_base_the_checkpoint_is_the_error(tmp_path: Path) -> None:
    table, files = make(tmp_path)
    commit_path(table, 0).unlink()
    files[0].write_bytes(b"no Parquet")
    for manifest in (table / ROOT / "manifests").iterdir():
        manifest.unlink()
    with pytest.raises(CorruptCheckpointError):
        listed(table)


@pytest.mark.property
@settings(max_examples=examples(60), deadline=None)
@given(plans(), st.data())
def test_whichever_base_is_damaged_the_answer_is_that_of_the_log(
    plan: Plan, data: st.DataObject
) -> None:
    newest = len(plan.history) - 1
    version = data.draw(st.integers(0, newest))
    with TemporaryDirectory() as folder:
        table = plan.write(Path(folder))
        if commit_path(table, version).exists():
            write_state(table, plan.history, version, with_ghosts=data.draw(st.booleans()))
        strategy_name = data.draw(st.sampled_from(["reverse", "forward"]))
        snapshot = headrace.Table(table, reporter=lambda _: None).snapshot()
        scan = snapshot.scan(strategy=strategy_name)
        bases = [*(table / "_delta_log").glob("*.checkpoint*"), *table.glob(f"{ROOT}/manifests/*")]
        for path in bases:
            if data.draw(st.booleans()):
                path.write_bytes(b"damaged")
        expected = plan.state(newest).live.keys()
        try:
            assert by_key(scan).keys() == expected
        except HeadraceError:
            # Every base is damaged, or one is and files had been emitted before that was noticed.
            assert any(path.read_bytes() == b"damaged" for path in bases)


def test_statistics_still_skip_files_of_the_checkpoint(tmp_path: Path) -> None:
    low, high = statistics(1, low=1, high=2), statistics(1, low=8, high=9)
    first = [protocol(), metadata(), add("low", stats=low), add("high", stats=high)]
    history: History = [first, [add("last", stats=high)]]
    table = write_history(tmp_path, history)
    write_checkpoint(table, 0, state_at(history, 0))
    write_state(table, history, 1)
    assert listed(table, "id < 5")[0] == ["low"]
