"""How many round trips and requests an answer takes on a remote store."""

import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from benchmarks.round_trip import RoundTripStore
from headrace import Snapshot, Table
from headrace.engines import log_bytes
from headrace.engines.read_ahead import ReadAhead
from headrace.storage.byte_range import ByteRange, Contents
from tests.emulator.bucket import Bucket, served
from tests.lake.action import add, opening
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import (
    commit_path,
    log_of,
    state_at,
    write_checksum,
    write_commit,
    write_history,
)
from tests.waiting import wait_until

COMMITS, BASE = 60, 9
AFTER_BASE = COMMITS - BASE - 1
NOISE = [Random(number).randbytes(12_000).hex() for number in range(3 * (BASE + 1))]
"""Long statistics make the checkpoint too large to be read whole."""
HISTORY = [
    [
        add(
            f"{v}-{i}",
            partition_values={"part": "ab"[v % 2], "n": "1"},
            stats=f'{{"numRecords":1,"noise":"{NOISE[3 * v + i]}"}}' if v <= BASE else None,
        )
        for i in range(3)
    ]
    for v in range(COMMITS)
]
HISTORY[0] = [*opening(), *HISTORY[0]]
FILES = 3 * COMMITS
CHECKPOINT = f"_delta_log/{BASE:020}.checkpoint.parquet"
FIRST_ROUND = 3
"""The hint of the log, the hint of a state, and the listing."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table whose checkpoint has protocol and metadata at its beginning."""
    write_history(tmp_path, HISTORY)
    [path] = write_checkpoint(tmp_path, BASE, state_at(HISTORY, BASE), Shape(form=Form.CLASSIC))
    rows, first = pq.read_table(path), ["protocol", "metaData"]
    pq.write_table(rows.select([*first, *(n for n in rows.column_names if n not in first)]), path)
    return tmp_path


@pytest.fixture
def store(table: Path) -> Iterator[RoundTripStore]:
    with RoundTripStore(table) as store:
        yield store


def snapshot_of(store: RoundTripStore) -> Snapshot:
    return Table(store.root, store=store).snapshot()


def test_a_snapshot_takes_three_round_trips(store: RoundTripStore) -> None:
    """Hint and listing, then all commits and the footer, then protocol and metadata."""
    snapshot_of(store)
    assert store.rounds == 3
    assert len(store.requests) == FIRST_ROUND + AFTER_BASE + 1 + 1


def test_a_small_checkpoint_takes_one_request(tmp_path: Path) -> None:
    """It is read whole with its footer, so that neither snapshot nor scan asks for more."""
    small = [
        [add(f"{v}-{i}", partition_values={"part": "ab"[v % 2]}) for i in range(3)]
        for v in range(20)
    ]
    small[0] = [*opening(), *small[0]]
    write_history(tmp_path, small)
    [path] = write_checkpoint(tmp_path, BASE, state_at(small, BASE), Shape(form=Form.CLASSIC))
    with RoundTripStore(tmp_path) as store:
        snapshot = snapshot_of(store)
        assert store.rounds == 2
        assert len(list(snapshot.scan())) == 60
        assert len(list(snapshot.scan("part = 'a'"))) == 30
        assert store.rounds == 2
        assert store.requests.count(f"_delta_log/{path.name}") == 1


def test_protocol_and_metadata_just_before_the_footer_take_no_request(tmp_path: Path) -> None:
    """Spark and delta-rs put their columns after those of the files, often in one row group."""
    write_history(tmp_path, HISTORY[: BASE + 1])
    write_checkpoint(tmp_path, BASE, state_at(HISTORY, BASE), Shape(form=Form.CLASSIC))
    with RoundTripStore(tmp_path) as store:
        snapshot = snapshot_of(store)
        assert store.rounds == 2
        assert len(list(snapshot.scan())) == 3 * (BASE + 1)
        assert store.rounds == 3


def test_a_snapshot_with_a_checksum_file_takes_two_round_trips(
    table: Path, store: RoundTripStore
) -> None:
    write_checksum(table, COMMITS - 1, state_at(HISTORY, COMMITS - 1))
    snapshot_of(store)
    assert store.rounds == 2
    assert len(store.requests) == FIRST_ROUND + 2  # the checksum, and the newest commit


