"""Several sources at once: in order, bounded, and gone when they are closed."""

import threading
import time
from collections.abc import Generator

import pytest

from headrace.rows.stream import OrderedStream, Pace

FOUR = Pace(at_once=4, ahead=2, start_with=4)


class Probe:
    """Sources that are numbers, and batches that say where they come from."""

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
    ) -> OrderedStream[int, tuple[int, int]]:
        return OrderedStream(
            self.numbers(),
            self.read,
            pace=Pace(at_once=at_once, ahead=ahead, start_with=start_with),
        )


@pytest.mark.parametrize("at_once", [1, 2, 5])
@pytest.mark.parametrize("batches", [0, 1, 7])
def test_batches_come_in_order_however_many_threads_there_are(at_once: int, batches: int) -> None:
    probe = Probe(9, batches)
    found = list(probe.stream(at_once=at_once, start_with=at_once))
    assert found == [(number, batch) for number in range(9) for batch in range(batches)]
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
        time.sleep(0.02)  # the threads may run ahead as far as they are allowed
        seen.append((number, len(probe.given)))
    # Consuming n sources lets 1, 2, 4, 8 be open beyond them.
    assert all(given <= number + 2 ** min(number, 3) + 1 for number, given in seen)
    assert len(seen) == 20


def test_nothing_starts_before_the_first_batch_is_asked_for() -> None:
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
    assert list(stream) == []


def test_closing_twice_is_closing_once() -> None:
    stream = Probe(5, 5).stream()
    next(stream)
    stream.close()
    stream.close()


def test_an_error_comes_in_its_place() -> None:
    def read(number: int) -> Generator[int, None, None]:
        yield number
        if number == 2:
            raise RuntimeError("broken")

    stream = OrderedStream(Probe(9, 0).numbers(), read, pace=FOUR)
    assert [next(stream) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(RuntimeError, match="broken"):
        next(stream)


def test_an_error_in_the_list_of_sources_comes_after_what_was_listed() -> None:
    def numbers() -> Generator[int, None, None]:
        yield from (0, 1)
        raise RuntimeError("no more")

    stream = OrderedStream(numbers(), Probe(0, 1).read, pace=FOUR)
    assert [next(stream) for _ in range(2)] == [(0, 0), (1, 0)]
    with pytest.raises(RuntimeError, match="no more"):
        next(stream)


def test_who_asks_again_hears_the_error_again() -> None:
    def read(number: int) -> Generator[tuple[int, int], None, None]:
        if number == 0:
            raise ValueError(number)
        yield number, 0

    stream = OrderedStream(Probe(1, 0).numbers(), read, pace=FOUR)
    for _ in range(2):
        with pytest.raises(ValueError, match="0"):
            next(stream)


def test_a_consumer_and_who_closes_may_meet() -> None:
    def numbers() -> Generator[int, None, None]:
        try:
            yield from range(100)
        finally:
            time.sleep(0.01)

    for _ in range(10):
        stream = OrderedStream(numbers(), Probe(0, 3, delay_s=0.01).read, pace=FOUR)
        consumer = threading.Thread(target=list, args=(stream,))
        consumer.start()
        time.sleep(0.02)
        stream.close()
        consumer.join(5)
        assert not consumer.is_alive()
