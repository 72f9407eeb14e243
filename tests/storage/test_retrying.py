"""Transient failures are retried, and no byte is lost or read twice."""

import errno
import io
import os
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import ObjectNotFoundError, StoreFailedError
from headrace.metrics.meter import Meter
from headrace.storage.counting import CountingStore
from headrace.storage.retry import Retrier, RetryPolicy
from headrace.storage.retrying import RetryingStore
from tests.effort import examples
from tests.storage.faulty import Fault, FaultyStore, MemoryStore

DATA = bytes(range(256)) * 40
OBJECTS = {"log/a": DATA, "log/b": b""}

faults = st.builds(
    Fault,
    st.sampled_from(
        [
            StoreFailedError(path="log/a", reason="the line broke"),
            OSError(errno.EIO, "input/output error"),
            TimeoutError("timed out"),
        ]
    ),
    st.integers(0, 2000),
)
plans = st.dictionaries(st.integers(0, 25), faults, max_size=12)


@dataclass
class Patient:
    """A store that does not really sleep, with the retries it reported."""

    store: FaultyStore
    policy: RetryPolicy = field(
        default_factory=lambda: RetryPolicy(attempts=100, deadline_ms=10**12)
    )
    slept: list[float] = field(default_factory=list)
    retries: list[tuple[str, int]] = field(default_factory=list)

    @property
    def retrying(self) -> RetryingStore:
        retrier = Retrier(
            policy=self.policy,
            on_retry=lambda path, attempt, _: self.retries.append((path, attempt)),
            sleep=self.slept.append,
            clock=lambda: sum(self.slept),
            jitter=lambda: 1.0,
        )
        return RetryingStore(self.store, retrier=retrier)


def patient(plan: dict[int, Fault], **policy: int) -> Patient:
    store = FaultyStore(MemoryStore(OBJECTS), plan)
    return Patient(store, RetryPolicy(**policy)) if policy else Patient(store)


@pytest.mark.property
@given(plans, st.integers(1, 6000))
@settings(max_examples=examples(200))
def test_chunks_are_complete_despite_failures_in_between(
    plan: dict[int, Fault], chunk_bytes: int
) -> None:
    case = patient(plan)
    chunks = list(case.retrying.read_chunks("log/a", chunk_bytes=chunk_bytes))
    assert b"".join(chunks) == DATA
    assert case.store.open_files == 0


@pytest.mark.property
@given(
    plans,
    st.lists(
        st.one_of(
            st.tuples(st.just("read"), st.integers(0, 9000)),
            st.tuples(st.just("seek"), st.integers(0, len(DATA) + 10)),
            st.tuples(st.just("from end"), st.integers(0, len(DATA))),
        ),
        max_size=12,
    ),
)
@settings(max_examples=examples(200))
def test_an_open_file_hides_transient_failures(
    plan: dict[int, Fault], steps: list[tuple[str, int]]
) -> None:
    case = patient(plan)
    expected = io.BytesIO(DATA)
    with case.retrying.open("log/a") as file:
        for step, number in steps:
            if step == "read":
                assert file.read(number) == expected.read(number)
            elif step == "seek":
                assert file.seek(number) == expected.seek(number)
            else:
                assert file.seek(-number, os.SEEK_END) == expected.seek(-number, os.SEEK_END)
            assert file.tell() == expected.tell()
        assert file.read() == expected.read()
    assert case.store.open_files == 0


def test_arrow_reads_parquet_through_an_unreliable_store() -> None:
    table = pa.table({"number": list(range(50_000))})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=10_000)
    faulty = FaultyStore(
        MemoryStore({"log/p": sink.getvalue()}), {n: Fault(after_bytes=7) for n in range(0, 40, 3)}
    )
    store = CountingStore(Patient(faulty).retrying, meter=Meter())
    with store.open("log/p") as file:
        assert pq.ParquetFile(file, pre_buffer=False, buffer_size=8192).read().equals(table)
    assert len(faulty.operations) > 10
    assert faulty.open_files == 0


