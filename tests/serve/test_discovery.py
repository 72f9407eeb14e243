"""`connect` with the address of the HTTP endpoint: where Flight is, and who may ask."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import headrace
from headrace.errors import RemoteFailedError, UnauthenticatedError
from tests.serve.conftest import TOKEN, Start


def test_a_wrong_token_is_the_same_error_as_over_flight(start: Start, token_file: Path) -> None:
    server = start(token_file=token_file)
    url = f"http://127.0.0.1:{server.http_port}"
    for token in (None, "a-wrong-token-of-tests"):
        with pytest.raises(UnauthenticatedError):
            headrace.connect(url, token=token)
    with headrace.connect(url, token=TOKEN) as connected:
        assert connected.tables() == ["lake/events"]


def test_mutual_tls_works_by_the_https_address(start: Start, pem: dict[str, Path]) -> None:
    server = start(tls_cert=pem["server"], tls_key=pem["server-key"], mtls_ca=pem["ca"])
    url, authority = f"https://127.0.0.1:{server.http_port}", pem["ca"].read_bytes()
    with headrace.connect(
        url,
        tls_root_certs=authority,
        cert_chain=pem["client"].read_bytes(),
        private_key=pem["client-key"].read_bytes(),
    ) as connected:
        assert connected.tables() == ["lake/events"]
    with pytest.raises(RemoteFailedError):
        headrace.connect(url, tls_root_certs=authority)


def test_an_invalid_certificate_is_an_error_with_the_address() -> None:
    with pytest.raises(RemoteFailedError, match="localhost"):
        headrace.connect("https://localhost:1", cert_chain=b"x", private_key=b"y")


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_ipv6_address_leads_to_flight(start: Start) -> None:
    try:
        server = start(listen="[::1]:0")
    except headrace.HeadraceError:
        pytest.skip("the loopback interface has no IPv6")
    with headrace.connect(f"http://[::1]:{server.http_port}") as connected:
        assert connected.location == f"grpc+tcp://[::1]:{server.flight_port}"
        assert connected.tables() == ["lake/events"]


class _Answer(BaseHTTPRequestHandler):
    """Answers every request alike, and keeps the headers of the last one."""

    status = 200
    location: str | None = None
    content = b""
    headers_seen: ClassVar[list[Message]] = []

    def do_GET(self) -> None:
        self.headers_seen.append(self.headers)
        self.send_response(self.status)
        if self.location is not None:
            self.send_header("location", self.location)
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *words: Any) -> None:
        pass


@contextmanager
def answering(**answer: Any) -> Iterator[tuple[str, list[Message]]]:
    """Run an HTTP server with one answer; yield its address and the headers that it receives."""
    headers: list[Message] = []
    handler = type("Answer", (_Answer,), answer | {"headers_seen": headers})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", headers
        server.shutdown()
        thread.join()


def test_a_redirect_does_not_take_the_token_elsewhere() -> None:
    with (
        answering(content=b'{"flight_port": 1}') as (elsewhere, headers),
        answering(status=302, location=elsewhere) as (address, _),
        pytest.raises(RemoteFailedError, match="302"),
    ):
        headrace.connect(address, token=TOKEN)
    assert headers == []


@pytest.mark.parametrize("port", [b'"1@elsewhere.example:2"', b"0", b"65536", b"1.5", b"null", b""])
def test_an_invalid_port_is_an_error_with_the_address(port: bytes) -> None:
    with (
        answering(content=b'{"flight_port": ' + port + b"}") as (address, _),
        pytest.raises(RemoteFailedError, match="127"),
    ):
        headrace.connect(address)


def test_a_port_that_does_not_speak_http_is_an_error_with_the_address(start: Start) -> None:
    server = start()
    with pytest.raises(RemoteFailedError, match="127"):
        headrace.connect(f"http://127.0.0.1:{server.flight_port}")
