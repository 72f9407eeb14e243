"""Stores that refuse, disconnect or hang: a typed error with the next step, without delay."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from headrace import Table
from headrace.engines.execution_store import execution_store
from headrace.errors import (
    AccessDeniedError,
    BucketNotFoundError,
    CredentialError,
    HeadraceError,
    RedirectRefusedError,
    SnapshotExpiredError,
    StoreFailedError,
    StoreThrottledError,
    TableNotFoundError,
    WrongRegionError,
)
from headrace.plan.cancellation import Cancelled
from headrace.plan.context import ExecutionContext, ExecutionSettings
from headrace.storage.call import Call, limited
from headrace.storage.retry import Retrier, RetryPolicy
from headrace.storage.retrying import RetryingStore
from headrace.wiring import open_store
from tests.emulator.saboteur import (
    EMPTY_LISTING,
    SECRET,
    Answer,
    always,
    failure,
    s3_options,
    sabotaged,
)
from tests.waiting import wait_until


def on_listing(answer: Answer) -> Callable[[str, str], Answer]:
    return lambda _, path: answer if "list-type" in path else failure(404, "NoSuchKey")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (always(failure(404, "NoSuchBucket")), BucketNotFoundError),
        (always(failure(403, "AccessDenied")), AccessDeniedError),
        (always(failure(400, "ExpiredToken")), CredentialError),
        (always(failure(403, "RequestTimeTooSkewed")), CredentialError),
        (always(failure(403, "InvalidAccessKeyId")), CredentialError),
        (always(failure(401)), CredentialError),
        (always(failure(400, "AuthorizationHeaderMalformed")), WrongRegionError),
        (always(failure(301, "PermanentRedirect")), WrongRegionError),
        (always(failure(500, "InternalError")), StoreFailedError),
        (always(failure(418)), StoreFailedError),
        (on_listing(Answer(200, EMPTY_LISTING)), TableNotFoundError),
        (on_listing(Answer(200, EMPTY_LISTING[:90])), StoreFailedError),
        (on_listing(Answer(200, EMPTY_LISTING, promised_bytes=900)), StoreFailedError),
        (always(Answer(200, b"{}", promised_bytes=900)), StoreFailedError),
    ],
)
def test_each_failure_is_a_typed_error_with_the_next_step_and_limited_retries(
    answers: Callable[[str, str], Answer], expected: type[HeadraceError]
) -> None:
    with sabotaged(answers) as store:
        table = Table("s3://lake/events", storage_options=s3_options(store.endpoint))
        with pytest.raises(expected) as raised:
            table.snapshot()
        assert len(store.requests) <= 20
    assert type(raised.value) is expected
    assert any(mark in str(raised.value) for mark in (";", ":"))
    assert SECRET not in _everything(raised.value)


def _everything(error: BaseException) -> str:
    """Return everything that could be printed of an error, its causes and its context."""
    texts = []
    chain: BaseException | None = error
    while chain is not None:
        texts += [str(chain), repr(chain), repr(vars(chain))]
        chain = chain.__cause__ or chain.__context__
    return "\n".join(texts)


COMMIT = (
    b'{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}\n'
    b'{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"partitionColumns":[],'
    b'"schemaString":"{\\"type\\":\\"struct\\",\\"fields\\":[]}","configuration":{}}}\n'
    b'{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}\n'
)
LINES = COMMIT.splitlines(keepends=True)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b"".join(LINES[:2])),
        Answer(200, COMMIT + LINES[2].replace(b'"a"', b'"b"')),
        Answer(206, b"".join(LINES[:2]), {"Content-Range": f"bytes 0-1/{len(COMMIT)}"}),
    ],
    ids=["shorter", "longer", "part"],
)
def test_a_commit_of_another_size_than_listed_is_an_error(answer: Answer) -> None:
    key = f"events/_delta_log/{0:020}.json"
    listed = (
        f"<Contents><Key>{key}</Key><LastModified>2026-11-17T10:00:00.000Z</LastModified>"
        f'<ETag>"e"</ETag><Size>{len(COMMIT)}</Size></Contents></ListBucketResult>'
    )
    listing = EMPTY_LISTING.replace(b"</ListBucketResult>", listed.encode())
    commits = iter([Answer(200, COMMIT), answer])

    def answers(_method: str, path: str) -> Answer:
        if "list-type" in path:
            return Answer(200, listing)
        return next(commits, answer) if key in path else failure(404, "NoSuchKey")

    with sabotaged(answers) as store:
        chosen = s3_options(store.endpoint)
        whole = Table("s3://lake/events", storage_options=chosen).snapshot()
        assert [file.path for file in whole.scan()] == ["a"]
        with pytest.raises(SnapshotExpiredError):
            list(Table("s3://lake/events", storage_options=chosen).snapshot().scan())


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_machine_without_credentials_is_not_a_store_that_refuses_access(
    status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Its metadata address answers, but not with credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with sabotaged(always(Answer())) as store, sabotaged(always(Answer(status))) as metadata:
        settings = {
            "endpoint": store.endpoint,
            "region": "us-east-1",
            "metadata_endpoint": metadata.endpoint,
        }
        with pytest.raises(CredentialError, match="there are no credentials; set AWS_ACCESS"):
            Table("s3://lake/events", storage_options=settings).snapshot()
        assert store.requests == []


def test_missing_credentials_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with sabotaged(always(Answer())) as store:
        settings = {
            "endpoint": store.endpoint,
            "region": "us-east-1",
            "metadata_endpoint": "http://127.0.0.1:9",
        }
        with pytest.raises(CredentialError, match="AWS_ACCESS_KEY_ID"):
            Table("s3://lake/events", storage_options=settings).snapshot()
        assert store.requests == []


def test_a_redirect_to_another_host_is_refused_and_never_followed() -> None:
    with sabotaged(always(Answer(200, b"elsewhere"))) as elsewhere:
        location = elsewhere.endpoint.replace("127.0.0.1", "localhost")
        moved = Answer(302, headers={"Location": f"{location}/lake/events/x"})
        with sabotaged(always(moved)) as store:
            opened = open_store("s3://lake/events", options=s3_options(store.endpoint))
            with pytest.raises(RedirectRefusedError):
                opened.read("x")
        assert elsewhere.requests == []


def test_an_unreachable_store_is_a_transient_failure() -> None:
    opened = open_store("s3://lake/events", options=s3_options("http://127.0.0.1:9"))
    with pytest.raises(StoreFailedError, match="reach") as raised:
        opened.read("x")
    assert raised.value.transient


def retrying(endpoint: str, **policy: int) -> RetryingStore:
    inner = open_store("s3://lake/events", options=s3_options(endpoint))
    return RetryingStore(inner, retrier=Retrier(policy=RetryPolicy(**policy)))


def test_a_request_that_hangs_is_aborted_after_its_timeout() -> None:
    with sabotaged(always(Answer(delay_s=3))) as store:
        started = time.monotonic()
        with pytest.raises(StoreFailedError, match="in time"):
            retrying(store.endpoint, attempts=2, backoff_ms=1, timeout_ms=150).read("x")
        assert time.monotonic() - started < 2.5
        assert len(store.requests) == 2


def test_the_deadline_holds_for_the_whole_call() -> None:
    with sabotaged(always(Answer(delay_s=3))) as store:
        started = time.monotonic()
        with pytest.raises(StoreFailedError):
            retrying(store.endpoint, attempts=9, timeout_ms=5000, deadline_ms=300).read("x")
        assert time.monotonic() - started < 2.5


def test_cancelling_ends_a_request_that_is_under_way() -> None:
    with sabotaged(always(Answer(delay_s=5))) as store:
        context = ExecutionContext()
        reading = execution_store(
            open_store("s3://lake/events", options=s3_options(store.endpoint)), context
        )
        ended: list[float] = []

        def read() -> None:
            with pytest.raises(Cancelled):
                reading.read("x")
            ended.append(time.monotonic())

        thread = threading.Thread(target=read)
        thread.start()
        wait_until(lambda: store.requests)
        cancelled_at = time.monotonic()
        context.cancellation.request()
        thread.join(4)
        assert ended
        assert ended[0] - cancelled_at < 1


def test_throttled_requests_are_retried_more_slowly_and_counted() -> None:
    times: list[float] = []

    def busy_at_first(_method: str, _path: str) -> Answer:
        times.append(time.monotonic())
        return failure(503, "SlowDown") if len(times) <= 5 else Answer(200, b"done")

    with sabotaged(busy_at_first) as store:
        settings = ExecutionSettings(retry_attempts=3, retry_backoff_ms=5)
        context = ExecutionContext(settings=settings)
        reading = execution_store(
            open_store("s3://lake/events", options=s3_options(store.endpoint)), context
        )
        assert reading.read("x") == b"done"
        assert context.meter.counts.throttles == 5
        assert times[5] - times[4] > times[1] - times[0]


def test_a_store_that_never_stops_throttling_is_an_error() -> None:
    with sabotaged(always(failure(429))) as store:
        with pytest.raises(StoreThrottledError):
            retrying(store.endpoint, attempts=2, backoff_ms=1, deadline_ms=4000).read("x")
        assert 2 <= len(store.requests) <= 6


def test_a_pause_that_lasts_until_the_deadline_is_reported_as_throttling() -> None:
    with sabotaged(always(failure(503, "SlowDown"))) as server:
        store = open_store("s3://lake/events", options=s3_options(server.endpoint))
        with limited(Call(timeout_ms=1000, deadline=time.monotonic() + 60)):
            for _ in range(2):  # the next pause is longer than 100 ms
                with pytest.raises(StoreThrottledError):
                    store.read("x")
        with (
            limited(Call(timeout_ms=1000, deadline=time.monotonic() + 0.05)),
            pytest.raises(StoreThrottledError, match="in time"),
        ):
            store.read("x")
        assert len(server.requests) == 2
