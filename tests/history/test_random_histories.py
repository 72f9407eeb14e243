"""Whatever happened to a log, each version lists exactly what its commits say.

The truth is the generated history, replayed in memory; not even the files are read.
"""

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace.errors import LogGapError, PartitionValueError, VersionNotFoundError
from tests.effort import examples
from tests.lake.checkpoint import Statistics
from tests.lake.partition import CONDITIONS, is_malformed, shown
from tests.lake.plan import Plan
from tests.lake.statistic import may_exceed
from tests.lake.strategies import WELL_FORMED, full_checkpoints, plans
from tests.listing import (
    AS_WRITTEN,
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
    live_files = by_key(snapshot.scan())
    assert live_files.keys() == state.live.keys()
    for key, file in live_files.items():
        reported, expected = facts(file), expected_facts(state.live[key])
        expected["partition_values"] = shown(expected["partition_values"])
        if structs:
            # A checkpoint without JSON statistics can only show its typed columns.
            stats, expected_stats = reported.pop("stats"), expected.pop("stats")
            if stats is not None:
                assert stats == expected_stats
        assert reported == expected


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
    shapes = [shape for form_shapes in plan.checkpoints.values() for shape in form_shapes]
    return any(shape.statistics is Statistics.STRUCT for shape in shapes)


@settings(max_examples=examples(400))
@given(plans())
def test_every_version_lists_the_files_of_its_commits(plan: Plan) -> None:
    with plan.on_disk() as table:
        for version in plan.readable:
            snapshot = open_snapshot(table, version)
            assert snapshot.version == version
            _check_files(snapshot, plan.state(version), structs=_has_structs(plan))
        assert open_snapshot(table).version == plan.latest


@settings(max_examples=examples(150))
@given(plans())
def test_every_version_has_its_transactions_and_domains(plan: Plan) -> None:
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
@given(plans(oddities=WELL_FORMED))
def test_batches_have_the_same_files_as_iteration(plan: Plan) -> None:
    with plan.on_disk() as table:
        scan = open_snapshot(table).scan()
        assert batch_rows(scan.batches()) == file_rows(scan)


@settings(max_examples=examples(100))
@given(plans())
def test_a_malformed_value_is_an_error_only_where_it_is_typed(plan: Plan) -> None:
    live = plan.state(plan.latest).live.values()
    with plan.on_disk() as table:
        scan = open_snapshot(table).scan()
        assert batch_rows(scan.batches(columns=AS_WRITTEN)) == file_rows(scan, AS_WRITTEN)
        if any(is_malformed(add["partitionValues"]) for add in live):
            with pytest.raises(PartitionValueError):
                list(scan.batches(columns=["typed_partition_values"]))


@settings(max_examples=examples(100))
@given(plans(), st.integers(0, 7))
def test_a_limit_returns_that_number_of_distinct_live_files(plan: Plan, limit: int) -> None:
    live = plan.state(plan.latest).live
    with plan.on_disk() as table:
        scan = open_snapshot(table).scan(limit=limit)
        live_files = by_key(scan)
        assert live_files.keys() <= live.keys()
        assert len(live_files) == min(limit, len(live))
        assert sum(batch.num_rows for batch in scan.batches(columns=["path"])) == len(live_files)


@settings(max_examples=examples(80))
@given(full_checkpoints())
def test_a_condition_on_partitions_keeps_exactly_the_files_that_may_match(plan: Plan) -> None:
    values = {key: add["partitionValues"] for key, add in plan.state(plan.latest).live.items()}
    with plan.on_disk() as table:
        snapshot = open_snapshot(table)
        for condition in CONDITIONS:
            live_files = by_key(snapshot.scan(where=condition.sql))
            expected = {key for key, texts in values.items() if condition.keeps(texts)}
            assert live_files.keys() == expected, condition.sql


@settings(max_examples=examples(150))
@given(full_checkpoints() | plans(), st.integers(-1, 60))
def test_a_condition_on_statistics_keeps_exactly_the_files_that_may_match(
    plan: Plan, bound: int
) -> None:
    live = plan.state(plan.latest).live
    expected = {key for key, add in live.items() if may_exceed(add.get("stats"), bound)}
    with plan.on_disk() as table:
        live_files = by_key(open_snapshot(table).scan(where=f"id > {bound}"))
    assert live_files.keys() == expected


@settings(max_examples=examples(50))
@given(plans(), st.integers(0, 6))
def test_a_partly_read_scan_can_be_iterated_again(plan: Plan, count: int) -> None:
    with plan.on_disk() as table:
        scan = open_snapshot(table).scan()
        first = iter(scan)
        head = list(islice(first, count))
        whole = file_rows(scan, AS_WRITTEN)
        assert file_rows([*head, *first], AS_WRITTEN) == whole
