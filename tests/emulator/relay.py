"""A relay in front of a store that loses responses to requests that the store has executed."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

_CHUNK = 1 << 16


class Relay:
    """Forwards requests, and drops the responses to some of the writes."""

    def __init__(self, target: str, *, every: int) -> None:
        parts = urlsplit(target)
        assert parts.hostname is not None
        assert parts.port is not None
        self._target = (parts.hostname, parts.port)
        self._every = every
        self._lock = threading.Lock()
        self.writes = 0
        self.lost = 0
        self.heads: list[bytes] = []
        """The head of each request."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _pass_on(self, client: socket.socket) -> None:
        """Serve one request per connection: its response arrives whole, or not at all."""
        with client, socket.create_connection(self._target) as store:
            request = _read_message(client)
            if not request:
                return
            head, _, body = request.partition(b"\r\n\r\n")
            self.heads.append(head)
            lines = [x for x in head.split(b"\r\n") if not x.lower().startswith(b"connection:")]
            store.sendall(b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body)
            answer = b"".join(iter(lambda: store.recv(_CHUNK), b""))
            if self._is_lost(head):
                return
            client.sendall(answer)
            client.shutdown(socket.SHUT_WR)

    def _is_lost(self, head: bytes) -> bool:
        if not head.startswith(b"PUT"):
            return False
        with self._lock:
            self.writes += 1
            is_lost = self.writes % self._every == 0
            self.lost += is_lost
        return is_lost


def _read_message(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(_CHUNK)
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    ]
    missing = (lengths[0] if lengths else 0) - len(body)
    while missing > 0:
        more = client.recv(_CHUNK)
        data += more
        missing -= len(more)
    return data


@contextmanager
def relayed(target: str, *, every: int) -> Iterator[Relay]:
    relay = Relay(target, every=every)
    thread = threading.Thread(target=relay.serve, daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        relay.close()
        thread.join()
