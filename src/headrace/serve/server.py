"""Runs a server: Flight and HTTP over one service.

Settings enter. Both endpoints listen once `RunningServer` is constructed. On SIGTERM the server
refuses new streams and gives running ones a limited time to end.
"""

import logging
import multiprocessing
import os
import secrets
import signal
import socket
import ssl
import sys
import tempfile
import threading
import time
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, Self

import uvicorn

from headrace.errors import InvalidArgumentError
from headrace.serve.descriptor import raise_limit
from headrace.serve.flight_server import FlightEndpoint
from headrace.serve.http_app import make_app
from headrace.serve.log_filter import ClientNoise
from headrace.serve.root import Roots
from headrace.serve.service import Service
from headrace.serve.setting import ListenAddress, ServerSettings
from headrace.serve.slow_client import HeaderTimeoutProtocol
from headrace.serve.ticket import TicketSigner

_logger = logging.getLogger("headrace.serve")
_LONGEST_HEAD = 128 << 10
_START_S = 10.0
_END_S = 2.0


class RunningServer:
    """One process of a server, which listens from its construction on."""

    def __init__(self, settings: ServerSettings, *, ticket_key: bytes | None = None) -> None:
        """Start both endpoints.

        Raises:
            InvalidArgumentError: a setting is wrong, or an address cannot be bound.
        """
        settings.check()
        self.settings = settings
        self.has_stalled_calls = False
        """Whether Flight calls were still blocked by their clients when the server stopped."""
        self.service = Service(
            Roots.parse(settings.roots),
            tokens=settings.read_tokens(),
            tickets=TicketSigner(key=ticket_key or settings.read_ticket_key()),
            limits=settings.limits(),
        )
        tls = settings.read_tls()
        scheme = "grpc" if tls is None else "grpc+tls"
        _check_free(settings.flight_address, argument="--flight-listen")
        try:
            self._flight = FlightEndpoint(
                f"{scheme}://{settings.flight_address}", self.service, tls=tls
            )
        except Exception as error:  # Arrow has no single error type for an address in use
            reason = f"{settings.flight_address}: {error}"
            raise InvalidArgumentError(argument="--flight-listen", reason=reason) from error
        self.flight_port: int = self._flight.port
        self._socket = _listen(settings.http_address, shared=settings.workers > 1)
        self.http_port: int = self._socket.getsockname()[1]
        self._http = uvicorn.Server(self._http_config())
        self._thread = threading.Thread(
            target=self._http.run, args=([self._socket],), name="headrace-http", daemon=True
        )
        self._thread.start()
        self._await_start()

    def _http_config(self) -> uvicorn.Config:
        settings = self.settings
        secure: dict[str, Any] = {}
        if settings.tls_cert is not None:
            secure = {"ssl_certfile": settings.tls_cert, "ssl_keyfile": settings.tls_key}
        if settings.mtls_ca is not None:
            secure |= {"ssl_ca_certs": str(settings.mtls_ca), "ssl_cert_reqs": ssl.CERT_REQUIRED}
        return uvicorn.Config(
            make_app(self.service, flight_port=self.flight_port),
            http=HeaderTimeoutProtocol,
            ws="none",
            lifespan="on",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=_LONGEST_HEAD,
            timeout_graceful_shutdown=1,
            **secure,
        )

    def _await_start(self) -> None:
        until = time.monotonic() + _START_S
        while not self._http.started:
            if not self._thread.is_alive() or time.monotonic() > until:
                self._flight.shutdown()
                raise InvalidArgumentError(
                    argument="--listen", reason="the HTTP endpoint did not start"
                )
            time.sleep(0.002)

    def drain(self) -> int:
        """Refuse new requests, wait for streams to end, stop the rest, and stop listening.

        Returns the number of streams that were stopped.
        """
        stopped_streams = self.service.slots.drain(patience_s=self.settings.drain_s)
        self._stop_listening()
        return stopped_streams

    def close(self) -> None:
        """Stop at once."""
        self.service.slots.drain(patience_s=0.0)
        self._stop_listening()

    def _stop_listening(self) -> None:
        """Stop both endpoints, without waiting for clients that do not read."""
        self._http.should_exit = True
        ending = threading.Thread(target=self._flight.shutdown, name="headrace-end", daemon=True)
        ending.start()
        self._thread.join(_START_S)
        ending.join(_END_S)
        self.has_stalled_calls = ending.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def run_server(settings: ServerSettings) -> None:
    """Serve until SIGTERM or Ctrl-C; blocks the calling thread.

    Raises:
        InvalidArgumentError: a setting is wrong, or an address cannot be bound.
    """
    settings.check()
    if settings.workers > 1:
        _run_workers(settings)
        return
    _serve(settings, ticket_key=None)


