"""A scan's counts equal a naive count over the files of any history."""

import json
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Scan, Table
from headrace.metrics.counts import Counts
from tests.effort import examples
from tests.lake.partition import CONDITIONS, Condition
from tests.lake.plan import Plan
from tests.lake.statistic import may_exceed
from tests.lake.strategies import plans
from tests.metrics.naive import Keeps, Log, read_log, rows_in
from tests.oracle import Action

pytestmark = pytest.mark.property


def compare_rows(counts: Counts, log: Log) -> None:
    """Every row that was read counts once, by its kind and by its source."""
    files = (*log.commits, *log.leaves)
    assert counts.total_metadata_rows == rows_in(files)
    assert counts.rows_from_json == rows_in(file for file in files if file.is_json)
    assert counts.rows_from_checkpoint == rows_in(file for file in files if not file.is_json)
    assert counts.non_file_action_rows == sum(file.others for file in files)
    assert counts.removes_processed == sum(len(file.removes) for file in log.commits)
    assert counts.commits_scanned == len(log.commits)


def compare_adds(counts: Counts, log: Log, keeps: Keeps) -> None:
    """Every add is emitted, pruned, or shadowed by a newer action."""
    replayed = list(log.fresh())
    fresh = [add for _, adds in replayed for add in adds]
    hidden = [add for leaf, adds in replayed[len(log.commits) :] for add in leaf.without(adds)]
    ruled_out = counts.rows_filtered_by_partition_pruning + counts.rows_filtered_by_data_skipping
    assert counts.adds_emitted == sum(map(keeps, fresh))
    # In a checkpoint, a shadowed add may be pruned before that is known; in a commit it is not.
    also = sum(not keeps(add) for add in hidden)
    assert 0 <= counts.adds_emitted + ruled_out - len(fresh) <= also


def statistics_of(add: Action) -> str:
    """Return the statistics as text, or as a checkpoint has parsed them."""
    text: str | None = add.get("stats")
    return text or json.dumps(add.get("stats_parsed"))


def scanned(scan: Scan) -> Counts:
    list(scan)
    return scan.metrics.counts


def everything(_: Action) -> bool:
    return True


@settings(max_examples=examples(100))
@given(plans())
def test_a_whole_scan_counts_every_row_and_every_add(plan: Plan) -> None:
    with plan.on_disk() as table:
        snapshot = Table(table).snapshot()
        log = read_log(table, snapshot.segment)
        counts = scanned(snapshot.scan())
    compare_rows(counts, log)
    compare_adds(counts, log, everything)
    assert counts.rows_filtered_by_partition_pruning == 0
    assert counts.rows_filtered_by_data_skipping == 0


@settings(max_examples=examples(100))
@given(plans(), st.sampled_from(CONDITIONS))
def test_a_condition_on_partition_values_counts_the_pruned_files(
    plan: Plan, condition: Condition
) -> None:
    with plan.on_disk() as table:
        snapshot = Table(table).snapshot()
        log = read_log(table, snapshot.segment)
        counts = scanned(snapshot.scan(where=condition.sql))
    compare_rows(counts, log)
    compare_adds(counts, log, lambda add: condition.keeps(add["partitionValues"]))
    assert counts.rows_filtered_by_data_skipping == 0


@settings(max_examples=examples(100))
@given(plans(), st.integers(0, 60))
def test_a_condition_on_statistics_counts_the_skipped_files(plan: Plan, bound: int) -> None:
    with plan.on_disk() as table:
        snapshot = Table(table).snapshot()
        log = read_log(table, snapshot.segment)
        counts = scanned(snapshot.scan(where=f"id > {bound}"))
    compare_rows(counts, log)
    compare_adds(counts, log, lambda add: may_exceed(statistics_of(add), bound))
    assert counts.rows_filtered_by_partition_pruning == 0


def take(table: Path, files: int, *, how: str) -> tuple[Log, Counts]:
    snapshot = Table(table).snapshot()
    log = read_log(table, snapshot.segment)
    if how == "limit":
        return log, scanned(snapshot.scan(limit=files, strategy="reverse"))
    scan = snapshot.scan(strategy="reverse")
    with closing(iter(scan)) as iterator:  # type: ignore[type-var]
        list(islice(iterator, files))
    return log, scan.metrics.counts


@pytest.mark.parametrize("how", ["limit", "close"])
@settings(max_examples=examples(100))
@given(plans(), st.integers(1, 8))
def test_a_scan_that_ends_early_counts_what_it_has_read(how: str, plan: Plan, files: int) -> None:
    with plan.on_disk() as table:
        log, counts = take(table, files, how=how)
    fresh = sum(len(adds) for _, adds in log.fresh())
    assert counts.adds_emitted == min(files, fresh)
    read = log.read_for(files, everything)
    if fresh < files or not read.leaves:
        compare_rows(counts, read)
    else:  # threads read leaves ahead of a consumer that stops
        commits, leaves = rows_in(read.commits), rows_in(read.leaves)
        assert commits < counts.total_metadata_rows <= commits + leaves
