"""More ways in which stores and networks fail: each is a typed error, soon, without secrets."""

import asyncio
import os
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from headrace import Table
from headrace.errors import (
    AccessDeniedError,
    BucketNotFoundError,
    CredentialError,
    HeadraceError,
    StoreFailedError,
    StoreThrottledError,
)
from headrace.metrics.event import Event
from headrace.storage.byte_range import ByteRange
from headrace.storage.pace import Pace
from headrace.storage.request_loop import request_loop
from headrace.storage.retry import Retrier, RetryPolicy
from headrace.storage.retrying import RetryingStore
from headrace.wiring import open_store
from tests.emulator.place import ACCOUNT, ACCOUNT_KEY
from tests.emulator.saboteur import KEY_ID, SECRET, Answer, always, failure, s3_options, sabotaged
from tests.waiting import wait_until


def azure_options(endpoint: str) -> dict[str, Any]:
    return {
        "account_name": ACCOUNT,
        "account_key": ACCOUNT_KEY,
        "endpoint": f"{endpoint}/{ACCOUNT}",
    }


def google_options(endpoint: str) -> dict[str, Any]:
    return {"base_url": endpoint, "anonymous": True}


KINDS: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "s3": ("s3://lake/t", s3_options),
    "azure": ("az://lake/t", azure_options),
    "google": ("gs://lake/t", google_options),
}


def retrying(uri: str, options: dict[str, Any]) -> RetryingStore:
    policy = RetryPolicy(attempts=2, backoff_ms=1)
    return RetryingStore(open_store(uri, options=options), retrier=Retrier(policy=policy))


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        ("azure", failure(404, "ContainerNotFound"), BucketNotFoundError),
        ("azure", failure(403, "AuthenticationFailed"), CredentialError),
        ("azure", failure(403, "AuthorizationPermissionMismatch"), AccessDeniedError),
        ("azure", failure(403, "AccountIsDisabled"), AccessDeniedError),
        ("azure", failure(401, "NoAuthenticationInformation"), CredentialError),
        ("azure", failure(503, "ServerBusy"), StoreThrottledError),
        ("google", failure(404, "NoSuchBucket"), BucketNotFoundError),
        ("google", failure(403, "AccessDenied"), AccessDeniedError),
        ("google", failure(401, "AuthenticationRequired"), CredentialError),
        ("google", failure(429, "SlowDown"), StoreThrottledError),
        ("s3", failure(403, "AllAccessDisabled"), AccessDeniedError),
        ("s3", failure(405, "MethodNotAllowed"), StoreFailedError),
        ("s3", failure(501, "NotImplemented"), StoreFailedError),
        ("s3", Answer(204), StoreFailedError),
    ],
)
def test_each_service_fails_with_a_typed_error_and_the_next_step(
    kind: str, answer: Answer, expected: type[HeadraceError]
) -> None:
    uri, options = KINDS[kind]
    with sabotaged(always(answer)) as server:
        store = retrying(uri, options(server.endpoint))
        started = time.monotonic()
        with pytest.raises(expected) as raised:
            list(store.list("_delta_log"))
        assert time.monotonic() - started < 10
        assert len(server.requests) <= 6
    assert ";" in str(raised.value)


def test_a_refusal_of_the_whole_table_is_reported_once() -> None:
    events: list[Event] = []
    with sabotaged(always(failure(403, "AccessDenied"))) as server:
        options = s3_options(server.endpoint)
        table = Table("s3://lake/t", storage_options=options, reporter=events.append)
        with pytest.raises(AccessDeniedError):
            table.snapshot()
    assert not events


@pytest.mark.parametrize("code", [SECRET, KEY_ID, "a b", "x" * 200])
def test_text_that_is_not_an_error_code_is_not_repeated(code: str) -> None:
    with sabotaged(lambda _method, _path: failure(403, code)) as server:
        store = open_store("s3://lake/t", options=s3_options(server.endpoint))
        with pytest.raises(AccessDeniedError) as raised:
            store.read("x")
    assert code not in str(raised.value)


def test_a_failed_range_ends_the_requests_for_the_others() -> None:
    """They would take bandwidth and slots from the retry."""
    slow, started = threading.Event(), threading.Event()

    def answers(_method: str, _path: str) -> Answer:
        if not started.is_set():
            started.set()
            slow.wait(5)
            return Answer(206, b"x", {"Content-Range": "bytes 0-0/9000000"})
        return failure(403, "AccessDenied")

    with sabotaged(answers) as server:
        store = open_store("s3://lake/t", options=s3_options(server.endpoint))
        with pytest.raises(AccessDeniedError):
            store.read_ranges("x", [ByteRange(0, 1), ByteRange(8_000_000, 1)])
        wait_until(lambda: not running_requests(), within_s=2)
        slow.set()


