"""Closing a scan does not wait for it, even while it finds no files to return."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace import Table, wiring
from headrace.errors import ReaderClosedError, StoreFailedError
from headrace.metrics.event import ChecksumMismatched, Event, LogReplayCompleted
from headrace.plan import DropSeen, ScanParquet
from headrace.plan.cancellation import Cancellation, Cancelled
from headrace.plan.context import ExecutionContext, ExecutionSettings
from headrace.protocol.log_file import LogFile
from headrace.replay.seen import FrozenSeenSet
from headrace.scan.reader import BatchReader
from headrace.scan.scan import Scan
from headrace.storage.local import LocalStore
from tests.lake.action import add, opening, statistics
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import state_at, write_checksum, write_history
from tests.scan.counting import CountingLocalStore

COMMITS = 200
PAUSE_S = 0.02
NO_FILE = "id < -5"
FEW = 5
"""Reads that a thread may still make between two clock checks on a busy machine; most make one."""
SOON_S = 2.0
"""Limit for what cannot be counted: a small fraction of the remaining work or wait."""


class SlowStore(CountingLocalStore):
    """Reads each commit slowly."""

    def read(self, path: str) -> bytes:
        time.sleep(PAUSE_S)
        return super().read(path)

    def reads(self) -> int:
        """Return the number of reads so far."""
        return len(self.opened)


class BrokenStore(CountingLocalStore):
    """Fails to read one commit with an error that may be temporary."""

    def read(self, path: str) -> bytes:
        if path.endswith(f"{COMMITS - 2:020}.json"):  # one of the newest, so that it is read early
            raise StoreFailedError(path=path, reason="busy")
        return super().read(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stats = statistics(1, low=0, high=9)
    history = [[add(f"f{v}", stats=stats, partition_values={})] for v in range(COMMITS)]
    history[0] = [*opening(), *history[0]]
    table = write_history(tmp_path_factory.mktemp("slow"), history)
    write_checksum(table, COMMITS - 1, state_at(history, 3))  # contradicts the log
    return table


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert [t.name for t in threading.enumerate() if t.name.startswith("headrace")] == []


def scan_of(store: CountingLocalStore, folder: Path, events: list[Event], **options: Any) -> Scan:
    table = Table(folder, executor=wiring.open_executor(store), reporter=events.append)
    return table.snapshot().scan(where=NO_FILE, commit_parallelism=1, **options)


def closed_while_waiting(items: Any, measure: Callable[[], float]) -> float:
    """Return what `measure` counts while closing, as another thread waits for an item.

    That thread gets a `ReaderClosedError`, because there may have been more items.
    """
    raised = threading.Event()

    def consume() -> None:
        with pytest.raises(ReaderClosedError):
            next(items)
        raised.set()

    consumer = threading.Thread(target=consume)
    consumer.start()
    time.sleep(0.3)
    assert consumer.is_alive()
    before = measure()
    items.close()
    result = measure() - before
    assert raised.wait(5)
    return result


@pytest.mark.parametrize("strategy", ["reverse", "forward"])
def test_closing_ends_a_scan_that_finds_nothing(folder: Path, strategy: str) -> None:
    events: list[Event] = []
    store = SlowStore(folder)
    scan = scan_of(store, folder, events, strategy=strategy)
    assert closed_while_waiting(scan.batches(), store.reads) <= FEW
    assert sum(isinstance(event, LogReplayCompleted) for event in events) == 1


def test_an_interrupted_list_is_neither_cached_nor_compared_with_the_checksum(folder: Path) -> None:
    events: list[Event] = []
    store = SlowStore(folder)
    scan = scan_of(store, folder, events)
    closed_while_waiting(scan.batches(), store.reads)
    assert not any(isinstance(event, ChecksumMismatched) for event in events)
    sizes = [batch.num_rows for batch in scan.batches()]
    assert (sizes, scan.metrics.counts.listing_cache_hits) == ([], 0)


def test_closing_does_not_wait_for_a_store_that_hangs(folder: Path) -> None:
    patience = {"retry_backoff_ms": 20_000, "retry_deadline_ms": 60_000}
    scan = scan_of(BrokenStore(folder), folder, [], **patience)
    batches = scan.batches()
    assert closed_while_waiting(batches, time.monotonic) < SOON_S
    assert scan.metrics.counts.retries == 1


def test_closing_ends_a_list_that_is_brought_up_to_date(folder: Path) -> None:
    events: list[Event] = []
    store = SlowStore(folder)
    increment = scan_of(store, folder, events).since([], version=0, where=NO_FILE)
    assert closed_while_waiting(increment, store.reads) <= FEW
    assert sum(isinstance(event, LogReplayCompleted) for event in events) == 1


def test_closing_ends_rows_whose_files_are_not_found(folder: Path) -> None:
    store = SlowStore(folder)
    table = Table(folder, executor=wiring.open_executor(store))
    rows = table.snapshot().rows(where=NO_FILE, commit_parallelism=1)
    assert closed_while_waiting(rows, store.reads) <= FEW


def timed_out(consume: Callable[[], Coroutine[Any, Any, None]], store: SlowStore, many: int) -> int:
    """Return how many commits are read after a timeout that ends `many` consumers."""

    async def wait() -> int:
        before = list[int]()
        asyncio.get_running_loop().call_later(0.3, lambda: before.append(store.reads()))
        waiting = (asyncio.wait_for(consume(), 0.3) for _ in range(many))
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(error) for error in ended} == {TimeoutError}
        return store.reads() - before[0]

    return asyncio.run(wait())


@pytest.mark.parametrize("items", [lambda scan: scan, lambda scan: scan.batches()])
def test_a_timeout_in_asyncio_ends_a_scan(folder: Path, items: Callable[[Scan], Any]) -> None:
    store = SlowStore(folder)
    scan = scan_of(store, folder, [])

    async def consume() -> None:
        async for _ in items(scan):
            pass

    assert timed_out(consume, store, 1) <= FEW


def test_many_scans_time_out_at_once(folder: Path) -> None:
    """Run more scans than the loop has threads: closing one must not wait for another's thread."""
    store, many = SlowStore(folder), 40
    scan = scan_of(store, folder, [])

    async def consume() -> None:
        async for _ in scan.batches():
            pass

    assert timed_out(consume, store, many) <= FEW * many