def test_the_first_files_take_no_request_beyond_the_snapshots(
    table: Path, store: RoundTripStore
) -> None:
    assert len(list(snapshot_of(store).scan(limit=3))) == 3
    assert store.rounds == 3
    write_checksum(table, COMMITS - 1, state_at(HISTORY, COMMITS - 1))
    store.reset()
    assert len(list(snapshot_of(store).scan(limit=3))) == 3
    assert store.rounds == 2


def test_no_commit_is_fetched_twice(store: RoundTripStore) -> None:
    snapshot = snapshot_of(store)
    assert len(list(snapshot.scan())) == len(list(snapshot.scan())) == FILES
    commits = [path for path in store.requests if path.endswith(".json")]
    assert len(commits) == len(set(commits)) == AFTER_BASE


def test_listing_all_files_takes_one_round_trip_more_than_the_snapshot(
    store: RoundTripStore,
) -> None:
    assert len(list(snapshot_of(store).scan())) == FILES
    assert store.rounds == 4
    assert len(store.requests) == FIRST_ROUND + AFTER_BASE + 3


def test_one_partition_takes_two_round_trips(store: RoundTripStore) -> None:
    """The partition values, then the columns of the matching row groups."""
    assert len(list(snapshot_of(store).scan("part = 'a'"))) == FILES // 2
    assert store.rounds == 5


@pytest.mark.parametrize(
    ("form", "rounds"),
    [
        (Form.MULTI_PART, 5),
        (Form.V2_PARQUET, 6),
        (Form.V2_JSON, 5),
        (Form.V2_CLASSIC_NAME, 6),
    ],
    ids=lambda value: value.value if isinstance(value, Form) else "",
)
def test_leaves_are_requested_together(tmp_path: Path, form: Form, rounds: int) -> None:
    """The manifest, then the footers of all sidecars, then their columns.

    In a multi-part checkpoint, protocol and metadata are in different files, which are read one
    after the other.
    """
    write_history(tmp_path, HISTORY)
    shape = Shape(form=form, parts=3, sidecars=3)
    write_checkpoint(tmp_path, BASE, state_at(HISTORY, BASE), shape)
    with RoundTripStore(tmp_path) as store:
        assert len(list(snapshot_of(store).scan())) == FILES
        assert store.rounds <= rounds


def test_commits_beyond_the_window_are_fetched_while_others_are_replayed(
    store: RoundTripStore,
) -> None:
    source = Table(store.root, store=store)
    snapshot = source.snapshot()
    source.clear_cache()
    store.reset()
    assert len(list(snapshot.scan(commit_parallelism=25))) == FILES
    assert store.rounds <= 1 + 2 + 2  # the newest, two windows, the footer, the columns


def test_a_long_log_is_listed_from_its_hint(tmp_path: Path) -> None:
    history = [[add(f"f{v}")] for v in range(1100)]
    history[0] = [*opening(), *history[0]]
    write_history(tmp_path, history)
    base = len(history) - 20
    write_checkpoint(tmp_path, base, state_at(history, base), Shape(form=Form.CLASSIC))
    hint = f'{{"version":{base},"size":1}}'
    (log_of(tmp_path) / "_last_checkpoint").write_text(hint)
    with RoundTripStore(tmp_path) as store:
        assert snapshot_of(store).version == len(history) - 1
        assert store.rounds == 3  # one more than for a short log with a small checkpoint
        assert store.requests.count("_delta_log") == 2


def test_refreshing_an_unchanged_table_takes_one_request(store: RoundTripStore) -> None:
    snapshot = snapshot_of(store)
    store.reset()
    assert snapshot.refresh() is snapshot
    assert (store.rounds, store.requests) == (1, ["_delta_log"])


def test_refreshing_reads_only_the_new_commits(table: Path, store: RoundTripStore) -> None:
    snapshot = snapshot_of(store)
    store.reset()
    for version in range(COMMITS, COMMITS + 5):
        write_commit(table, version, [add(f"new-{version}")])
    assert snapshot.refresh().version == COMMITS + 4
    assert (store.rounds, len(store.requests)) == (2, 6)


def test_time_travel_lists_the_log_once(table: Path, store: RoundTripStore) -> None:
    for version in range(COMMITS):
        write_commit(table, version, HISTORY[version], modified_ms=1_000_000 * (version + 1))
    snapshot = Table(store.root, store=store).snapshot(as_of="1970-01-01T12:00:00Z")
    assert snapshot.version == 42
    assert store.requests.count("_delta_log") == 1
    commits = [path for path in store.requests if path.endswith(".json")]
    assert len(commits) == len(set(commits)) == AFTER_BASE
    assert store.rounds == 4  # as for the newest, plus protocol and metadata of the older one


