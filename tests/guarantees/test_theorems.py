"""The three guarantees of docs/guarantees.md, each as a property over random histories."""

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Table
from headrace.errors import HeadraceError, SnapshotExpiredError
from headrace.scan.options import Strategy
from tests.effort import examples
from tests.lake.action import add, remove
from tests.lake.log import commit_path, log_of, write_commit
from tests.lake.plan import Plan
from tests.lake.strategies import plans
from tests.oracle import Key, canonical

CLEANED = ("*.checkpoint.*", "_sidecars/*")
strategies = st.sampled_from([Strategy.REVERSE, Strategy.FORWARD])


def key(file: object) -> Key:
    return Key(canonical(file.path), file.dv_id)  # type: ignore[attr-defined]


@pytest.mark.property
@given(plans(), strategies, st.integers(0, 5), st.integers(1, 3))
@settings(max_examples=examples(120))
def test_snapshot_isolation_later_commits_do_not_change_a_scan(
    plan: Plan, strategy: Strategy, taken: int, threads: int
) -> None:
    truth = set(plan.state(plan.latest).live)
    with plan.on_disk() as table:
        scan = Table(table).snapshot().scan(strategy=strategy, leaf_parallelism=threads)
        files = iter(scan)
        found = [key(file) for file in islice(files, taken)]
        write_commit(table, plan.latest + 1, [add("brand-new"), *(remove(k.path) for k in truth)])
        found += [key(file) for file in files]
        assert len(found) == len(set(found))
        assert set(found) == truth


@pytest.mark.property
@given(plans(), strategies, st.integers(0, 8), st.integers(0, 300))
@settings(max_examples=examples(120))
def test_early_termination_any_prefix_is_live_and_distinct(
    plan: Plan, strategy: Strategy, limit: int, memory_limit_bytes: int
) -> None:
    truth = set(plan.state(plan.latest).live)
    with plan.on_disk() as table:
        scan = (
            Table(table)
            .snapshot()
            .scan(limit=limit, strategy=strategy, memory_limit_bytes=memory_limit_bytes)
        )
        found = [key(file) for file in scan]
        assert len(found) == len(set(found)) == min(limit, len(truth))
        assert set(found) <= truth


@pytest.mark.property
@given(plans(), strategies, st.integers(0, 3), st.data())
@settings(max_examples=examples(120))
def test_vacuum_safety_a_log_that_is_cleaned_gives_all_or_an_error(
    plan: Plan, strategy: Strategy, taken: int, data: st.DataObject
) -> None:
    """Files that are gone from the log never bring a removed file back, nor lose a live one."""
    truth = set(plan.state(plan.latest).live)
    with plan.on_disk() as table:
        snapshot = Table(table).snapshot()
        files = iter(snapshot.scan(strategy=strategy))
        found = [key(file) for file in islice(files, taken)]
        for version in range(data.draw(st.integers(0, plan.latest + 1))):
            commit_path(table, version).unlink(missing_ok=True)
        # Sidecars go last, when no checkpoint names them any more.
        for kind in CLEANED[: data.draw(st.integers(0, len(CLEANED)))]:
            for path in log_of(table).glob(kind):
                path.unlink()
        try:
            found += [key(file) for file in files]
        except HeadraceError as error:
            assert isinstance(error, SnapshotExpiredError)  # noqa: PT017  (or no error at all)
            assert set(found) <= truth
        else:
            assert set(found) == truth