def running_requests() -> list[str]:
    tasks = asyncio.all_tasks(request_loop()._loop)
    return [name for task in tasks if (name := getattr(task.get_coro(), "__qualname__", ""))]


class Quiet(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve TLS with a certificate that nobody trusts."""
    folder: Path = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj"
    subprocess.run([*command.split(), "/CN=localhost"], cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing about handshakes that fail."""

    with Server(("127.0.0.1", 0), Quiet) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"localhost:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_an_untrusted_certificate_is_reported_and_not_retried(encrypted: str) -> None:
    store = open_store("s3://lake/t", options=s3_options(f"https://{encrypted}"))
    with pytest.raises(StoreFailedError, match="certificate") as raised:
        store.read("x")
    assert not raised.value.transient


@pytest.mark.parametrize(
    "endpoint", ["http://no-such-host.invalid", "https://no-such-host.invalid", "plain", "https"]
)
def test_a_host_with_another_protocol_fails_soon(endpoint: str, encrypted: str) -> None:
    with sabotaged(lambda _method, _path: Answer()) as plain:
        places = {
            "plain": plain.endpoint.replace("http:", "https:"),
            "https": f"http://{encrypted}",
        }
        options = s3_options(places.get(endpoint, endpoint)) | {"allow_http": "true"}
        store = retrying("s3://lake/t", options)
        started = time.monotonic()
        with pytest.raises(StoreFailedError) as raised:
            store.read("x")
        assert time.monotonic() - started < 15
        assert SECRET not in str(raised.value)


def test_a_proxy_that_refuses_is_a_failure_without_its_password() -> None:
    proxy = {"proxy_url": f"http://u:{SECRET}@127.0.0.1:9", "allow_http": "true"}
    options = s3_options("http://s3.example.com") | proxy
    with pytest.raises(StoreFailedError, match="reached") as raised:
        open_store("s3://lake/t", options=options).read("x")
    assert SECRET not in str(raised.value)


def test_a_slow_line_may_take_longer_than_the_deadline() -> None:
    body = bytes(3 << 20)
    whole = Answer(200, body, pause_s=0.15)
    part = Answer(
        206, body, {"Content-Range": f"bytes 0-{len(body) - 1}/{len(body)}"}, pause_s=0.15
    )
    for answer, ranges in ((whole, None), (part, [ByteRange(0, len(body))])):
        with sabotaged(always(answer)) as server:
            inner = open_store("s3://lake/t", options=s3_options(server.endpoint))
            policy = RetryPolicy(attempts=3, backoff_ms=1, timeout_ms=1200, deadline_ms=2700)
            store = RetryingStore(inner, retrier=Retrier(policy=policy))
            content = store.read("x") if ranges is None else store.read_ranges("x", ranges)[0]
            assert len(content) == len(body)
            assert len(server.requests) == 2


def test_a_wait_for_a_slot_ends_at_the_deadline() -> None:
    async def wait() -> None:
        pace = Pace(1)
        async with pace.admitted():
            with pytest.raises(TimeoutError):
                async with pace.admitted(longest_s=0.02):
                    pass
        async with asyncio.timeout(1), pace.admitted():
            pass

    asyncio.run(wait())


def test_a_pause_ends_at_the_deadline_and_frees_the_slot() -> None:
    async def wait() -> None:
        pace = Pace(1)
        pace.throttled()
        with pytest.raises(TimeoutError):
            async with pace.admitted(longest_s=0.01):
                pass
        async with asyncio.timeout(1), pace.admitted():
            pass

    asyncio.run(wait())


def test_a_cancelled_request_gives_its_slot_to_the_next_one() -> None:
    async def wait() -> bool:
        pace = Pace(1)
        reached: list[str] = []

        async def request(name: str) -> None:
            async with pace.admitted():
                reached.append(name)

        async with pace.admitted():
            second, third = (asyncio.create_task(request(name)) for name in ("b", "c"))
            await asyncio.sleep(0)
        second.cancel()  # it has its slot, but has not run yet
        await asyncio.wait([third], timeout=1)
        return reached == ["c"]

    assert asyncio.run(wait())


def test_a_process_forked_after_a_request_gets_an_error_instead_of_waiting() -> None:
    with sabotaged(always(Answer(200, b"x"))) as server:
        store = open_store("s3://lake/t", options=s3_options(server.endpoint))
        assert store.read("x") == b"x"
        child = os.fork()
        if not child:
            with suppress(StoreFailedError):
                store.read("x")
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0
        assert store.read("x") == b"x"
