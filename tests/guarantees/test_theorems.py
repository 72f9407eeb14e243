"""The three guarantees of docs/guarantees.md, each as a property over random histories."""

from hashlib import sha512
from itertools import islice
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Table, wiring
from headrace.errors import HeadraceError, SnapshotExpiredError
from headrace.scan.options import Strategy
from headrace.storage.store import RequestCost
from tests.effort import examples
from tests.lake.action import add, opening, remove, statistics
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import commit_path, log_of, state_at, write_commit, write_history
from tests.lake.plan import Plan
from tests.lake.strategies import plans
from tests.oracle import Key, canonical
from tests.scan.counting import CountingLocalStore, counting_executor

JUDGED_TOGETHER = 64
"""The number of commits whose files are evaluated together under a predicate."""
FIRST_ROW_GROUPS = 4
"""The number of row groups of a remote checkpoint that are requested before one is consumed."""
CLEANED = ("*.checkpoint.*", "_sidecars/*")
strategies = st.sampled_from([Strategy.REVERSE, Strategy.FORWARD])


def key(file: object) -> Key:
    return Key(canonical(file.path), file.dv_id)  # type: ignore[attr-defined]


@pytest.mark.property
@given(plans(), strategies, st.integers(0, 5), st.integers(1, 3))
@settings(max_examples=examples(120))
def test_snapshot_isolation_later_commits_do_not_change_a_scan(
    plan: Plan, strategy: Strategy, count: int, threads: int
) -> None:
    truth = set(plan.state(plan.latest).live)
    with plan.on_disk() as table:
        scan = Table(table).snapshot().scan(strategy=strategy, leaf_parallelism=threads)
        files = iter(scan)
        keys = [key(file) for file in islice(files, count)]
        write_commit(table, plan.latest + 1, [add("brand-new"), *(remove(k.path) for k in truth)])
        keys += [key(file) for file in files]
        assert len(keys) == len(set(keys))
        assert set(keys) == truth


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
        keys = [key(file) for file in scan]
        assert len(keys) == len(set(keys)) == min(limit, len(truth))
        assert set(keys) <= truth


threads_and_conditions = pytest.mark.parametrize(
    ("threads", "where"), [(1, None), (2, None), (1, "id >= 0"), (2, "id >= 0")]
)


@threads_and_conditions
def test_early_termination_few_commits_are_read_ahead(
    tmp_path: Path, threads: int, where: str | None
) -> None:
    commits, count = 400, 100
    history = [[add(f"{v}", stats=statistics(1))] for v in range(commits)]
    write_history(tmp_path, [opening(), *history])
    executor, opened = counting_executor(tmp_path)
    snapshot = Table(tmp_path, executor=executor).snapshot()
    opened.clear()
    files = iter(snapshot.scan(where=where, commit_parallelism=threads))
    assert len(list(islice(files, count))) == count
    files.close()  # type: ignore[attr-defined]
    together = 1 if where is None else JUDGED_TOGETHER
    assert len(opened) <= count + together + threads


class QuickStore(CountingLocalStore):
    """The same store with free requests: reads start when they are needed."""

    @property
    def request_cost(self) -> RequestCost:
        return RequestCost.LOCAL


@threads_and_conditions
@pytest.mark.parametrize("kind", [QuickStore, CountingLocalStore])
def test_early_termination_few_row_groups_are_read_ahead(
    tmp_path: Path, threads: int, where: str | None, kind: type[CountingLocalStore]
) -> None:
    """Each thread, and the reader ahead, has one batch ready and one in progress.

    From a remote store, as many row groups again may have been requested, and four more.
    """
    groups, rows, count = 30, 300, 3
    # Long, incompressible names keep the footer far away from all but the last groups.
    names = [sha512(str(n).encode()).hexdigest() for n in range(groups * rows)]
    history = [[*opening(), *(add(name, stats=statistics(1)) for name in names)]]
    write_history(tmp_path, history)
    shape = Shape(form=Form.CLASSIC, row_group_rows=rows)
    [path] = write_checkpoint(tmp_path, 0, state_at(history, 0), shape)
    store = kind(tmp_path)
    snapshot = Table(tmp_path, executor=wiring.open_executor(store)).snapshot()
    store.ranges.clear()
    with snapshot.scan(where=where, leaf_parallelism=threads).batches() as batches:
        assert len(list(islice(batches, count))) == count
    of_leaves = 0 if threads == 1 else 2 * threads
    most = count + of_leaves + 2
    if store.request_cost is RequestCost.REMOTE:
        most = 2 * most + FIRST_ROW_GROUPS
    assert count <= len(groups_read(path, store.ranges)) <= most


def groups_read(path: Path, ranges: list[range]) -> set[int]:
    """Return the row groups whose path column was read."""
    footer = pq.read_metadata(path)
    starts = {
        footer.row_group(group).column(column).data_page_offset: group
        for group in range(footer.num_row_groups)
        for column in range(footer.num_columns)
        if footer.row_group(group).column(column).path_in_schema == "add.path"
    }
    data_ends = path.stat().st_size - footer.serialized_size
    read = [part for part in ranges if part.stop <= data_ends]
    return {group for start, group in starts.items() if any(start in part for part in read)}


@pytest.mark.property
@given(plans(), strategies, st.integers(0, 3), st.data())
@settings(max_examples=examples(120))
def test_vacuum_safety_a_scan_of_a_cleaned_log_is_complete_or_an_error(
    plan: Plan, strategy: Strategy, count: int, data: st.DataObject
) -> None:
    """Deleted log files never bring a removed file back, and never lose a live one."""
    truth = set(plan.state(plan.latest).live)
    with plan.on_disk() as table:
        snapshot = Table(table).snapshot()
        files = iter(snapshot.scan(strategy=strategy))
        keys = [key(file) for file in islice(files, count)]
        for version in range(data.draw(st.integers(0, plan.latest + 1))):
            commit_path(table, version).unlink(missing_ok=True)
        # Sidecars are deleted last, when no checkpoint references them any more.
        for kind in CLEANED[: data.draw(st.integers(0, len(CLEANED)))]:
            for path in log_of(table).glob(kind):
                path.unlink()
        try:
            keys.extend(key(file) for file in files)
        except HeadraceError as error:
            assert isinstance(error, SnapshotExpiredError)  # noqa: PT017  (or no error at all)
            assert set(keys) <= truth
        else:
            assert set(keys) == truth
        assert len(keys) == len(set(keys))
