"""Batches are read ahead, but only a few; closing stops the reading."""

import asyncio
import queue
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from headrace import Table
from headrace.engines import lane, producer, production
from headrace.errors import CorruptLogError, ReaderClosedError, SnapshotExpiredError
from headrace.plan.cancellation import Cancellation
from headrace.scan import reader as reader_module
from headrace.scan.aio import in_bulk, one_by_one
from headrace.scan.reader import BatchReader
from tests.lake.action import add, opening
from tests.lake.log import commit_path, write_history
from tests.waiting import settled


def reader_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("headrace")]


def numbers(produced: list[int], *, last: int = 1000) -> Generator[int, None, None]:
    for number in range(last):
        produced.append(number)
        yield number


def test_everything_arrives_in_order() -> None:
    assert list(BatchReader(numbers([], last=50))) == list(range(50))


def test_nothing_is_read_before_the_first_item_is_requested() -> None:
    produced: list[int] = []
    BatchReader(numbers(produced))
    assert produced == []


def test_a_slow_consumer_delays_the_reader() -> None:
    produced: list[int] = []
    with BatchReader(numbers(produced)) as reader:
        next(reader)
        assert 2 <= settled(lambda: len(produced)) <= 5


def test_closing_stops_the_reader_at_once() -> None:
    reader = BatchReader(numbers([]))
    next(reader)
    started = time.monotonic()
    reader.close()
    assert time.monotonic() - started < 0.5
    assert reader_threads() == []


def test_a_reader_closed_early_does_not_look_complete() -> None:
    reader = BatchReader(numbers([], last=5))
    next(reader)
    reader.close()
    with pytest.raises(ReaderClosedError):
        list(reader)


def test_a_reader_closed_at_its_end_has_ended() -> None:
    with BatchReader(numbers([], last=5)) as reader:
        assert len(list(reader)) == 5
    assert list(reader) == []


def test_an_unreferenced_reader_closes_its_source() -> None:
    ended = threading.Event()

    def source() -> Generator[int, None, None]:
        try:
            yield from numbers([])
        finally:
            ended.set()

    for _ in BatchReader(source()):
        break
    assert ended.wait(5)


def slow(pause_s: float) -> Generator[int, None, None]:
    for number in range(1000):
        time.sleep(pause_s)
        yield number


def test_closing_wakes_a_waiting_consumer() -> None:
    for _ in range(20):
        reader, ended = BatchReader(slow(0.02)), threading.Event()

        def consume(reader: BatchReader[int] = reader, ended: threading.Event = ended) -> None:
            with pytest.raises(ReaderClosedError):
                list(reader)
            ended.set()

        threading.Thread(target=consume, daemon=True).start()
        time.sleep(0.01)
        reader.close()
        assert ended.wait(5)


def test_a_signal_handler_may_close_the_reader_at_any_line() -> None:
    """A tracer stands in for the signal handler: both run between two steps of the consumer."""
    modules = (lane, producer, production, reader_module, queue)
    ours = {module.__file__ for module in modules}

    def consume(reader: BatchReader[int], line: int) -> None:
        passed = 0

        def interrupt(frame: Any, event: str, _: Any) -> Any:
            nonlocal passed
            if frame.f_code.co_filename not in ours:
                return None
            passed += event == "line"
            if passed == line:
                sys.settrace(None)
                reader.close()
            return interrupt

        sys.settrace(interrupt)
        with suppress(ReaderClosedError):
            list(reader)
        sys.settrace(None)
        reader.close()

    for line in range(1, 60):
        consumer = threading.Thread(
            target=consume, args=(BatchReader(numbers([], last=3)), line), daemon=True
        )
        consumer.start()
        consumer.join(10)
        assert not consumer.is_alive()


def test_several_consumers_share_the_items_and_all_reach_the_end() -> None:
    for _ in range(10):
        reader, items = BatchReader(numbers([], last=200)), list[int]()
        consumers = [threading.Thread(target=items.extend, args=(reader,)) for _ in range(4)]
        for consumer in consumers:
            consumer.start()
        for consumer in consumers:
            consumer.join(5)
        assert not any(consumer.is_alive() for consumer in consumers)
        assert sorted(items) == list(range(200))


