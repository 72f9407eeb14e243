"""What the store is asked to read for an answer."""

import gc
from pathlib import Path

import pytest

from headrace import Table, wiring
from headrace.errors import StoreFailedError
from headrace.storage.counting import CountingStore
from tests.lake.action import add, opening, statistics
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import (
    commit_path,
    log_of,
    state_at,
    write_checksum,
    write_commit,
    write_history,
)
from tests.scan.counting import CountingLocalStore, counting_executor

COMMITS = 30
HISTORY = [[add(f"{v}-{i}") for i in range(5)] for v in range(COMMITS)]
HISTORY[0] = [*opening(), *HISTORY[0]]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_history(tmp_path, HISTORY)
    write_checkpoint(tmp_path, 3, state_at(HISTORY, 3), Shape(form=Form.CLASSIC))
    write_checksum(tmp_path, COMMITS - 1, state_at(HISTORY, COMMITS - 1))
    return tmp_path


@pytest.mark.parametrize("ahead", [1, 4])
def test_once_a_limit_is_reached_nothing_more_is_read(table: Path, ahead: int) -> None:
    executor, opened = counting_executor(table)
    source = Table(table, executor=executor)
    snapshot = source.snapshot()
    source.clear_cache()
    opened.clear()
    scan = snapshot.scan(limit=7, commit_parallelism=ahead)
    assert len(list(scan)) == 7
    needed = 2
    assert needed <= len(opened) <= needed + ahead
    sizes = [path.stat().st_size for path in log_of(table).glob("*.json")]
    assert scan.metrics.counts.bytes_read <= (needed + ahead) * max(sizes)


@pytest.mark.parametrize("name", ["f{}", "again"])
def test_a_limit_is_reached_soon_after_a_match_however_many_commits_have_none(
    tmp_path: Path, name: str
) -> None:
    """Also if newer commits only add files that are shadowed, so that no file needs evaluation."""
    commits, match = 1000, 600
    none = statistics(1, low=0, high=9)
    history = [[add(name.format(v), stats=none)] for v in range(commits)]
    history[match] = [add("match", stats=statistics(1, low=50, high=60))]
    history[0] = [*opening(), *history[0]]
    executor, opened = counting_executor(write_history(tmp_path, history))
    snapshot = Table(tmp_path, executor=executor).snapshot()
    opened.clear()
    assert [file.path for file in snapshot.scan(where="id > 20", limit=1)] == ["match"]
    assert len(opened) <= commits - match + 80


def test_with_a_checksum_file_older_commits_are_not_read(table: Path) -> None:
    """Only the newest commit is read: a scan starts with it, and it costs no extra round trip."""
    executor, opened = counting_executor(table)
    Table(table, executor=executor).snapshot()
    newest = f"{COMMITS - 1:020}"
    read = {"_last_checkpoint", f"{newest}.crc", f"{newest}.json"}
    assert {Path(path).name for path in opened} == read


def test_files_are_the_same_however_commits_are_fetched(table: Path) -> None:
    remote, _ = counting_executor(table)
    local = [file.path for file in Table(table).snapshot().scan()]
    for ahead in (1, 3, 50):
        scan = Table(table, executor=remote).snapshot().scan(commit_parallelism=ahead)
        assert [file.path for file in scan] == local


