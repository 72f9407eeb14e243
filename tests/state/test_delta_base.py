"""A state of a Delta log never changes an answer; if it is used, the decision records it."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace.avro.state_file import decode_state
from headrace.metrics.event import Event, StateAbandoned, StateRead
from headrace.protocol.state import StateManifest
from tests.effort import examples
from tests.lake.action import add
from tests.lake.log import commit_path, write_history
from tests.lake.plan import Plan
from tests.lake.strategies import plans
from tests.listing import by_key, expected_facts, facts
from tests.oracle import Action
from tests.state.delta_state import HISTORY, ROOT, put_state, write_state


def paths(table: Path, where: str | None = None, version: int | None = None) -> list[str]:
    return sorted(f.path for f in headrace.Table(table).snapshot(version).scan(where))


def events_of(table: Path) -> list[Event]:
    events: list[Event] = []
    snapshot = headrace.Table(table, reporter=events.append).snapshot()
    list(snapshot.scan())
    return events


def with_nulls(add: Action) -> Action:
    """Return the same add, with null for empty partition values."""
    values = {name: value or None for name, value in add["partitionValues"].items()}
    return {**add, "partitionValues": {"part": None, "n": None, **values}}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_history(tmp_path, HISTORY)


@pytest.mark.property
@settings(max_examples=examples(60))
@given(plans(), st.data())
def test_a_state_of_any_version_returns_the_files_of_the_log(
    plan: Plan, data: st.DataObject
) -> None:
    newest = len(plan.history) - 1
    version = data.draw(st.integers(0, newest))
    with TemporaryDirectory() as folder:
        table = plan.write(Path(folder))
        if commit_path(table, version).exists():
            write_state(
                table,
                plan.history,
                version,
                manifests=data.draw(st.integers(1, 3)),
                with_ghosts=data.draw(st.booleans()),
                block_entries=data.draw(st.integers(1, 3)),
            )
        snapshot = headrace.Table(table, reporter=lambda _: None).snapshot()
        expected = plan.state(newest).live
        for strategy in ("reverse", "forward"):
            scan = snapshot.scan(strategy=strategy)
            live_files = by_key(scan)
            assert live_files.keys() == expected.keys()
            if scan.decision.state_version is not None:  # checkpoints may lack statistics
                assert {key: facts(file) for key, file in live_files.items()} == {
                    key: expected_facts(with_nulls(add)) for key, add in expected.items()
                }


def test_the_decision_names_the_state(table: Path) -> None:
    write_state(table, HISTORY, 2)
    scan = headrace.Table(table).snapshot().scan()
    assert scan.decision.state_version == 2
    assert "state 2, 2 manifests" in scan.explain()
    assert [f.path for f in scan] != []


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_the_commits_after_the_state_are_replayed(table: Path, version: int) -> None:
    write_state(table, HISTORY, version)
    assert paths(table) == ["c", "d", "e"]


def test_an_older_version_than_all_states_is_read_from_the_log(table: Path) -> None:
    write_state(table, HISTORY, 3)
    assert paths(table, version=1) == ["b", "c"]
    assert "state" not in str(headrace.Table(str(table)).snapshot(1).scan().decision)


@pytest.mark.parametrize("has_hint", [True, False])
@pytest.mark.parametrize("place", ["beside", "elsewhere"])
def test_an_older_version_is_read_from_the_newest_state_before_it(
    table: Path, tmp_path_factory: pytest.TempPathFactory, place: str, *, has_hint: bool
) -> None:
    for version in (0, 1, 3):
        write_state(table, HISTORY, version)
    state = None
    if place == "elsewhere":
        state = str(tmp_path_factory.mktemp("far") / "state")
        (table / ROOT).rename(state)
    if has_hint:  # a checkpoint hint makes the listing begin at its version
        (table / "_delta_log" / "_last_checkpoint").write_text('{"version": 2, "size": 1}')
    snapshot = headrace.Table(str(table), state=state).snapshot(2)
    assert "state 1" in str(snapshot.scan().decision)
    assert sorted(file.path for file in snapshot.scan()) == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("n = 10", ["d"]),
        ("n > 2", ["c", "d", "e"]),
        ("part = 'x'", ["c"]),
        ("part IS NULL", ["d"]),
        ("part IS NOT NULL AND n < 9", ["c"]),
        ("n IN (3, 9)", ["c", "e"]),
    ],
)
def test_partitions_are_pruned_by_type_and_null(
    table: Path, where: str, expected: list[str]
) -> None:
    write_state(table, HISTORY, 3, manifests=3, block_entries=1)
    assert paths(table, where) == expected


def test_a_partition_is_read_without_the_other_manifests(table: Path) -> None:
    write_state(table, HISTORY, 3, manifests=3)
    scan = headrace.Table(table).snapshot().scan("n = 10")
    assert [file.path for file in scan] == ["d"]
    assert scan.metrics.counts.rows_filtered_by_partition_pruning == 2


@pytest.mark.parametrize(
    ("where", "expected"), [(None, (3, 3, ["c", "d", "e"])), ("n = 10", (1, 1, ["d"]))]
)
def test_a_scan_reports_what_it_read_of_the_state(
    table: Path, where: str | None, expected: tuple[int, int, list[str]]
) -> None:
    write_state(table, HISTORY, 3, manifests=3)
    events: list[Event] = []
    scan = headrace.Table(table, reporter=events.append).snapshot().scan(where)
    files = sorted(file.path for file in scan)
    (event,) = [event for event in events if isinstance(event, StateRead)]
    assert (event.manifest_count, event.file_count, files) == expected
    assert (event.version, event.num_files, event.tombstone_count) == (3, 3, 0)
    assert event.duration_ns > 0
    assert str(event).endswith(f"partition pruning: 3 manifests -> {expected[0]}")


def test_a_scan_that_does_not_use_the_state_reports_no_read_of_it(table: Path) -> None:
    write_state(table, HISTORY, 2)
    cut_manifest(table)
    assert not [event for event in events_of(table) if isinstance(event, StateRead)]


def test_a_state_outside_the_table_serves_a_read_only_table(
    table: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("states")
    write_state(table, HISTORY, 2, root=root)
    snapshot = headrace.Table(table, state=root).snapshot()
    assert snapshot.scan().decision.state_version == 2
    assert sorted(file.path for file in snapshot.scan()) == ["c", "d", "e"]
    assert not (table / ROOT).exists()


def test_states_are_ignored_on_request(table: Path) -> None:
    write_state(table, HISTORY, 2)
    snapshot = headrace.Table(table, state="").snapshot()
    assert snapshot.scan().decision.state_version is None


def test_transactions_and_domains_come_from_the_log(table: Path) -> None:
    write_state(table, HISTORY, 2)
    assert headrace.Table(table).snapshot().txns == {}


def test_a_refreshed_snapshot_has_the_new_commits(table: Path) -> None:
    write_state(table, HISTORY, 2)
    snapshot = headrace.Table(table).snapshot()
    write_history(table, [*HISTORY, [add("f")]])
    newer = snapshot.refresh()
    assert (newer.version, sorted(f.path for f in newer.scan())) == (4, ["c", "d", "e", "f"])
    assert newer.scan().decision.state_version == 2


def damage_state(table: Path, **fields: object) -> None:
    path = write_state(table, HISTORY, 2)
    state: StateManifest = decode_state(path.read_bytes(), path="s")
    put_state(table / ROOT, msgspec.structs.replace(state, **fields))


def rewrite_commit(table: Path) -> None:
    write_state(table, HISTORY, 2)
    commit = commit_path(table, 2)
    commit.write_text(commit.read_text() + "\n")


def cut_manifest(table: Path) -> None:
    write_state(table, HISTORY, 2)
    manifest = next((table / ROOT / "manifests").iterdir())
    manifest.write_bytes(manifest.read_bytes()[:-20])


def lose_manifest(table: Path) -> None:
    write_state(table, HISTORY, 2)
    next((table / ROOT / "manifests").iterdir()).unlink()


def flip_byte(table: Path) -> None:
    write_state(table, HISTORY, 2)
    manifest = next((table / ROOT / "manifests").iterdir())
    content = bytearray(manifest.read_bytes())
    content[-25] ^= 1
    manifest.write_bytes(content)


def empty_state(table: Path) -> None:
    write_state(table, HISTORY, 2).write_bytes(b"")


def lose_state(table: Path) -> None:
    write_state(table, HISTORY, 2).unlink()


def lead_outside(table: Path) -> None:
    path = write_state(table, HISTORY, 2)
    state: StateManifest = decode_state(path.read_bytes(), path="s")
    first, *others = state.manifests
    outside = msgspec.structs.replace(first, path="../x.avro")
    put_state(table / ROOT, msgspec.structs.replace(state, manifests=(outside, *others)))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda table: damage_state(table, anchor=None), "not record the log it was made from"),
        (lambda table: damage_state(table, metadata=None), "lacks the table's protocol"),
        (lambda table: damage_state(table, metadata="{"), "cannot be decoded"),
        (lambda table: damage_state(table, format_version=9), "format version is 9"),
        (rewrite_commit, "made from another log"),
        (cut_manifest, "bytes, but its state records"),
        (flip_byte, "digest"),
        (lose_manifest, "missing"),
        (empty_state, "header"),
        (lose_state, "no such object|not exist|missing"),
        (lead_outside, "relative to its state|below its state"),
    ],
)
def test_a_bad_state_changes_no_answer_and_is_reported(
    table: Path, damage: object, reason: str
) -> None:
    assert callable(damage)
    damage(table)
    abandoned = [event for event in events_of(table) if isinstance(event, StateAbandoned)]
    assert len(abandoned) == 1
    assert any(word in str(abandoned[0]) for word in reason.split("|"))
    assert paths(table) == ["c", "d", "e"]


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-25] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"Obj"), flipped])
def test_a_manifest_that_is_damaged_among_others_changes_no_answer(
    table: Path, damage: Callable[[Path], object]
) -> None:
    settings = {"entries_per_manifest": 1}
    state = headrace.Table(table).state
    state.with_settings(msgspec.structs.replace(state.settings, **settings)).sync()
    manifests = list((table / ROOT / "manifests").iterdir())
    assert len(manifests) == 3
    for manifest in manifests:
        content = manifest.read_bytes()
        damage(manifest)
        abandoned = [event for event in events_of(table) if isinstance(event, StateAbandoned)]
        assert manifest.name in str(abandoned[0])
        assert paths(table) == ["c", "d", "e"]
        assert paths(table, "part = 'x' or n > 0 or n is null or n <= 0") == ["c", "d", "e"]
        manifest.write_bytes(content)


def test_a_bad_state_is_counted_as_a_fallback(table: Path) -> None:
    lose_manifest(table)
    scan = headrace.Table(table, reporter=lambda _: None).snapshot().scan()
    assert len(list(scan)) == 3
    assert scan.metrics.counts.fallbacks == 1