def _serve(settings: ServerSettings, *, ticket_key: bytes | None) -> None:
    _set_up_logging(settings)
    raise_limit()
    shutdown = threading.Event()

    def request_shutdown(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  (signal calls it)
        shutdown.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, request_shutdown)
    _shut_down_with_parent(shutdown)
    server = RunningServer(settings, ticket_key=ticket_key)
    sys.stderr.write(
        f"headrace serves {', '.join(server.service.roots.names)}: "
        f"HTTP at {ListenAddress(settings.http_address.host, server.http_port)}, "
        f"Flight at {ListenAddress(settings.flight_address.host, server.flight_port)}\n"
    )
    sys.stderr.flush()
    shutdown.wait()
    stopped_streams = server.drain()
    _logger.info("drained; %d streams were stopped", stopped_streams)
    if server.has_stalled_calls:  # Arrow would wait for their clients when Python ends
        logging.shutdown()
        os._exit(0)


def _shut_down_with_parent(shutdown: threading.Event) -> None:
    """End a worker when the process that started it has been killed."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        shutdown.set()

    threading.Thread(target=wait, name="headrace-parent", daemon=True).start()


def _run_workers(settings: ServerSettings) -> None:
    """Run several processes that share the HTTP port and the ticket key.

    Each process has its own Flight port.
    """
    key = settings.read_ticket_key() or secrets.token_bytes(32)
    with tempfile.TemporaryDirectory(prefix="headrace-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        context = multiprocessing.get_context("spawn")
        workers: list[BaseProcess] = [
            context.Process(
                target=_serve, args=(settings.for_worker(number),), kwargs={"ticket_key": key}
            )
            for number in range(settings.workers)
        ]
        shutdown = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: shutdown.set())
        for worker in workers:
            worker.start()
        while not shutdown.wait(0.2) and all(worker.is_alive() for worker in workers):
            pass
        for worker in workers:  # also after one has died: a supervisor restarts all of them
            if worker.is_alive():
                worker.terminate()
        for worker in workers:
            worker.join(settings.drain_s + _START_S)
        if not shutdown.is_set():
            raise InvalidArgumentError(argument="--workers", reason="a worker exited unexpectedly")


def _set_up_logging(settings: ServerSettings) -> None:
    """Log to standard error; an access line is plain JSON without a prefix."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(ClientNoise())
    access = logging.getLogger("headrace.access")
    access.setLevel(logging.INFO if settings.access_log else logging.WARNING)
    access.propagate = False
    access.addHandler(logging.StreamHandler())


def _check_free(address: ListenAddress, *, argument: str) -> None:
    """Bind an address and release it again, because Flight does not say why it cannot.

    Raises:
        InvalidArgumentError: the address cannot be bound.
    """
    _bind(address, argument=argument, shared=False).close()


def _listen(address: ListenAddress, *, shared: bool) -> socket.socket:
    return _bind(address, argument="--listen", shared=shared)


def _bind(address: ListenAddress, *, argument: str, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listening.bind((address.host, address.port))
    except OSError as error:
        listening.close()
        reason = f"{address}: {error.strerror}; free it, or listen at another address"
        raise InvalidArgumentError(argument=argument, reason=reason) from error
    return listening
