"""The access log: one line for each request, however it ends, with the time that it took."""

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace.serve.client import Connection
from headrace.serve.server import RunningServer
from headrace.serve.service import Service
from tests.serve.conftest import Start
from tests.waiting import wait_until

WAIT_S = 0.05
Logged = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Logged:
    """Return a function that returns the lines of the log so far."""
    caplog.set_level(logging.INFO, "headrace.access")
    return lambda: [json.loads(r.message) for r in caplog.records if r.name == "headrace.access"]


@pytest.fixture
def slow(start: Start, monkeypatch: pytest.MonkeyPatch) -> RunningServer:
    """Run a server that takes a while to answer any request."""
    server = start()
    for name in ("describe", "open"):
        monkeypatch.setattr(server.service, name, delayed(getattr(server.service, name)))
    return server


def delayed(call: Callable[..., Any]) -> Callable[..., Any]:
    def waiting(*words: Any) -> Any:
        time.sleep(WAIT_S)
        return call(*words)

    return waiting


@pytest.mark.parametrize(
    ("path", "status"), [("snapshot", "OK"), ("files", "OK"), ("files", "UNKNOWN_COLUMN")]
)
def test_the_time_of_a_request_includes_its_planning(
    slow: RunningServer, logged: Logged, path: str, status: str
) -> None:
    params = {"table": "lake/events"} | ({} if status == "OK" else {"where": "nope = 1"})
    url = f"http://127.0.0.1:{slow.http_port}/v1/{path}"
    httpx.get(url, params=params, trust_env=False)
    wait_until(lambda: bool(logged()), within_s=2.0)
    (line,) = logged()
    assert (line["method"], line["status"]) == (f"GET /v1/{path}", status)
    assert line["duration_ms"] >= WAIT_S * 1000


def test_the_time_of_a_flight_call_is_logged(slow: RunningServer, logged: Logged) -> None:
    with Connection(f"grpc://127.0.0.1:{slow.flight_port}") as connected:
        connected.table("lake/events").snapshot()
    (line,) = logged()
    assert (line["method"], line["status"]) == ("GetFlightInfo", "OK")
    assert line["duration_ms"] >= WAIT_S * 1000


def test_an_unexpected_failure_is_logged_too(
    start: Start,
    logged: Logged,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = start()

    def fail(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(Service, "describe", fail)
    url = f"http://127.0.0.1:{server.http_port}/v1/snapshot?table=lake/events"
    response = httpx.get(url, trust_env=False)
    assert (response.status_code, response.json()["error"]["code"]) == (500, "INTERNAL")
    wait_until(lambda: bool(logged()), within_s=2.0)
    (line,) = logged()
    assert (line["table"], line["status"]) == ("lake/events", "INTERNAL")
    metrics = httpx.get(url.partition("/v1")[0] + "/metrics", trust_env=False).text
    assert 'method="GET /v1/snapshot",protocol="http",status="INTERNAL"' in metrics


def test_clients_that_do_not_speak_http_do_not_fill_the_log(lake: Path) -> None:
    words = ["--root", f"lake={lake}", "--listen", "127.0.0.1:0", "--drain", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "headrace", "serve", *words], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        (port, _) = re.findall(r"127\.0\.0\.1:(\d+)", process.stderr.readline())
        upgrade = (
            b"GET /v1 HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
        )
        for content in [b"not http\r\n\r\n", upgrade] * 10:
            with socket.create_connection(("127.0.0.1", int(port))) as client:
                client.sendall(content)
                assert client.recv(100)
        os.kill(process.pid, signal.SIGTERM)
        assert len(process.stderr.read().splitlines()) <= 2  # a warning, and the end
        assert process.wait(20) == 0
