"""Threads of one execution share the footers of a checkpoint: each is read and counted once."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow.parquet as pq
import pytest

from headrace import Table
from headrace.engines.arrow.arrow_part import Columnar
from headrace.engines.arrow.executor import ArrowExecutor
from headrace.engines.log_bytes import LogBytes, LogCache
from headrace.metrics.counts import Counts
from headrace.metrics.meter import Meter
from headrace.plan.context import ExecutionContext
from headrace.protocol.log_file import LogFile
from headrace.storage.local import LocalStore
from headrace.wiring import DEFAULT_CACHE_BYTES, ColumnarLoader, open_executor
from tests.engines.meeting import MeetingStore, meet
from tests.lake.action import add, opening, statistics
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import state_at, write_history

HISTORY = [
    [*opening(), *(add(f"f{i}", stats=statistics(1, low=i, high=i)) for i in range(4))],
    [add("newer", stats=statistics(1, low=9, high=9))],
]


def write_table(table: Path, *, parts: int = 1) -> list[LogFile]:
    """Write a table with a checkpoint and a newer commit, and return the checkpoint's files."""
    write_history(table, HISTORY)
    shape = Shape(form=Form.MULTI_PART, parts=parts)
    paths = write_checkpoint(table, 0, state_at(HISTORY, 0), shape)
    return [
        LogFile(path=f"_delta_log/{path.name}", size_bytes=path.stat().st_size) for path in paths
    ]


def in_two_threads(call: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(2) as pool:
        return [future.result() for future in [pool.submit(call) for _ in range(2)]]


def of_footers(counts: Counts) -> tuple[int, int, int, int]:
    return counts.files_read, counts.requests, counts.bytes_read, counts.footer_cache_hits


def test_two_threads_that_need_a_footer_read_it_once(tmp_path: Path) -> None:
    [file] = write_table(tmp_path)
    size_bytes = pq.read_metadata(tmp_path / file.path).serialized_size
    meter = Meter()
    engine = open_executor(MeetingStore(str(tmp_path), file.path))
    bound = engine.bound(ExecutionContext(meter=meter))
    first, second = in_two_threads(lambda: bound.footer(file))
    assert first is second
    assert of_footers(meter.counts) == (1, 1, size_bytes, 0)


class MeetingMeter(Meter):
    """A meter that lets two threads meet before each count."""

    def __init__(self) -> None:
        super().__init__()
        self._meeting = Barrier(2)

    def count(self, **more: int) -> None:
        meet(self._meeting)
        super().count(**more)


def test_a_footer_that_another_thread_has_just_read_is_no_cache_hit(tmp_path: Path) -> None:
    [file] = write_table(tmp_path)
    meter = MeetingMeter()
    bound = open_executor(LocalStore(str(tmp_path))).bound(ExecutionContext(meter=meter))
    in_two_threads(lambda: bound.footer(file))
    counts = meter.counts
    assert (counts.files_read, counts.requests, counts.footer_cache_hits) == (1, 1, 0)


class MeetingLoader(ColumnarLoader):
    """A loader that lets threads meet before each loads."""

    def __init__(self, threads: int) -> None:
        super().__init__(DEFAULT_CACHE_BYTES)
        self.meeting = Barrier(threads)

    def __call__(self, log: LogBytes, context: ExecutionContext) -> Columnar:
        meet(self.meeting)
        return super().__call__(log, context)


def open_with(loader: ColumnarLoader, table: Path) -> ArrowExecutor:
    return ArrowExecutor(LocalStore(str(table)), load_columnar=loader, cache=LogCache(0))


def test_two_threads_that_need_the_first_footer_load_the_columnar_half_once(
    tmp_path: Path,
) -> None:
    [file] = write_table(tmp_path)
    meter = Meter()
    bound = open_with(MeetingLoader(2), tmp_path).bound(ExecutionContext(meter=meter))
    in_two_threads(lambda: bound.footer(file))
    assert (meter.counts.files_read, meter.counts.requests) == (1, 1)


def footers_cached(table: Path, files: list[LogFile]) -> int:
    """Read each file's footer in its own execution, all at once, and count those in the cache."""
    loader = MeetingLoader(len(files))
    engine = open_with(loader, table)
    executions = [engine.bound(ExecutionContext()) for _ in files]
    with ThreadPoolExecutor(len(files)) as pool:
        list(pool.map(ArrowExecutor.footer, executions, files))
    loader.meeting.abort()
    meter = Meter()
    later = engine.bound(ExecutionContext(meter=meter))
    for file in files:
        later.footer(file)
    return meter.counts.footer_cache_hits


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Let threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_executions_that_start_together_share_one_cache(tmp_path: Path) -> None:
    files = write_table(tmp_path, parts=4)
    assert [footers_cached(tmp_path, files) for _ in range(40)] == [len(files)] * 40


def counts_of(executor: ArrowExecutor, table: Path, **options: Any) -> Counts:
    scan = Table(table, executor=executor).snapshot().scan(where="id > 2", **options)
    assert sorted(file.path for file in scan) == ["f3", "newer"]
    return scan.metrics.counts


@pytest.mark.parametrize("parts", [1, 3])
def test_reading_footers_ahead_does_not_change_the_counts(tmp_path: Path, parts: int) -> None:
    """A thread reads the footers while the commits are replayed, and the scan arrives meanwhile."""
    first, *_ = write_table(tmp_path, parts=parts)
    alone = open_executor(LocalStore(str(tmp_path)))
    together = open_executor(MeetingStore(str(tmp_path), first.path))
    expected = counts_of(alone, tmp_path, leaf_parallelism=1)
    assert counts_of(together, tmp_path, leaf_parallelism=2) == expected