def test_bytes_and_requests_are_counted_wherever_they_come_from(table: Path) -> None:
    commits = [commit_path(table, version).stat().st_size for version in range(4, COMMITS)]
    [checkpoint] = log_of(table).glob("*.checkpoint.parquet")
    remote, _ = counting_executor(table)
    for executor in (None, remote):
        source = Table(table, executor=executor)
        snapshot = source.snapshot()
        newest, whole = snapshot.scan(limit=5 * len(commits)), snapshot.scan()
        for scan in (newest, whole):
            source.clear_cache()  # otherwise the commits are read once for both
            list(scan)
        counts = newest.metrics.counts
        # The footer of a remote checkpoint is requested together with the last commits.
        ahead = 0 if executor is None else 1
        assert len(commits) <= counts.requests <= len(commits) + ahead
        assert sum(commits) <= counts.bytes_read
        assert counts.bytes_read <= sum(commits) + ahead * checkpoint.stat().st_size
        counts = whole.metrics.counts
        assert (counts.commits_scanned, counts.files_read) == (len(commits), len(commits) + 1)
        read_of_checkpoint = counts.bytes_read - sum(commits)
        # Unneeded columns are not read; the end of a remote file may be read twice.
        assert 0 < read_of_checkpoint < 2 * checkpoint.stat().st_size
        assert counts.requests > len(commits)


@pytest.mark.parametrize("strategy", ["reverse", "forward"])
def test_a_file_counts_once_a_scan_wherever_it_comes_from(table: Path, strategy: str) -> None:
    remote, _ = counting_executor(table)
    for executor in (None, remote):
        snapshot = Table(table, executor=executor).snapshot()
        for _ in range(2):
            scan = snapshot.scan(strategy=strategy, where="part IS NULL")
            list(scan)
            assert scan.metrics.counts.files_read == COMMITS - 4 + 1


class FailingOnce:
    """A store in which the first request for each object fails with a transient error."""

    def __init__(self, root: Path) -> None:
        self._inner = CountingLocalStore(root)
        self.root = self._inner.root
        self._failed: set[str] = set()

    def __getattr__(self, name: str) -> object:
        inner = getattr(self._inner, name)
        if name not in {"read", "read_tail", "read_ranges", "open"}:
            return inner

        def read(path: str, *ranges: object, **settings: object) -> object:
            if path not in self._failed:
                self._failed.add(path)
                raise StoreFailedError(path=path, reason="connection reset", transient=True)
            return inner(path, *ranges, **settings)

        return read


def test_a_transient_failure_is_retried_and_counted(table: Path) -> None:
    executor = wiring.open_executor(FailingOnce(table))  # type: ignore[arg-type]
    scan = Table(table, executor=executor).snapshot().scan(retry_backoff_ms=0)
    assert sorted(f.path for f in scan) == sorted(f.path for f in Table(table).snapshot().scan())
    assert scan.metrics.counts.retries > 0


def test_a_snapshot_reports_its_retries(table: Path) -> None:
    executor = wiring.open_executor(FailingOnce(table))  # type: ignore[arg-type]
    old = Table(table, executor=executor).snapshot()
    # Two missing hints are requested; the checksum and the newest commit are read.
    assert (old.counts.retries, old.counts.files_read) == (4, 2)
    write_commit(table, COMMITS, [add("new")])
    new = old.refresh()
    assert (new.counts.retries, new.counts.files_read, new.counts.commits_scanned) == (1, 1, 1)
    assert new.domains == {}  # this reads the other commits and the checkpoint
    assert new.counts.retries == 1 + (COMMITS - 4 - 1) + 1
    assert (old.counts.retries, old.refresh().counts.retries) == (4, 0)


def test_counts_are_dropped_when_a_run_ends(table: Path) -> None:
    source = Table(table)
    snapshot = source.snapshot()
    write_commit(table, COMMITS, [add("new")])
    newer = snapshot.refresh()
    assert newer.txns == {}
    list(source.changes(4))
    source.explain()
    newer.scan().explain()
    list(newer.scan())
    gc.collect()
    counting = [o for o in gc.get_objects() if isinstance(o, CountingStore)]
    assert [store for store in counting if store.root == source.uri] == []


def test_a_permanent_failure_is_a_typed_error(table: Path) -> None:
    executor = wiring.open_executor(FailingOnce(table))  # type: ignore[arg-type]
    snapshot = Table(table, executor=executor).snapshot()
    with pytest.raises(StoreFailedError, match="connection reset"):
        list(snapshot.scan(retry_attempts=1, commit_parallelism=4))
