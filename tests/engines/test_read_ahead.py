"""How many bytes are read ahead of their use, and when the next read starts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headrace.engines.fetched_file import FetchedFile
from headrace.engines.read_ahead import ReadAhead
from headrace.engines.window import WINDOW_BYTES, Windows
from headrace.storage.byte_range import ByteRange

SIZE = 10
KEYS = range(12)


class Reads:
    """Reads that start in order, and how many of them have."""

    def __init__(self) -> None:
        self.started: list[int] = []

    def announce(self, ahead: ReadAhead) -> None:
        for key in KEYS:
            ahead.expect(key, lambda key=key: self.read(key), size_bytes=SIZE)  # type: ignore[misc]

    def read(self, key: int) -> int:
        self.started.append(key)
        return key

    def count(self, ahead: ReadAhead) -> int:
        """Return how many reads have started or are about to."""
        return len(KEYS) - ahead.waiting


@contextmanager
def reading(*, ahead_bytes: int, limit_bytes: int) -> Iterator[tuple[ReadAhead, Reads]]:
    ahead, reads = ReadAhead(ahead_bytes=ahead_bytes, limit_bytes=limit_bytes), Reads()
    reads.announce(ahead)
    yield ahead, reads
    ahead.close()


def test_reads_start_while_there_is_room_and_each_one_taken_makes_room() -> None:
    with reading(ahead_bytes=3 * SIZE, limit_bytes=100 * SIZE) as (ahead, reads):
        assert reads.count(ahead) == 3
        assert ahead.take(0, lambda: -1) == 0
        assert reads.count(ahead) == 4


def test_what_is_borrowed_counts_against_the_limit_until_it_is_dropped() -> None:
    with reading(ahead_bytes=3 * SIZE, limit_bytes=4 * SIZE) as (ahead, reads):
        for key in (0, 1):
            assert ahead.borrow(key, lambda: -1, size_bytes=SIZE) == key
        assert reads.count(ahead) == 4
        ahead.drop(0)
        assert reads.count(ahead) == 5
        ahead.drop(1)
        assert reads.count(ahead) == 5  # three are ahead


def test_a_caller_that_takes_all_reads_may_have_the_whole_limit_ahead() -> None:
    with reading(ahead_bytes=3 * SIZE, limit_bytes=6 * SIZE) as (ahead, reads):
        ahead.expect_all_taken()
        assert reads.count(ahead) == 6
        assert ahead.borrow(0, lambda: -1, size_bytes=SIZE) == 0
        assert reads.count(ahead) == 6


def test_one_read_starts_however_much_is_borrowed() -> None:
    with reading(ahead_bytes=SIZE, limit_bytes=SIZE) as (ahead, reads):
        for key in KEYS:
            assert ahead.borrow(key, lambda key=key: key, size_bytes=SIZE) == key  # type: ignore[misc]
        assert sorted(reads.started) == sorted(set(reads.started))


def test_a_failed_read_raises_when_it_is_taken_and_frees_its_room() -> None:
    def fail() -> int:
        raise OSError("broken")

    ahead = ReadAhead(ahead_bytes=SIZE, limit_bytes=SIZE)
    ahead.expect("bad", fail, size_bytes=SIZE)
    ahead.expect("good", lambda: 1, size_bytes=SIZE)
    with pytest.raises(OSError, match="broken"):
        ahead.borrow("bad", fail, size_bytes=SIZE)
    ahead.drop("bad")
    assert ahead.waiting == 0
    assert ahead.take("good", lambda: -1) == 1
    ahead.close()


def test_closing_drops_what_has_not_started() -> None:
    release, reads = threading.Event(), Reads()
    ahead = ReadAhead(ahead_bytes=2 * SIZE, limit_bytes=2 * SIZE)
    ahead.expect("slow", release.wait, size_bytes=SIZE)
    reads.announce(ahead)
    release.set()
    ahead.close()
    assert len(reads.started) <= 1


def test_a_file_has_two_windows_in_memory_and_gives_the_others_back() -> None:
    """A row group of any size is read within the limit."""
    size_bytes = 5 * WINDOW_BYTES
    content = bytes(1 << 20)
    borrowed: list[int] = []

    def read(ranges: list[ByteRange]) -> list[memoryview]:
        borrowed.append(sum(span.length for span in ranges))
        return [memoryview(content)[:1] for _ in ranges]

    ahead = ReadAhead(ahead_bytes=1, limit_bytes=3 * WINDOW_BYTES)
    file = FetchedFile(read, size_bytes=size_bytes)  # type: ignore[arg-type]
    windows = Windows(read, [ByteRange(0, size_bytes)], ahead=ahead)  # type: ignore[arg-type]
    file.follow(windows)
    for position in range(0, size_bytes, WINDOW_BYTES):
        assert file.read_at(position, 1) == b"\0"
        assert ahead.lent_bytes <= 2 * WINDOW_BYTES
    assert len(borrowed) == 5
    file.drop()
    assert ahead.lent_bytes == 0
    ahead.close()