@pytest.mark.parametrize("kind", ["batches", "rows"])
def test_a_reporter_may_close_the_scan_it_reports(folder: Path, kind: str) -> None:
    events: list[Event] = []
    opened: list[Any] = []

    def close(event: Event) -> None:
        events.append(event)
        for reader in opened:
            reader.close()

    snapshot = Table(folder, reporter=close).snapshot()
    if kind == "rows":
        opened.append(snapshot.rows(where=NO_FILE))
    else:
        opened.append(snapshot.scan(where=NO_FILE).batches())
    with pytest.raises(ReaderClosedError):
        list(opened[0])
    assert sum(isinstance(event, LogReplayCompleted) for event in events) == 1


def test_closing_ends_rows_if_none_matches(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": range(0, 400_000, 2)}), tmp_path / "f")
    write_history(tmp_path, [[*opening(), add("f", size=1, partition_values={"part": "x"})]])
    rows = Table(tmp_path).snapshot().rows(where="id = 200001", rows_per_batch=1)
    assert closed_while_waiting(rows, time.monotonic) < SOON_S


@pytest.mark.parametrize("threads", [1, 2])
def test_leaves_are_cancelled_between_row_groups(tmp_path: Path, threads: int) -> None:
    history = [[*opening(), *(add(f"f{n}") for n in range(40))]]
    write_history(tmp_path, history)
    shape = Shape(form=Form.CLASSIC, row_group_rows=2)
    [path] = write_checkpoint(tmp_path, 0, state_at(history, 0), shape)
    file = LogFile(path=f"_delta_log/{path.name}", size_bytes=path.stat().st_size)
    leaf = DropSeen(input=ScanParquet(files=(file,), columns=("add.path",)), seen=FrozenSeenSet([]))
    cancellation = Cancellation()
    context = ExecutionContext(
        settings=ExecutionSettings(leaf_parallelism=threads), cancellation=cancellation
    )
    engine = wiring.open_executor(LocalStore(str(tmp_path))).bound(context)
    batches = engine.execute_leaves([leaf])
    next(batches)
    cancellation.request()
    with pytest.raises(Cancelled):
        list(batches)


def test_a_cancelled_reader_has_not_failed() -> None:
    cancellation, steps = Cancellation(), list[int]()

    def source() -> Generator[int, None, None]:
        for step in range(10_000):
            steps.append(step)
            cancellation.sleep(0.01)
        yield 1

    pipeline = BatchReader(source(), cancellation=cancellation)
    assert closed_while_waiting(pipeline, steps.__len__) <= FEW
