"""Producers: ordered or not, bounded by items or size, and gone once closed."""

import queue
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import pytest

from headrace.engines import lane, production
from headrace.engines import producer as producer_module
from headrace.engines.producer import Producer, in_order, in_parallel, one_at_a_time
from headrace.engines.production import Backpressure, Order
from headrace.errors import ReaderClosedError
from headrace.plan.cancellation import Cancellation, Cancelled
from tests.waiting import settled, wait_until

T = TypeVar("T")
MODULES = {module.__file__ for module in (lane, producer_module, production, queue)}
"""The modules in which a signal may interrupt the consumer."""
FOUR = Backpressure(threads=4, ahead=2)


def produce_by_unit(
    units: Iterable[int],
    read: Callable[[int], Generator[T, None, None]],
    backpressure: Backpressure = FOUR,
) -> Producer[T]:
    return Producer(one_at_a_time(read), units, backpressure=backpressure, order=Order.BY_UNIT)


class Probe:
    """Numbered sources, and batches that name their source."""

    def __init__(self, sources: int, batches: int, *, delay_s: float = 0) -> None:
        self.sources, self.batches, self.delay_s = sources, batches, delay_s
        self.given: list[int] = []
        self.open = self.most_open = 0
        self.lock = threading.Lock()

    def numbers(self) -> Generator[int, None, None]:
        for number in range(self.sources):
            self.given.append(number)
            yield number

    def read(self, number: int) -> Generator[tuple[int, int], None, None]:
        with self.lock:
            self.open += 1
            self.most_open = max(self.open, self.most_open)
        try:
            for batch in range(self.batches):
                time.sleep(self.delay_s)
                yield number, batch
        finally:
            with self.lock:
                self.open -= 1

    def stream(
        self, *, at_once: int = 3, ahead: int = 2, start_with: int = 3
    ) -> Producer[tuple[int, int]]:
        limits = Backpressure(threads=at_once, ahead=ahead, start_with=start_with)
        return produce_by_unit(self.numbers(), self.read, limits)


def broken_at_two(number: int) -> Generator[int, None, None]:
    yield number
    if number == 2:
        raise RuntimeError("broken")


@pytest.mark.parametrize("at_once", [1, 2, 5])
@pytest.mark.parametrize("batches", [0, 1, 7])
def test_batches_come_in_order_however_many_threads_there_are(at_once: int, batches: int) -> None:
    probe = Probe(9, batches)
    items = list(probe.stream(at_once=at_once, start_with=at_once))
    assert items == [(number, batch) for number in range(9) for batch in range(batches)]
    assert probe.open == 0


def test_sources_are_read_at_the_same_time() -> None:
    probe = Probe(4, 3, delay_s=0.02)
    list(probe.stream(at_once=4, start_with=4))
    assert probe.most_open > 1


def test_no_more_sources_are_open_than_allowed() -> None:
    probe = Probe(20, 3, delay_s=0.001)
    list(probe.stream(at_once=2, start_with=2))
    assert probe.most_open <= 2


def test_a_slow_start_opens_one_source_and_then_more() -> None:
    probe = Probe(20, 1)
    stream = probe.stream(at_once=8, start_with=1)
    seen = []
    for number, _ in stream:
        # The threads run ahead as far as they are allowed.
        seen.append((number, settled(lambda: len(probe.given), quiet_s=0.01)))
    # After n consumed sources, 1, 2, 4, 8 more may be open.
    assert all(opened <= number + 2 ** min(number, 3) + 1 for number, opened in seen)
    assert len(seen) == 20


def test_without_backpressure_nothing_waits_for_the_consumer() -> None:
    probe = Probe(20, 30)
    stream = probe.stream(at_once=2, ahead=1, start_with=1)
    first = next(stream)
    stream.lift_backpressure()
    wait_until(lambda: len(probe.given) == probe.sources and not probe.open)
    rest = list(stream)
    assert [first, *rest] == [(number, batch) for number in range(20) for batch in range(30)]