def test_listings_and_whole_reads_are_retried() -> None:
    case = patient({0: Fault(), 2: Fault(), 3: Fault()})
    assert [meta.path for meta in case.retrying.list("log")] == ["log/a", "log/b"]
    assert case.retrying.read("log/a") == DATA
    assert case.retries == [("log", 1), ("log/a", 1), ("log/a", 2)]


def test_waits_double_and_end_with_the_attempts() -> None:
    case = patient(dict.fromkeys(range(9), Fault()), attempts=4, backoff_ms=50)
    with pytest.raises(StoreFailedError, match="the line broke"):
        case.retrying.read("log/a")
    assert case.slept == [0.05, 0.1, 0.2]
    assert [attempt for _, attempt in case.retries] == [1, 2, 3]


def test_readers_that_failed_together_retry_at_different_times() -> None:
    slept: list[float] = []
    for jitter in (0.0, 0.5):
        store = FaultyStore(MemoryStore(OBJECTS), {0: Fault()})
        policy = RetryPolicy(backoff_ms=1000)
        retrier = Retrier(policy=policy, sleep=slept.append, jitter=lambda: jitter)  # noqa: B023
        RetryingStore(store, retrier=retrier).read("log/a")
    assert slept == [0.5, 0.75]


def test_no_attempt_starts_after_the_deadline() -> None:
    faults = dict.fromkeys(range(99), Fault())
    case = patient(faults, attempts=99, backoff_ms=100, deadline_ms=1000)
    with pytest.raises(StoreFailedError):
        case.retrying.read("log/a")
    assert case.slept == [0.1, 0.2, 0.4]


def test_every_chunk_of_a_stream_has_its_own_attempts() -> None:
    plan = {number: Fault(after_bytes=1) for number in range(0, 60, 3)}
    case = patient(plan, attempts=2)
    assert b"".join(case.retrying.read_chunks("log/a", chunk_bytes=1000)) == DATA


def test_a_missing_object_is_not_requested_again() -> None:
    case = patient({})
    for read in (
        case.retrying.read,
        case.retrying.open,
        lambda path: list(case.retrying.read_chunks(path, chunk_bytes=1)),
    ):
        with pytest.raises(ObjectNotFoundError):
            read("log/none")
    assert case.retries == []


@pytest.mark.parametrize(
    "error",
    [
        StoreFailedError(path="log/a", reason="denied", transient=False),
        PermissionError(errno.EACCES, "denied"),
        IsADirectoryError(errno.EISDIR, "a folder"),
    ],
)
def test_a_permanent_failure_is_not_retried(error: Exception) -> None:
    case = patient({0: Fault(error)})
    with pytest.raises(StoreFailedError) as raised:
        case.retrying.read("log/a")
    assert not raised.value.transient
    assert case.retries == []


def test_an_object_deleted_during_a_read_is_missing() -> None:
    memory = MemoryStore(OBJECTS)
    case = Patient(FaultyStore(memory, {1: Fault()}))
    chunks = case.retrying.read_chunks("log/a", chunk_bytes=1000)
    next(chunks)
    del memory.objects["log/a"]
    with pytest.raises(ObjectNotFoundError):
        next(chunks)


def test_an_object_that_becomes_shorter_is_an_error() -> None:
    memory = MemoryStore(OBJECTS)
    case = Patient(FaultyStore(memory, {1: Fault()}))
    chunks = case.retrying.read_chunks("log/a", chunk_bytes=1000)
    next(chunks)
    memory.objects["log/a"] = DATA[:500]
    with pytest.raises(StoreFailedError, match="shorter"):
        next(chunks)
    assert case.store.open_files == 0


def test_a_partly_read_stream_is_released() -> None:
    case = patient({1: Fault(after_bytes=10)})
    chunks = case.retrying.read_chunks("log/a", chunk_bytes=1000)
    assert [len(next(chunks)) for _ in range(3)] == [1000, 10, 1000]
    chunks.close()  # type: ignore[attr-defined]
    assert case.store.open_files == 0


def test_root_and_local_path_are_those_of_the_inner_store() -> None:
    store = patient({}).retrying
    assert (store.root, store.local_path("log/a")) == ("memory://lake", None)