def test_a_whole_scan_requests_the_checkpoint_while_it_replays_commits(
    store: RoundTripStore,
) -> None:
    files = iter(snapshot_of(store).scan())
    before = store.requests.count(CHECKPOINT)
    assert len([next(files) for _ in range(4)]) == 4  # the newest commit has three
    wait_until(lambda: store.requests.count(CHECKPOINT) > before)
    assert store.requests.count(CHECKPOINT) == before + 1
    assert 4 + len(list(files)) == FILES
    assert store.requests.count(CHECKPOINT) == before + 1


@pytest.mark.parametrize(("limit", "rounds"), [(None, 2), (FILES, 3)])
@pytest.mark.parametrize("strategy", ["reverse", "forward"])
def test_a_whole_scan_has_more_of_a_large_checkpoint_in_flight_than_one_with_a_limit(
    table: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, limit: int | None, rounds: int
) -> None:
    """Eight row groups: three may be ahead, or four if the scan takes all of them."""
    path = log_of(table) / f"{BASE:020}.checkpoint.parquet"
    pq.write_table(pq.read_table(path), path, row_group_size=4)
    group_bytes = pq.read_metadata(path).row_group(3).total_byte_size
    most = {"ahead_bytes": int(3.5 * group_bytes), "limit_bytes": int(6.5 * group_bytes)}
    monkeypatch.setattr(log_bytes, "ReadAhead", partial(ReadAhead, **most))
    with RoundTripStore(table) as store:
        snapshot = snapshot_of(store)
        before = store.rounds
        scan = snapshot.scan(strategy=strategy, limit=limit, leaf_parallelism=1)
        assert len(list(scan)) == FILES
        assert store.rounds - before == rounds


def test_a_scan_with_a_limit_requests_no_row_group_it_may_not_need(
    store: RoundTripStore,
) -> None:
    snapshot = snapshot_of(store)
    before = store.requests.count(CHECKPOINT)
    assert len(list(snapshot.scan(limit=3 * AFTER_BASE))) == 3 * AFTER_BASE
    assert store.requests.count(CHECKPOINT) == before


def test_a_limit_cancels_requests_that_have_not_started(table: Path, store: RoundTripStore) -> None:
    source = Table(store.root, store=store)
    snapshot = source.snapshot()
    source.clear_cache()
    store.reset()
    scan = snapshot.scan(limit=2)
    assert len(list(scan)) == 2
    newest = commit_path(table, COMMITS - 1)
    assert store.requests == [f"_delta_log/{newest.name}"]


class _SlowCommits(RoundTripStore):
    """Answers requests for commits only once the checkpoint's columns are requested."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.columns_requested = threading.Event()

    def request(self, path: str, *, count: int = 1) -> None:  # noqa: ARG002
        if path.endswith(".json"):
            self.columns_requested.wait(5)

    def read_ranges(
        self, path: str, ranges: Sequence[ByteRange], *, etag: str | None = None
    ) -> Contents:
        self.columns_requested.set()
        return super().read_ranges(path, ranges, etag=etag)


def test_protocol_and_metadata_are_requested_while_commits_arrive(table: Path) -> None:
    """So the last round trip does not wait until all commits have been replayed."""
    store = _SlowCommits(table)
    started = time.monotonic()
    assert snapshot_of(store).version == COMMITS - 1
    assert time.monotonic() - started < 4


def test_a_request_that_newer_commits_made_unnecessary_is_not_waited_for(table: Path) -> None:
    newest = write_commit(table, COMMITS, opening()).name
    over, bucket = threading.Event(), Bucket({})

    def content(path: Path, read: int) -> bytes:
        if path.name == newest and bucket.reads.get(f"t/_delta_log/{newest}"):
            wait_until(lambda: bucket.reads.get(f"t/{CHECKPOINT}", 0) == 2)
        if path.suffix == ".parquet" and read:
            over.wait(5)
        return path.read_bytes()

    files = [path for path in table.rglob("*") if path.is_file()]
    bucket.objects = {
        f"t/{path.relative_to(table).as_posix()}": partial(content, path) for path in files
    }
    with served(bucket) as options:
        started = time.monotonic()
        assert Table("s3://lake/t", storage_options=options).snapshot().version == COMMITS
        assert time.monotonic() - started < 4
        over.set()
    assert bucket.reads[f"t/{CHECKPOINT}"] == 2