def test_without_backpressure_no_more_sources_are_open_than_allowed() -> None:
    probe = Probe(20, 3, delay_s=0.001)
    stream = probe.stream(at_once=2, start_with=1)
    stream.lift_backpressure()
    assert len(list(stream)) == 60
    assert probe.most_open <= 2


def test_without_backpressure_an_error_is_still_raised_in_order() -> None:
    stream = produce_by_unit(range(9), broken_at_two)
    stream.lift_backpressure()
    assert [next(stream) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(RuntimeError, match="broken"):
        next(stream)


def test_closing_ends_every_thread_without_backpressure() -> None:
    probe = Probe(100_000, 1000)
    stream = probe.stream()
    next(stream)
    stream.lift_backpressure()
    stream.close()
    assert probe.open == 0
    with pytest.raises(ReaderClosedError):
        next(stream)


def test_nothing_starts_before_the_first_batch_is_requested() -> None:
    probe = Probe(3, 3)
    probe.stream().close()
    assert probe.given == []


def test_closing_ends_every_thread_and_every_source() -> None:
    probe = Probe(1000, 1000)
    stream = probe.stream()
    next(stream)
    stream.close()
    assert probe.open == 0
    assert len(probe.given) <= 4
    with pytest.raises(ReaderClosedError):
        next(stream)


def test_closing_twice_is_the_same_as_once() -> None:
    probe = Probe(5, 5)
    stream = probe.stream()
    next(stream)
    stream.close()
    stream.close()
    with pytest.raises(ReaderClosedError):
        next(stream)
    assert probe.open == 0


def test_an_error_is_raised_in_order() -> None:
    stream = produce_by_unit(Probe(9, 0).numbers(), broken_at_two)
    assert [next(stream) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(RuntimeError, match="broken"):
        next(stream)


def test_an_error_in_the_list_of_sources_is_raised_after_the_listed_ones() -> None:
    def numbers() -> Generator[int, None, None]:
        yield from (0, 1)
        raise RuntimeError("no more")

    stream = produce_by_unit(numbers(), Probe(0, 1).read)
    assert [next(stream) for _ in range(2)] == [(0, 0), (1, 0)]
    with pytest.raises(RuntimeError, match="no more"):
        next(stream)


def test_a_second_request_raises_the_error_again() -> None:
    def read(number: int) -> Generator[tuple[int, int], None, None]:
        if number == 0:
            raise ValueError(number)
        yield number, 0

    stream = produce_by_unit(Probe(1, 0).numbers(), read)
    for _ in range(2):
        with pytest.raises(ValueError, match="0"):
            next(stream)


def test_one_thread_may_close_while_another_consumes() -> None:
    def numbers() -> Generator[int, None, None]:
        try:
            yield from range(100)
        finally:
            time.sleep(0.01)

    def consume(stream: Producer[tuple[int, int]]) -> None:
        with pytest.raises(ReaderClosedError):
            list(stream)

    for _ in range(10):
        stream = produce_by_unit(numbers(), Probe(0, 3, delay_s=0.01).read)
        consumer = threading.Thread(target=consume, args=(stream,))
        consumer.start()
        time.sleep(0.02)
        stream.close()
        consumer.join(5)
        assert not consumer.is_alive()


def squares(units: Iterator[int]) -> Generator[int, None, None]:
    for unit in units:
        yield unit * unit


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_unordered_items_are_complete(threads: int) -> None:
    items = list(in_parallel(squares, range(200), threads=threads))
    assert sorted(items) == [number * number for number in range(200)]


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_the_order_of_their_units_and_only_a_few_wait(threads: int) -> None:
    started: list[int] = []

    def read(unit: int) -> int:
        started.append(unit)
        time.sleep(0.002 * (unit % 3 == 0))
        return -unit

    results = in_order(read, range(20), threads=threads, name="test")
    assert [next(results) for _ in range(4)] == [0, -1, -2, -3]
    assert len(started) <= 4 + threads
    results.close()
    assert len(started) < 20


@pytest.mark.parametrize("threads", [1, 3])
def test_the_error_of_the_first_unit_that_fails_is_raised(threads: int) -> None:
    def read(unit: int) -> int:
        if unit:
            raise ValueError(unit)
        return unit

    results = in_order(read, range(9), threads=threads, name="test")
    assert next(results) == 0
    with pytest.raises(ValueError, match=r"^1$"):
        next(results)


def test_an_error_of_one_thread_ends_the_others() -> None:
    def broken(units: Iterator[int]) -> Generator[int, None, None]:
        for unit in units:
            if unit == 50:
                raise ValueError(unit)
            yield unit

    with pytest.raises(ValueError, match="50"):
        list(in_parallel(broken, range(10**9), threads=3))
    assert not [t for t in threading.enumerate() if t.name.startswith("headrace-leaf")]


def test_a_cancellation_inside_the_work_is_not_a_read_error() -> None:
    """Only the caller knows who cancelled it; a failed read would be retried in another way."""

    def cancelled(units: Iterator[int]) -> Generator[int, None, None]:
        yield from units
        raise Cancelled

    with pytest.raises(Cancelled):
        list(in_parallel(cancelled, range(3), threads=2))


@pytest.mark.parametrize(("ahead", "expected"), [(1, 3), (2, 3), (10, 7)])
def test_items_are_bounded_by_their_size(ahead: int, expected: int) -> None:
    """Item 0 was taken; items up to the limit wait, and the thread holds one more."""
    items = list[int]()

    def numbers(_: Iterator[int]) -> Generator[int, None, None]:
        for number in range(100):
            items.append(number)
            yield number

    limits = Backpressure(ahead=ahead)
    with Producer(numbers, backpressure=limits, cost=lambda item: min(item, 2)) as producer:
        assert next(producer) == 0
        assert settled(items.__len__) == expected


def test_without_a_buffer_items_are_made_on_request() -> None:
    produced = list[int]()

    def numbers(_: Iterator[int]) -> Generator[int, None, None]:
        for number in range(100):
            produced.append(number)
            yield number

    with Producer(numbers, backpressure=Backpressure(ahead=0)) as producer:
        for count in range(1, 4):
            next(producer)
            assert settled(produced.__len__) == count


@pytest.mark.parametrize("order", Order)
def test_a_cancellation_from_elsewhere_is_not_the_end(order: Order) -> None:
    cancellation = Cancellation()

    def numbers(units: Iterator[int]) -> Generator[int, None, None]:
        for unit in units:
            yield unit
            if unit == 3:
                cancellation.request()

    producer = Producer(
        numbers, range(5), backpressure=FOUR, order=order, cancellation=cancellation
    )
    with pytest.raises(ReaderClosedError):
        list(producer)


def test_a_dropped_producer_releases_its_threads() -> None:
    probe = Probe(1000, 1000)
    next(probe.stream())
    assert settled(lambda: probe.open) == 0


def test_units_are_released_once() -> None:
    released = list[int]()
    producer = Producer(squares, range(3), release=lambda: released.append(1))
    assert list(producer) == [0, 1, 4]
    producer.close()
    assert released == [1]


@pytest.mark.parametrize(
    ("order", "lift"), [(Order.BY_UNIT, False), (Order.BY_UNIT, True), (Order.AS_MADE, False)]
)
def test_a_signal_handler_may_close_it_at_any_line(order: Order, *, lift: bool) -> None:
    """A tracer stands in for the signal handler: both run between two steps of the consumer."""

    def consume(line: int) -> None:
        limits = Backpressure(threads=2, ahead=1, start_with=1)
        producer = Producer(squares, range(3), backpressure=limits, order=order)
        passed = 0

        def interrupt(frame: Any, event: str, _: Any) -> Any:
            nonlocal passed
            if frame.f_code.co_filename not in MODULES:
                return None
            passed += event == "line"
            if passed == line:
                sys.settrace(None)
                producer.close()
            return interrupt

        sys.settrace(interrupt)
        with suppress(ReaderClosedError):
            if lift:
                producer.lift_backpressure()
            list(producer)
        sys.settrace(None)
        producer.close()

    for line in range(1, 120):
        consumer = threading.Thread(target=consume, args=(line,), daemon=True)
        consumer.start()
        consumer.join(10)
        assert not consumer.is_alive(), line
