"""A synced state of any legal log has the files of the log, after any maintenance."""

import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace.maintain.setting import StateSettings
from tests.effort import examples
from tests.lake.checkpoint import Statistics, write_checkpoint
from tests.lake.log import commit_path, write_commit, write_compaction
from tests.lake.partition import CONDITIONS, Condition, shown
from tests.lake.plan import Plan
from tests.lake.strategies import plans
from tests.listing import by_key, facts
from tests.oracle import Key, State, canonical, dv_id

SETTINGS = st.builds(
    StateSettings,
    entries_per_block=st.integers(1, 4),
    entries_per_manifest=st.integers(1, 6),
    tombstone_threshold=st.sampled_from([0.1, 10.0]),
    max_manifests=st.integers(1, 4),
    retention_versions=st.integers(0, 2),
    retention_hours=st.just(0),
)


def advance(table: Path, plan: Plan, first: int, last: int) -> None:
    """Write what writers add to a log from one version to another."""
    for version in range(first, last + 1):
        write_commit(table, version, plan.history[version])
        for shape in plan.checkpoints.get(version, ()):
            write_checkpoint(table, version, plan.state(version), shape)
    for start, end in plan.compactions:
        if first <= end <= last:
            write_compaction(table, start, end, plan.history)


def stored(table: Path) -> tuple[dict[str, Any], dict[Key, dict[str, Any]]]:
    """Return the newest state and its live entries, by fastavro alone."""
    root = table / "_headrace"
    newest = max(root.glob("state-v*/_manifest.avro"))
    (state,) = fastavro.reader(io.BytesIO(newest.read_bytes()))
    assert isinstance(state, dict)
    removed: dict[Key, int] = {}
    for tombstone in state["tombstoneEntries"]:
        key = Key(canonical(tombstone["path"]), tombstone["dvId"])
        removed[key] = max(removed.get(key, -1), tombstone["removedAtVersion"])
    live: dict[Key, dict[str, Any]] = {}
    for info in state["manifests"]:
        entries = list(fastavro.reader(io.BytesIO((root / info["path"]).read_bytes())))
        assert len(entries) == info["numEntries"]
        for entry in entries:
            assert isinstance(entry, dict)
            key = Key(canonical(entry["path"]), dv_id(entry["deletionVector"]))
            low, high = info["minAddedAtVersion"], info["maxAddedAtVersion"]
            assert low <= entry["addedAtVersion"] <= high
            if entry["addedAtVersion"] >= removed.get(key, -1):
                assert key not in live
                live[key] = entry
    return state, live


def check(table: Path, truth: State, condition: Condition, *, has_statistics: bool) -> None:
    """Check the newest state, and what a scan returns from it."""
    state, live = stored(table)
    assert live.keys() == truth.live.keys()
    assert state["numFiles"] == len(live)
    assert state["totalBytes"] == sum(add["size"] for add in truth.live.values())
    for key, add in truth.live.items():
        entry = live[key]
        assert (entry["path"], entry["size"]) == (add["path"], add["size"])
        assert entry["modificationTime"] == add["modificationTime"]
        assert entry["tags"] == add.get("tags")
        if has_statistics:
            assert entry["stats"] == add.get("stats")
        values = entry["partitionValues"]
        assert shown(values) == shown(add["partitionValues"])
    opened = headrace.Table(table, reporter=lambda _: None)
    assert opened.state.verify().is_sound
    scan = opened.snapshot().scan(condition.sql)
    from_state = {key: facts(file) for key, file in by_key(scan).items()}
    plain = headrace.Table(table, state="").snapshot().scan(condition.sql)
    from_log = {key: facts(file) for key, file in by_key(plain).items()}
    if has_statistics:
        assert from_state == from_log
    assert from_state.keys() == from_log.keys()
    assert from_state.keys() == {
        key for key, add in truth.live.items() if condition.keeps(add["partitionValues"])
    }


@pytest.mark.property
@settings(max_examples=examples(15), deadline=None)
@given(plans(), SETTINGS, st.data())
def test_a_synced_state_has_the_files_of_the_log(
    plan: Plan, options: StateSettings, data: st.DataObject
) -> None:
    shapes = [shape for form_shapes in plan.checkpoints.values() for shape in form_shapes]
    has_statistics = all(shape.statistics is not Statistics.STRUCT for shape in shapes)
    with TemporaryDirectory() as folder:
        table, first = Path(folder), 0
        while first <= plan.latest:
            last = data.draw(st.integers(first, plan.latest))
            advance(table, plan, first, last)
            known = [version for version in plan.checkpoints if version < last]
            for version in range(data.draw(st.sampled_from([0, *known]))):
                commit_path(table, version).unlink(missing_ok=True)
            keeper = headrace.Table(table, reporter=lambda _: None).state.with_settings(options)
            keeper.sync()
            if data.draw(st.booleans()):
                keeper.compact()
            if data.draw(st.booleans()):
                keeper.clean(dry_run=False)
            condition = data.draw(st.sampled_from(CONDITIONS))
            check(table, plan.state(last), condition, has_statistics=has_statistics)
            first = last + 1
