"""How streams end: at their end, by the client, by a timeout, or with the server."""

import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from pyarrow import flight

from headrace.errors import (
    DeadlineExceededError,
    HeadraceError,
    ServerBusyError,
    ServerDrainingError,
)
from headrace.serve.client import Connection
from headrace.serve.client_stream import RemoteBatches
from headrace.serve.message import BackgroundBatches, FlushPolicy, MessageStream
from headrace.serve.request import make_request
from headrace.serve.server import RunningServer
from headrace.serve.stream_slot import StreamSlots
from tests.serve.conftest import Start
from tests.serve.slow import COMMITS, Slowness, write_slow_table
from tests.waiting import wait_until


class _Timed:
    """Batches of given sizes, each after a delay."""

    def __init__(self, *steps: tuple[float, int]) -> None:
        self._steps = iter(steps)
        self.is_stopped = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        wait_s, rows = next(self._steps)
        time.sleep(wait_s)
        return pa.RecordBatch.from_pydict({"a": list(range(rows))})

    def stop(self) -> None:
        self.is_stopped = True

    def close(self) -> None:
        self.is_stopped = True


def sizes_of(*steps: tuple[float, int], flush_policy: FlushPolicy | None = None) -> list[int]:
    messages = MessageStream(BackgroundBatches(_Timed(*steps)), flush_policy=flush_policy)
    sizes = []
    while (batch := messages.next_message(lambda: None)) is not None:
        sizes.append(batch.num_rows)
    return sizes


def test_the_first_batch_is_sent_at_once_and_then_by_size() -> None:
    flush_policy = FlushPolicy(rows=100, delay_s=60)
    assert sizes_of((0, 1), *((0, 40) for _ in range(6)), flush_policy=flush_policy) == [
        1,
        120,
        120,
    ]


def test_rows_that_have_waited_long_enough_are_sent() -> None:
    flush_policy = FlushPolicy(rows=1000, delay_s=0.02)
    assert sizes_of((0, 1), (0, 5), (0.3, 7), flush_policy=flush_policy) == [1, 5, 7]


def test_large_batches_are_sent_unchanged() -> None:
    assert sizes_of((0, 5000), (0, 5000), (0, 3)) == [5000, 5000, 3]


def test_batches_larger_than_a_message_are_cut() -> None:
    flush_policy = FlushPolicy(size_bytes=8 * 1_000)  # a row has 8 bytes
    assert sizes_of((0, 3_500), (0, 10), flush_policy=flush_policy) == [875, 875, 875, 875, 10]


def test_memory_is_released_after_streams_end_at_most_once_a_second() -> None:
    released: list[float] = []
    slots = StreamSlots(
        max_streams=9, deadline_s=60, release=lambda: released.append(time.monotonic())
    )
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        with slots.taken(lambda: None):
            time.sleep(0.01)
    wait_until(lambda: slots._watchdog is None, within_s=3.0)
    assert 1 <= len(released) <= 3
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(released))


