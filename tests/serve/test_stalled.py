"""Clients that stop reading: their slots, scans and connections are freed at the deadline."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from pyarrow import flight

from headrace.serve import slow_client
from headrace.serve.request import make_request
from tests.lake.action import add, metadata, protocol
from tests.lake.log import write_history
from tests.serve.conftest import Start
from tests.waiting import wait_until

ROWS, ROW_BYTES = 600, 100_000
"""Together far more than all buffers between a server and a client."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the table `large`, whose rows are large, and return its folder."""
    lake = tmp_path_factory.mktemp("large")
    (lake / "large").mkdir()
    rows = pa.table({"text": ["x" * ROW_BYTES] * ROWS})
    pa.parquet.write_table(rows, lake / "large" / "x.parquet", row_group_size=10)
    created = metadata(columns={"text": "string"}, partition_columns=())
    size = (lake / "large" / "x.parquet").stat().st_size
    write_history(lake / "large", [[protocol(), created, add("x.parquet", size=size)]])
    return lake


def stall_flight(port: int) -> tuple[flight.FlightClient, flight.FlightStreamReader]:
    """Start a stream, read its first batch and nothing more."""
    client = flight.connect(f"grpc://127.0.0.1:{port}")
    command = make_request("lake/large", kind="rows", overrides={"rows_per_batch": 10}).encode()
    info = client.get_flight_info(flight.FlightDescriptor.for_command(command))
    reader = client.do_get(info.endpoints[0].ticket)
    reader.read_chunk()
    return client, reader


def stall_http(port: int) -> socket.socket:
    """Start a response, read its first bytes and nothing more."""
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    client.sendall(b"GET /v1/rows?table=lake/large HTTP/1.1\r\nHost: x\r\n\r\n")
    assert client.recv(100).startswith(b"HTTP/1.1 200")
    return client


def test_a_stalled_flight_client_loses_its_slot_at_the_deadline(start: Start, large: Path) -> None:
    server = start(roots=(f"lake={large}",), max_streams=1, deadline_s=0.5)
    stalled = stall_flight(server.flight_port)
    wait_until(lambda: server.service.slots.running == 0, within_s=3.0)
    url = f"http://127.0.0.1:{server.http_port}/v1/files?table=lake/large"
    assert httpx.get(url, trust_env=False).status_code == 200
    stalled[1].cancel()
    stalled[0].close()


def test_a_stalled_http_client_loses_its_connection_at_the_deadline(
    start: Start, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_client, "CLOSING_S", 0.3)
    server = start(roots=(f"lake={large}",), deadline_s=0.5)
    with stall_http(server.http_port):
        connections = server._http.server_state.connections
        assert len(connections) == 1
        wait_until(lambda: not connections, within_s=3.0)
    assert server.service.slots.running == 0


def test_a_client_that_reads_the_rest_in_time_is_not_aborted_later(
    start: Start, large: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(slow_client, "CLOSING_S", 1.0)
    server = start(roots=(f"lake={large}",), deadline_s=0.5)
    with stall_http(server.http_port) as client:
        wait_until(lambda: server.service.slots.running == 0, within_s=3.0)
        while client.recv(1 << 20):
            pass
    time.sleep(1.5)  # longer than the server waits before it aborts a connection
    assert "Exception in callback" not in caplog.text


@pytest.mark.parametrize("protocol", ["flight", "http"])
def test_a_server_with_stalled_clients_ends_after_its_drain_time(
    large: Path, protocol: str
) -> None:
    words = ["--root", f"lake={large}", "--listen", "127.0.0.1:0", "--drain", "0.5"]
    with subprocess.Popen(
        [sys.executable, "-m", "headrace", "serve", *words], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            ports = re.findall(r"127\.0\.0\.1:(\d+)", process.stderr.readline())
            stalled = (
                stall_http(int(ports[0])) if protocol == "http" else stall_flight(int(ports[1]))
            )
            time.sleep(0.5)  # until the buffers are full
            os.kill(process.pid, signal.SIGTERM)
            assert process.wait(20) == 0
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()
    if isinstance(stalled, socket.socket):
        stalled.close()
