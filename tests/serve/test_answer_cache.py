"""Repeated requests for files are answered from memory, within a bound, and never wrongly."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import InvalidArgumentError, ReaderClosedError, UnsafePathError
from headrace.serve import answer_cache
from headrace.serve.answer import Answer
from headrace.serve.answer_cache import AnswerCache
from headrace.serve.client import Connection
from headrace.serve.request import make_request
from headrace.serve.root import Roots
from headrace.serve.service import ServerLimits, Service
from headrace.serve.setting import ServerSettings
from headrace.serve.table_cache import TableCache
from tests.lake.action import add, opening, remove
from tests.lake.log import write_commit, write_history
from tests.serve.conftest import Start

Ask = Callable[..., Answer]
FILES = 40


def never() -> None:
    """Never give up."""


def drain(answer: Answer) -> list[str]:
    """Return the paths of an answer, and release it as a server does."""
    paths: list[str] = []
    try:
        while (batch := answer.next_message(never)) is not None:
            paths += batch.column("path").to_pylist()
    finally:
        answer.stop()
    return paths


def service_of(lake: Path, **limits: Any) -> Service:
    return Service(Roots.parse((f"lake={lake}",)), limits=ServerLimits(**limits))


@pytest.fixture
def events(tmp_path: Path) -> Path:
    commits = [[add(f"part-{number}-{at}") for at in range(5)] for number in range(FILES // 5)]
    write_history(tmp_path / "events", [opening(), *commits])
    return tmp_path


def test_a_repeated_request_is_answered_from_the_cache(events: Path) -> None:
    service = service_of(events)
    first, again = (service.open(make_request("lake/events")) for _ in range(2))
    paths = drain(first)
    assert drain(again) == paths
    assert (first.is_cached, again.is_cached) == (False, True)
    assert again.outcome == first.outcome


def test_a_cached_answer_has_the_same_messages(events: Path) -> None:
    service = service_of(events)
    request = make_request("lake/events", overrides={"batch_rows": 7})
    batches = [read_batches(service.open(request)) for _ in range(2)]
    assert batches[0] == batches[1]
    assert batches[0][0].schema.equals(batches[1][0].schema, check_metadata=True)


def read_batches(answer: Answer) -> list[pa.RecordBatch]:
    batches = list(iter(lambda: answer.next_message(never), None))
    answer.stop()
    return batches


@pytest.mark.parametrize(
    "other",
    [
        {"where": "part = 'x'"},
        {"limit": 3},
        {"columns": ["path"]},
        {"overrides": {"batch_rows": 5}},
        {"endpoints": 2},
    ],
)
def test_another_request_has_its_own_answer(events: Path, other: dict[str, Any]) -> None:
    service = service_of(events)
    drain(service.open(make_request("lake/events")))
    answer = service.open(make_request("lake/events", **other))
    drain(answer)
    assert not answer.is_cached


def test_a_new_version_is_read_again(events: Path) -> None:
    service = service_of(events)
    paths = drain(service.open(make_request("lake/events")))
    write_commit(events / "events", FILES // 5 + 1, [remove(paths[0])])
    assert drain(service.open(make_request("lake/events"))) == paths[1:]


def test_a_snapshot_that_was_opened_again_is_read_again(events: Path) -> None:
    service = service_of(events)
    drain(service.open(make_request("lake/events")))
    service._tables = TableCache(service.roots, reporter=service.monitor.report)
    answer = service.open(make_request("lake/events"))
    drain(answer)
    assert not answer.is_cached  # the log may be another one with the same versions


def test_a_partly_read_answer_is_not_cached(events: Path) -> None:
    service = service_of(events)
    request = make_request("lake/events")
    left = service.open(request)
    left.next_message(never)
    left.stop()
    assert service.answers.used_bytes == 0
    answer = service.open(request)
    assert len(drain(answer)) == FILES
    assert not answer.is_cached


def test_an_answer_that_failed_is_not_cached(tmp_path: Path) -> None:
    write_history(tmp_path / "events", [[*opening(), add("a"), add("/etc/passwd")]])
    service = service_of(tmp_path)
    for _ in range(2):
        with pytest.raises(UnsafePathError):
            drain(service.open(make_request("lake/events")))
    assert service.answers.used_bytes == 0


def test_rows_are_not_cached(tmp_path: Path) -> None:
    write_history(tmp_path / "events", [opening()])
    service = service_of(tmp_path)
    for _ in range(2):
        answer = service.open(make_request("lake/events", kind="rows"))
        assert read_batches(answer) == []
        assert not answer.is_cached


def test_the_size_of_all_answers_is_bounded(events: Path) -> None:
    service = service_of(events, answer_cache_bytes=64 << 10)
    for limit in range(1, FILES):
        drain(service.open(make_request("lake/events", limit=limit)))
        assert 0 < service.answers.used_bytes <= 64 << 10
    newest, oldest = (make_request("lake/events", limit=limit) for limit in (FILES - 1, 1))
    answers = [service.open(request) for request in (newest, oldest)]
    for answer in answers:
        drain(answer)
    assert [answer.is_cached for answer in answers] == [True, False]


@pytest.mark.parametrize("size", [0, 1, 6_000])
def test_an_answer_that_is_larger_than_the_cache_is_only_sent(events: Path, size: int) -> None:
    service = service_of(events, answer_cache_bytes=size)
    for _ in range(3):
        answer = service.open(make_request("lake/events"))
        assert len(drain(answer)) == FILES
        assert not answer.is_cached
    assert service.answers.used_bytes == 0


def test_an_answer_that_is_too_large_drops_the_others_only_once(events: Path) -> None:
    service = service_of(events, answer_cache_bytes=10_000)
    small = make_request("lake/events", limit=1, columns=["path"])
    for _ in range(2):
        drain(service.open(make_request("lake/events")))
        drain(service.open(small))
    drain(service.open(make_request("lake/events")))
    cached = service.open(small)
    drain(cached)
    assert cached.is_cached


def test_one_of_several_streams_is_recorded(events: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = service_of(events)
    request = make_request("lake/events")
    stalled, ready = service.open(request), service.open(request)
    stalled.next_message(never)
    drain(ready)
    assert not service.open(request).is_cached
    monkeypatch.setattr(answer_cache, "_STALLED_S", 0.0)
    drain(service.open(request))  # takes over from the stalled stream
    assert len(drain(stalled)) == FILES - 5
    again = service.open(request)
    drain(again)
    assert again.is_cached


def test_a_stopped_cached_answer_ends(events: Path) -> None:
    service = service_of(events)
    request = make_request("lake/events")
    drain(service.open(request))
    answer = service.open(request)
    answer.next_message(never)
    answer.stop()
    with pytest.raises(ReaderClosedError):
        answer.next_message(never)


def test_a_cached_answer_obeys_its_deadline(events: Path) -> None:
    service = service_of(events)
    drain(service.open(make_request("lake/events")))
    answer = service.open(make_request("lake/events"))

    def overdue() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        answer.next_message(overdue)


def test_both_protocols_share_the_cache(start: Start, events: Path) -> None:
    server = start(roots=(f"lake={events}",))
    with Connection(f"grpc://127.0.0.1:{server.flight_port}") as connected:
        scans = [
            sorted(f.path for f in connected.table("lake/events").snapshot().scan())
            for _ in range(2)
        ]
    assert scans[0] == scans[1]
    answer = server.service.open(make_request("lake/events"))
    drain(answer)
    assert answer.is_cached


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="answer-cache"):
        ServerSettings(roots=("a=/tmp",), answer_cache_mib=-1).check()


def test_an_unused_cache_is_empty() -> None:
    assert AnswerCache(1 << 20).used_bytes == 0