@pytest.fixture
def slow(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[RunningServer, Slowness]:
    write_slow_table(tmp_path / "lake")
    server = start(roots=(f"lake={tmp_path / 'lake'}",), max_streams=3, deadline_s=30.0)
    server.service.describe(make_request("lake/slow"))  # from here on, the snapshot is cached
    return server, Slowness(monkeypatch, seconds=0.02)


def flight_of(server: RunningServer) -> Connection:
    return Connection(f"grpc://127.0.0.1:{server.flight_port}")


def test_closing_the_client_stops_the_scan(slow: tuple[RunningServer, Slowness]) -> None:
    server, slowness = slow
    with flight_of(server) as connected:
        batches = connected.table("lake/slow").snapshot().scan().batches()
        next(batches)
        batches.close()
        wait_until(lambda: server.service.slots.running == 0, within_s=1.0)
        reads = slowness.reads
        time.sleep(0.2)
    assert slowness.reads - reads <= 8
    assert slowness.reads < COMMITS


def test_leaving_an_http_response_stops_the_scan(slow: tuple[RunningServer, Slowness]) -> None:
    server, slowness = slow
    url = f"http://127.0.0.1:{server.http_port}/v1/files?table=lake/slow"
    with httpx.stream("GET", url, trust_env=False) as response:
        next(response.iter_lines())
    wait_until(lambda: server.service.slots.running == 0, within_s=1.0)
    time.sleep(0.1)
    reads = slowness.reads
    time.sleep(0.2)
    assert slowness.reads - reads <= 8


def _read_one_and_wait(port: int, started: "multiprocessing.synchronize.Event") -> None:
    connected = Connection(f"grpc://127.0.0.1:{port}")
    batches = connected.table("lake/slow").snapshot().scan().batches()
    next(batches)  # kept in a variable: dropping a reader ends its scan
    started.set()
    time.sleep(60)


def test_a_killed_client_frees_everything_within_a_second(
    slow: tuple[RunningServer, Slowness],
) -> None:
    server, _ = slow
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    client = context.Process(target=_read_one_and_wait, args=(server.flight_port, started))
    client.start()
    assert started.wait(120)
    assert server.service.slots.running == 1
    os.kill(client.pid or 0, signal.SIGKILL)
    client.join()
    wait_until(lambda: server.service.slots.running == 0, within_s=1.0)
    wait_until(lambda: not _scan_threads(), within_s=1.0)


def _scan_threads() -> list[str]:
    names = ("headrace-serve", "headrace-scan")
    return [thread.name for thread in threading.enumerate() if thread.name in names]


def test_more_streams_than_slots_are_refused(slow: tuple[RunningServer, Slowness]) -> None:
    server, _ = slow
    with flight_of(server) as connected:
        scan = connected.table("lake/slow").snapshot().scan()
        streams = [scan.batches() for _ in range(3)]
        for batches in streams:
            next(batches)
        with pytest.raises(ServerBusyError):
            next(scan.batches())
        url = f"http://127.0.0.1:{server.http_port}/v1/files?table=lake/slow"
        response = httpx.get(url, trust_env=False)
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        for batches in streams:
            batches.close()
        wait_until(lambda: server.service.slots.running == 0, within_s=1.0)
        batches = scan.batches()
        assert next(batches).num_rows
        batches.close()


def test_a_stream_ends_at_its_deadline(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_slow_table(tmp_path / "lake")
    server = start(roots=(f"lake={tmp_path / 'lake'}",), deadline_s=0.5)
    server.service.describe(make_request("lake/slow"))
    Slowness(monkeypatch, seconds=0.02)
    with flight_of(server) as connected:
        scan = connected.table("lake/slow").snapshot().scan()
        began = time.monotonic()
        with pytest.raises(DeadlineExceededError):
            list(scan)
        assert 0.4 < time.monotonic() - began < 2
        assert scan.outcome is None


def test_a_client_that_reads_nothing_loses_its_slot_at_the_deadline(
    start: Start, tmp_path: Path
) -> None:
    write_slow_table(tmp_path / "lake")
    server = start(roots=(f"lake={tmp_path / 'lake'}",), deadline_s=0.5)
    client = flight.connect(f"grpc://127.0.0.1:{server.flight_port}")
    command = make_request("lake/slow").encode()
    info = client.get_flight_info(flight.FlightDescriptor.for_command(command))
    reader = client.do_get(info.endpoints[0].ticket)
    time.sleep(1.0)
    wait_until(lambda: not _scan_threads(), within_s=1.0)
    reader.cancel()
    client.close()


def test_a_failure_in_the_middle_is_reported_and_is_not_the_end(
    start: Start, tmp_path: Path
) -> None:
    table = write_slow_table(tmp_path / "lake")
    server = start(roots=(f"lake={tmp_path / 'lake'}",))
    with flight_of(server) as connected:
        snapshot = connected.table("lake/slow").snapshot()
        (table / "_delta_log" / f"{5:020}.json").write_text("not json\n")
        files = iter(snapshot.scan())
        assert next(files).path == f"f{COMMITS - 1}"
        with pytest.raises(HeadraceError):
            list(files)
    place = f"table=lake/slow&version={COMMITS}"
    url = f"http://127.0.0.1:{server.http_port}/v1/files?{place}"
    response = httpx.get(url, trust_env=False)
    assert '"$error"' in response.text.splitlines()[-1]
    assert '"$outcome"' not in response.text
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(url, headers={"accept": "application/vnd.apache.arrow.stream"}, trust_env=False)


def test_a_leaf_lost_in_the_middle_is_reported_and_is_not_the_end(
    start: Start, lake: Path, tmp_path: Path
) -> None:
    table = tmp_path / "lake" / "events"
    shutil.copytree(lake / "events", table)
    server = start(roots=(f"lake={tmp_path / 'lake'}",))
    with flight_of(server) as connected:
        scan = connected.table("lake/events").snapshot().scan(strategy="reverse")
        for old in (table / "_delta_log").glob(f"{0:018}[01]*"):  # so that no older base exists
            old.unlink()
        for leaf in (table / "_delta_log").glob("*.checkpoint*.parquet"):
            leaf.unlink()
        files = iter(scan)
        assert next(files).path  # a file of a commit after the checkpoint
        with pytest.raises(HeadraceError):
            list(files)
        assert scan.outcome is None


def test_draining_lets_streams_end_and_refuses_new_ones(
    slow: tuple[RunningServer, Slowness],
) -> None:
    server, _ = slow
    with flight_of(server) as connected:
        snapshot = connected.table("lake/slow").snapshot()
        batches = snapshot.scan(limit=60).batches()
        files = next(batches).num_rows
        draining = threading.Thread(target=server.drain)
        draining.start()
        wait_until(lambda: server.service.slots.is_draining, within_s=1.0)
        assert (
            httpx.get(f"http://127.0.0.1:{server.http_port}/readyz", trust_env=False).status_code
            == 503
        )
        with pytest.raises(ServerDrainingError):
            snapshot.scan()
        files += sum(batch.num_rows for batch in batches)
        draining.join(10)
    assert files == 60
    assert not draining.is_alive()


def test_workers_share_http_have_their_own_flight_ports_and_end_with_sigterm(lake: Path) -> None:
    port = 20_000 + 3 * (os.getpid() % 4_000)
    words = ["--root", f"lake={lake}", "--listen", f"127.0.0.1:{port}", "--access-log"]
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace", "serve", *words, "--workers", "2", "--drain", "5"],
        stderr=subprocess.PIPE,
        text=True,
    )
    tickets = []
    try:
        for flight_port in (port + 1, port + 2):
            with Connection(f"grpc://127.0.0.1:{flight_port}") as connected:
                wait_until(connected.is_ready, within_s=120.0)
                scan = connected.table("lake/events").snapshot().scan()
                assert scan.count() == 156
                tickets.append(scan._info.endpoints[0].ticket)
        with Connection(f"grpc://127.0.0.1:{port + 2}") as other:
            batches = RemoteBatches(other, tickets[:1])  # tickets from the first worker
            assert sum(batch.num_rows for batch in batches) == 156
        with Connection(f"http://127.0.0.1:{port}") as connection:
            assert connection.location.endswith((f":{port + 1}", f":{port + 2}"))
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        _, text = process.communicate(timeout=60)
    assert process.returncode == 0, text
    assert '"method":"DoGet"' in text
    assert "where" not in text


@pytest.mark.parametrize("victim", ["worker", "parent"])
def test_workers_end_together(lake: Path, victim: str) -> None:
    starts = range(8_000 + 3 * (os.getpid() % 3_000), 20_000, 3)  # below the ephemeral ports
    port = next(start for start in starts if not any(map(_listens, range(start, start + 3))))
    words = ["--root", f"lake={lake}", "--listen", f"127.0.0.1:{port}", "--access-log"]
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace", "serve", *words, "--workers", "2", "--drain", "1"],
        stderr=subprocess.DEVNULL,
    )
    try:
        for flight_port in (port + 1, port + 2):
            with Connection(f"grpc://127.0.0.1:{flight_port}") as connected:
                wait_until(connected.is_ready, within_s=120.0)
        killed = process.pid if victim == "parent" else _worker_of(process.pid)
        os.kill(killed, signal.SIGKILL)
        assert process.wait(30) != 0
        wait_until(lambda: not any(map(_listens, (port, port + 1, port + 2))), within_s=20.0)
    finally:
        process.kill()


def _worker_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    commands = {int(child): Path(f"/proc/{child}/cmdline").read_text() for child in children}
    return next(child for child, command in commands.items() if "spawn_main" in command)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
