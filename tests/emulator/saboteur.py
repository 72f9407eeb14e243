"""A server that fails the way object stores fail."""

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

EMPTY_LISTING = (
    b'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    b"<Name>lake</Name><KeyCount>0</KeyCount><MaxKeys>1000</MaxKeys>"
    b"<IsTruncated>false</IsTruncated></ListBucketResult>"
)

PIECE_BYTES = 1 << 18
KEY_ID, SECRET = "AKIAKEY", "hUsHhUsHhUsH"


def s3_options(endpoint: str) -> dict[str, Any]:
    """Return the options to open a bucket of a server on loopback."""
    return {
        "endpoint": endpoint,
        "access_key_id": KEY_ID,
        "secret_access_key": SECRET,
        "region": "us-east-1",
    }


@dataclass(frozen=True, slots=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    promised_bytes: int | None = None
    """A content length larger than the body: the connection closes in the middle of the body."""
    delay_s: float = 0.0
    pause_s: float = 0.0
    """The time between two pieces of the body."""


def failure(status: int, code: str = "") -> Answer:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>"
    return Answer(status, body.encode() if code else b"")


def always(answer: Answer) -> Callable[[str, str], Answer]:
    """Return a function that gives the same answer to every request."""
    return lambda _method, _path: answer


class Saboteur:
    """Answers every request with the result of a function, and records the requests."""

    def __init__(self, answer: Callable[[str, str], Answer]) -> None:
        self.answer = answer
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        """The headers of each request, with names in lower case."""
        self.endpoint = ""


@contextmanager
def sabotaged(
    answer: Callable[[str, str], Answer], *, tls: ssl.SSLContext | None = None
) -> Iterator[Saboteur]:
    """Run a `Saboteur` on loopback, over TLS if its certificate is given."""
    saboteur = Saboteur(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            saboteur.requests.append(f"{self.command} {self.path}")
            saboteur.headers.append({name.lower(): v for name, v in self.headers.items()})
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = saboteur.answer(self.command, self.path)
            time.sleep(answer.delay_s)
            self.send_response(answer.status)
            size = len(answer.body) if answer.promised_bytes is None else answer.promised_bytes
            self.send_header("Content-Length", str(size))
            self.send_header("ETag", '"e"')
            self.send_header("Last-Modified", "Tue, 17 Nov 2026 10:00:00 GMT")
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.send_body(answer)
            if answer.promised_bytes is not None:
                self.wfile.flush()
                self.close_connection = True

        def send_body(self, answer: Answer) -> None:
            if not answer.pause_s:
                self.wfile.write(answer.body)
                return
            for start in range(0, len(answer.body), PIECE_BYTES):
                time.sleep(answer.pause_s)
                self.wfile.write(answer.body[start : start + PIECE_BYTES])

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PROPFIND = respond  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    saboteur.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield saboteur
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
