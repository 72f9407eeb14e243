"""Requests that are small on the wire and large in memory are refused without decompression."""

import gc
import gzip
import json
import re
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import httpx
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import flight

from headrace.errors import MalformedRequestError, RequestTooLargeError
from headrace.serve.client_error import remote_errors
from headrace.serve.flight_status import translated
from headrace.serve.outcome import Refusal
from headrace.serve.server import RunningServer
from tests.serve.conftest import TOKEN, Start
from tests.waiting import wait_until

UNPACKED_BYTES = 50_000_000
BOMB = gzip.compress(bytes(UNPACKED_BYTES // 100)) * 100  # members are read one after the other
_GET_FLIGHT_INFO = "/arrow.flight.protocol.FlightService/GetFlightInfo"


def post(server: RunningServer, content: bytes, **headers: str) -> httpx.Response:
    url = f"http://127.0.0.1:{server.http_port}/v1/files"
    return httpx.post(url, content=content, headers=headers, trust_env=False)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, identity", "GZIP"])
def test_compressed_bodies_are_not_unpacked(server: RunningServer, encoding: str) -> None:
    headers = {"content-type": "application/json", "content-encoding": encoding}
    assert post(server, BOMB, **headers).status_code == 415


def test_an_undeclared_compressed_body_is_not_json(server: RunningServer) -> None:
    assert post(server, BOMB, **{"content-type": "application/json"}).status_code == 400


def test_compressed_transfer_encodings_are_refused(server: RunningServer) -> None:
    head = (
        b"POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: gzip, chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.http_port), timeout=5) as client:
        client.sendall(head)
        status = client.recv(100).split()[1]
    assert status in {b"400", b"501"}


@pytest.mark.parametrize("method", ["do_put", "do_exchange"])
def test_uploads_are_refused_before_a_batch_is_decompressed(
    server: RunningServer, method: str
) -> None:
    batch = pa.record_batch({"a": np.zeros(UNPACKED_BYTES // 8, dtype=np.int64)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    client = flight.connect(f"grpc://127.0.0.1:{server.flight_port}")
    descriptor = flight.FlightDescriptor.for_command(b"{}")
    before = pa.total_allocated_bytes()
    with pytest.raises(MalformedRequestError, match="uploads"), remote_errors("server"):
        upload(client, method, descriptor, batch, options)
    assert pa.total_allocated_bytes() - before < UNPACKED_BYTES
    client.close()


def upload(client: Any, method: str, descriptor: Any, batch: pa.RecordBatch, options: Any) -> None:
    call = flight.FlightCallOptions(write_options=options)
    if method == "do_put":
        writer, _ = client.do_put(descriptor, batch.schema, call)
    else:
        writer, _ = client.do_exchange(descriptor, call)
        writer.begin(batch.schema, options=options)
    writer.write_batch(batch)
    writer.close()


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_a_compressed_grpc_message_is_refused_and_its_memory_released(
    start: Start, compression: grpc.Compression
) -> None:
    server = start()
    command = json.dumps({"table": "lake/events", "where": "x" * (UNPACKED_BYTES // 10)}).encode()
    descriptor = b"\x08\x02\x12" + _varint(len(command)) + command
    released: list[int] = []
    server.service.slots._release = lambda: released.append(1)
    with grpc.insecure_channel(
        f"127.0.0.1:{server.flight_port}", options=[("grpc.max_send_message_length", -1)]
    ) as channel:
        call = channel.unary_unary(_GET_FLIGHT_INFO)
        with pytest.raises(grpc.RpcError) as refused:
            call(descriptor, compression=compression, timeout=60)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert refused.value.details().startswith("REQUEST_TOO_LARGE")
    wait_until(lambda: bool(released), within_s=3.0)


class Message:
    """A request, however large."""


def test_a_refused_request_is_freed_without_the_garbage_collector() -> None:
    def refuse(_: Message) -> None:
        raise RequestTooLargeError(limit_bytes=1)

    message = Message()
    freed = weakref.ref(message)
    gc.disable()
    try:
        with pytest.raises(pa.ArrowInvalid):
            translated(refuse, lambda error: Refusal(code="X", message=str(error)))(message)
        del message
        assert freed() is None
    finally:
        gc.enable()


LARGE = "x" * 100_000
REFUSED_CALLS: dict[str, Callable[[flight.FlightClient], object]] = {
    "type of an action": lambda client: list(client.do_action((LARGE, b""))),
    "path": lambda client: client.get_schema(flight.FlightDescriptor.for_path(LARGE)),
    "criteria": lambda client: list(client.list_flights(LARGE.encode())),
    "ticket": lambda client: client.do_get(flight.Ticket(LARGE)).read_all(),
}


@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize("call", REFUSED_CALLS.values(), ids=REFUSED_CALLS)
def test_memory_is_released_after_every_refusal(
    start: Start,
    token_file: Path,
    call: Callable[[flight.FlightClient], object],
    token: str | None,
) -> None:
    server = start(token_file=None if token is None else token_file)
    released: list[int] = []
    server.service.slots.release_memory = lambda: released.append(1)  # type: ignore[method-assign]
    client = flight.connect(f"grpc://127.0.0.1:{server.flight_port}")
    with pytest.raises((flight.FlightError, pa.ArrowException, OSError)):
        call(client)
    client.close()
    assert released


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is in /proc")
def test_no_message_of_an_upload_is_decompressed(lake: Path) -> None:
    message = b"\x12" + _varint(UNPACKED_BYTES) + bytes(UNPACKED_BYTES)
    command = (sys.executable, "-m", "headrace", "serve", "--listen", "127.0.0.1:0")
    with subprocess.Popen(
        [*command, "--root", f"lake={lake}"], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            port = re.findall(r"127\.0\.0\.1:(\d+)", process.stderr.readline())[1]
            before = _peak_bytes(process.pid)
            options = [("grpc.max_send_message_length", -1)]
            with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
                for method in ("DoPut", "DoExchange", "Handshake"):
                    call = channel.stream_stream(f"/arrow.flight.protocol.FlightService/{method}")
                    with pytest.raises(grpc.RpcError):
                        list(call(iter([message]), compression=grpc.Compression.Gzip, timeout=60))
            assert _peak_bytes(process.pid) - before < UNPACKED_BYTES // 2
        finally:
            process.kill()


def _peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def _varint(number: int) -> bytes:
    content = b""
    while number > 127:
        content += bytes([number & 127 | 128])
        number >>= 7
    return content + bytes([number])