@pytest.mark.parametrize("iterate", [one_by_one, in_bulk])
def test_a_timeout_in_asyncio_is_a_timeout_error(iterate: Any) -> None:
    async def go() -> None:
        source = slow(0.03)
        if iterate is one_by_one:
            items = one_by_one(BatchReader(source))
        else:
            items = in_bulk(source, Cancellation())
        async for _ in items:
            pass

    async def timed() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(go(), 0.1)

    start = time.monotonic()
    asyncio.run(timed())
    assert time.monotonic() - start < 5


def test_an_error_of_the_reader_reaches_the_consumer() -> None:
    def broken() -> Generator[int, None, None]:
        yield 1
        raise ValueError("broken")

    reader = BatchReader(broken())
    assert next(reader) == 1
    for _ in range(2):  # a second call must raise again, and not report the end
        with pytest.raises(ValueError, match="broken"):
            next(reader)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    commits = [[add(f"{v}-{i}") for i in range(20)] for v in range(20)]
    commits[0] = [*opening(), *commits[0]]
    yield Table(write_history(tmp_path, commits))
    assert reader_threads() == []


def test_batches_can_be_dropped_halfway(table: Table) -> None:
    with table.snapshot().scan().batches() as batches:
        assert next(batches).num_rows == 20


def test_batches_stop_at_the_limit(table: Table) -> None:
    scan = table.snapshot().scan(limit=30)
    assert sum(batch.num_rows for batch in scan.batches()) == 30
    assert scan.metrics.counts.adds_emitted == 30


def test_files_can_be_iterated_in_asyncio(table: Table) -> None:
    async def collect() -> list[str]:
        return [file.path async for file in table.snapshot().scan()]

    assert asyncio.run(collect()) == [file.path for file in table.snapshot().scan()]


def test_batches_can_be_iterated_in_asyncio(table: Table) -> None:
    async def count() -> int:
        rows = 0
        async for batch in table.snapshot().scan().batches():
            rows += batch.num_rows
        return rows

    assert asyncio.run(count()) == 400


def test_async_with_ends_the_reader_of_batches_that_are_left_early(table: Table) -> None:
    async def first() -> int:
        async with table.snapshot().scan().batches() as batches:
            batch = await anext(aiter(batches))
        assert reader_threads() == []
        with pytest.raises(ReaderClosedError):
            next(batches)
        return int(batch.num_rows)

    assert asyncio.run(first()) == 20


def test_a_reader_that_is_not_for_asyncio_refuses_async_with() -> None:
    async def enter() -> None:
        async with BatchReader(numbers([])):
            pass

    with pytest.raises(TypeError, match="only"):
        asyncio.run(enter())


def test_async_with_may_end_before_anything_is_read(table: Table) -> None:
    async def leave() -> None:
        async with table.snapshot().scan().batches():
            pass

    asyncio.run(leave())
    assert reader_threads() == []


def test_async_with_waits_for_the_end_without_holding_up_the_loop() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    def lingering() -> Generator[int, None, None]:
        try:
            yield from range(1000)
        finally:
            time.sleep(0.3)

    async def go() -> int:
        ticking = asyncio.create_task(tick())
        async with BatchReader(lingering(), to_async=one_by_one) as items:
            async for _ in items:
                break
            before = ticks
        ticking.cancel()
        return ticks - before

    assert asyncio.run(go()) > 3
    assert reader_threads() == []


def test_async_with_raises_an_error_once(table: Table) -> None:
    commit_path(Path(table.uri), 3).write_bytes(b"{")

    async def collect() -> None:
        async with table.snapshot().scan().batches() as batches:
            async for _ in batches:
                pass

    with pytest.raises(CorruptLogError):
        asyncio.run(collect())
    assert reader_threads() == []


def test_asyncio_can_stop_early(table: Table) -> None:
    async def first() -> str:
        async for file in table.snapshot().scan():
            return file.path
        raise AssertionError

    assert asyncio.run(first()) == "19-0"


def test_asyncio_returns_the_files_before_a_failure_like_a_loop(table: Table) -> None:
    snapshot = table.snapshot()
    commit_path(Path(table.uri), 3).write_bytes(b"{")
    listed: list[str] = []

    async def collect() -> None:
        async for file in snapshot.scan():
            listed.append(file.path)  # noqa: PERF401  (what came before the error is wanted)

    with pytest.raises(SnapshotExpiredError):
        asyncio.run(collect())
    assert listed == [f"{version}-{i}" for version in range(19, 3, -1) for i in range(20)]
