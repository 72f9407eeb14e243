"""Whatever a log went through, each version lists exactly what its commits say.

The truth is the history as it was drawn, folded in memory; not even the files are consulted.
"""

import json
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace.errors import LogGapError, VersionNotFoundError
from tests.effort import examples
from tests.lake.checkpoint import Statistics
from tests.lake.plan import Plan
from tests.lake.strategies import plans
from tests.listing import (
    batch_rows,
    by_key,
    expected_facts,
    facts,
    file_rows,
    open_snapshot,
)
from tests.oracle import State

pytestmark = pytest.mark.property


def _check_files(snapshot: headrace.Snapshot, state: State, *, structs: bool) -> None:
    found = by_key(snapshot.scan())
    assert found.keys() == state.live.keys()
    for key, file in found.items():
        shown, expected = facts(file), expected_facts(state.live[key])
        if structs:
            # A checkpoint without JSON statistics has nothing to show but its columns.
            shown_stats, expected_stats = shown.pop("stats"), expected.pop("stats")
            if shown_stats is not None:
                assert json.loads(shown_stats) == json.loads(expected_stats)
        assert shown == expected


def _check_rest(snapshot: headrace.Snapshot, state: State) -> None:
    assert state.protocol is not None
    assert state.metadata is not None
    assert snapshot.protocol.reader_features == state.protocol["readerFeatures"]
    assert dict(snapshot.properties) == state.metadata["configuration"]
    assert {app: txn.version for app, txn in snapshot.txns.items()} == {
        app: txn["version"] for app, txn in state.txns.items()
    }
    assert {name: domain.configuration for name, domain in snapshot.domains.items()} == {
        name: domain["configuration"] for name, domain in state.domains.items()
    }


def _has_structs(plan: Plan) -> bool:
    shapes = [shape for found in plan.checkpoints.values() for shape in found]
    return any(shape.statistics is Statistics.STRUCT for shape in shapes)


@settings(max_examples=examples(400))
@given(plans())
def test_every_version_lists_what_its_commits_say(plan: Plan) -> None:
    with plan.on_disk() as table:
        for version in plan.readable:
            snapshot = open_snapshot(table, version)
            assert snapshot.version == version
            _check_files(snapshot, plan.state(version), structs=_has_structs(plan))
        assert open_snapshot(table).version == plan.latest


@settings(max_examples=examples(150))
@given(plans())
def test_every_version_knows_its_transactions_and_domains(plan: Plan) -> None:
    with plan.on_disk() as table:
        for version in plan.readable:
            _check_rest(open_snapshot(table, version), plan.state(version))


@settings(max_examples=examples(50))
@given(plans().filter(lambda plan: plan.cleaned_to > 0))
def test_versions_that_were_cleaned_up_are_refused(plan: Plan) -> None:
    with plan.on_disk() as table:
        for version in set(range(len(plan.history))) - set(plan.readable):
            with pytest.raises((VersionNotFoundError, LogGapError)):
                open_snapshot(table, version)


@settings(max_examples=examples(100))
@given(plans())
def test_refresh_from_any_version_equals_a_fresh_snapshot(plan: Plan) -> None:
    truth, structs = plan.state(plan.latest), _has_structs(plan)
    with plan.on_disk() as table:
        for version in plan.readable:
            snapshot = open_snapshot(table, version).refresh()
            assert snapshot.version == plan.latest
            _check_files(snapshot, truth, structs=structs)
            _check_rest(snapshot, truth)


@settings(max_examples=examples(150))
@given(plans(), st.data())
def test_refresh_follows_a_log_that_grows_and_is_cleaned(plan: Plan, data: st.DataObject) -> None:
    truth, structs = plan.state(plan.latest), _has_structs(plan)
    stop = data.draw(st.integers(0, plan.latest))
    with plan.until(stop).on_disk() as table:
        before = open_snapshot(table)
        if data.draw(st.booleans()):
            list(before.scan())
        plan.write(table)
        snapshot = before.refresh()
        assert (before.version, snapshot.version) == (stop, plan.latest)
        _check_files(snapshot, truth, structs=structs)
        _check_rest(snapshot, truth)


@settings(max_examples=examples(100))
@given(plans())
def test_batches_hold_what_iteration_gives(plan: Plan) -> None:
    with plan.on_disk() as table:
        scan = open_snapshot(table).scan()
        assert batch_rows(scan.batches()) == file_rows(scan)


@settings(max_examples=examples(100))
@given(plans(), st.integers(0, 7))
def test_a_limit_gives_that_many_distinct_live_files(plan: Plan, limit: int) -> None:
    live = plan.state(plan.latest).live
    with plan.on_disk() as table:
        scan = open_snapshot(table).scan(limit=limit)
        found = by_key(scan)
        assert found.keys() <= live.keys()
        assert len(found) == min(limit, len(live))
        assert sum(batch.num_rows for batch in scan.batches()) == len(found)


@settings(max_examples=examples(100))
@given(plans(), st.sampled_from(["x", "y z"]))
def test_partition_pruning_never_changes_which_reference_wins(plan: Plan, wanted: str) -> None:
    live = plan.state(plan.latest).live
    values = {key: add["partitionValues"]["part"] for key, add in live.items()}
    with plan.on_disk() as table:
        scan = open_snapshot(table).scan(where=f"part = '{wanted}'")
        found = by_key(scan).keys()
    assert found <= live.keys()
    assert {key for key, value in values.items() if value == wanted} <= found
    assert {values[key] for key in found} <= {wanted, None}


@settings(max_examples=examples(100))
@given(plans(), st.integers(-1, 60))
def test_skipping_by_statistics_keeps_every_file_that_may_match(plan: Plan, bound: int) -> None:
    live = plan.state(plan.latest).live
    stats = {key: json.loads(add["stats"]) for key, add in live.items() if "stats" in add}
    without_match = {key for key, found in stats.items() if found["maxValues"]["id"] <= bound}
    empty = {key for key, found in stats.items() if found["numRecords"] == 0}
    with plan.on_disk() as table:
        found = set(by_key(open_snapshot(table).scan(where=f"id > {bound}")))
    assert live.keys() - without_match - empty <= found
    assert found <= live.keys() - without_match


@settings(max_examples=examples(50))
@given(plans(), st.integers(0, 6))
def test_a_scan_that_was_left_halfway_can_be_iterated_again(plan: Plan, taken: int) -> None:
    with plan.on_disk() as table:
        scan = open_snapshot(table).scan()
        first = iter(scan)
        head = list(islice(first, taken))
        whole = file_rows(scan)
        assert file_rows([*head, *first]) == whole
