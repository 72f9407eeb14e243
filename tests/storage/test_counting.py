import pytest

from headrace.errors import ObjectNotFoundError
from headrace.metrics.meter import Meter
from headrace.storage.counting import CountingStore
from headrace.storage.retry import Retrier
from headrace.storage.retrying import RetryingStore
from headrace.storage.store import Store
from tests.storage.faulty import Fault, FaultyStore, MemoryStore

DATA = b"0123456789" * 10_000


def counted(store: Store | None = None) -> tuple[CountingStore, Meter]:
    meter = Meter()
    inner = store or MemoryStore({"log/a": DATA, "log/empty": b""})
    return CountingStore(inner, meter=meter), meter


def tally(meter: Meter) -> tuple[int, int, int]:
    return meter.counts.requests, meter.counts.files_read, meter.counts.bytes_read


def test_a_listing_counts_as_a_request_but_not_as_a_file() -> None:
    store, meter = counted()
    assert len(list(store.list("log"))) == 2
    assert tally(meter) == (1, 0, 0)


def test_a_whole_read_is_one_request() -> None:
    store, meter = counted()
    assert store.read("log/a") == DATA
    assert tally(meter) == (1, 1, len(DATA))


@pytest.mark.parametrize(("path", "size"), [("log/a", len(DATA)), ("log/empty", 0)])
def test_a_stream_of_chunks_is_one_request(path: str, size: int) -> None:
    store, meter = counted()
    assert sum(map(len, store.read_chunks(path, chunk_bytes=999))) == size
    assert tally(meter) == (1, 1, size)


def test_a_partly_read_stream_counts_the_bytes_returned() -> None:
    faulty = FaultyStore(MemoryStore({"log/a": DATA}), {})
    store, meter = counted(faulty)
    chunks = store.read_chunks("log/a", chunk_bytes=1000)
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    assert tally(meter) == (1, 1, 1000)
    assert faulty.open_files == 0


def test_a_file_that_is_read_again_counts_as_a_request_but_not_as_a_file() -> None:
    store, meter = counted()
    store.read("log/a")
    assert sum(map(len, store.read_chunks("log/a", chunk_bytes=999))) == len(DATA)
    assert tally(meter) == (2, 1, 2 * len(DATA))


def test_every_range_of_an_open_file_is_a_request() -> None:
    store, meter = counted()
    with store.open("log/a") as file:
        file.seek(-20_000, 2)
        assert file.read(20_000) == DATA[-20_000:]
        file.seek(50_000)
        assert file.read(30_000) == DATA[50_000:80_000]
    assert tally(meter) == (2, 0, 50_000)


def test_an_open_file_ends_at_its_size() -> None:
    store, meter = counted()
    with store.open("log/a") as file:
        assert file.read() == DATA
        assert file.read(10) == b""
    assert file.closed
    assert meter.counts.bytes_read == len(DATA)


def test_failures_are_not_counted_and_retries_are() -> None:
    store, meter = counted(FaultyStore(MemoryStore({"log/a": DATA}), {0: Fault()}))
    retrier = Retrier(sleep=lambda _: None, on_retry=lambda *_: meter.count(retries=1))
    assert RetryingStore(store, retrier=retrier).read("log/a") == DATA
    with pytest.raises(ObjectNotFoundError):
        store.read("log/none")
    assert tally(meter) == (1, 1, len(DATA))
    assert meter.counts.retries == 1


def test_root_and_local_path_are_those_of_the_inner_store() -> None:
    store, meter = counted()
    assert (store.root, store.local_path("log/a")) == ("memory://lake", None)
    assert tally(meter) == (0, 0, 0)
