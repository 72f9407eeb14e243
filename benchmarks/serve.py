"""Compare the server with its alternatives, in one run and on one table.

The peers are a Flight server in a few lines over deltalake, which lists all files before it sends
the first; a bare Flight server that only sends the batches of a scan; and one that sends batches
from memory, as the scan returned them and cut to half, which is the size of the server's messages.
The server is measured without its cache of answers, against the scan, and with it, against the
batches in memory. Each server is a separate process. Answers are compared by their number of files.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
from pyarrow import flight

from benchmarks.lake import open_lake
from benchmarks.parameter import Parameters
from benchmarks.process import peak_bytes
from headrace.serve.answer import BATCH_ROWS

COLUMNS = ["path", "size_bytes", "modified_ms", "partition_values"]
CONCURRENT = 8
STALLED = 200
CASES = ["speed", "latency", "stalled", "first"]
WITHOUT_CACHE = ("--answer-cache", "0")

_PEER = """
import sys
import pyarrow as pa
from pyarrow import flight

class Server(flight.FlightServerBase):
    def do_get(self, context, ticket):
        if "{kind}" == "deltalake":
            from deltalake import DeltaTable
            return flight.RecordBatchStream(pa.table(DeltaTable("{table}").get_add_actions()))
        if "{kind}" == "scan":
            scan = snapshot.scan(batch_rows={rows})
            schema = scan.arrow_schema(columns={columns!r})
            return flight.GeneratorStream(schema, scan.batches(columns={columns!r}))
        return flight.GeneratorStream(table.schema, iter(batches))

if "{kind}" in ("bare", "cut"):
    import headrace
    scan = headrace.Table("{table}").snapshot().scan(batch_rows={rows})
    table = pa.Table.from_batches(scan.batches(columns={columns!r}))
    batches = table.to_batches(max_chunksize={rows} // (2 if "{kind}" == "cut" else 1))
if "{kind}" == "scan":
    import headrace
    snapshot = headrace.Table("{table}").snapshot()
server = Server("grpc://127.0.0.1:0")
print(server.port, flush=True)
server.serve()
"""


@dataclass(frozen=True)
class Server:
    """A server process."""

    process: psutil.Process
    port: int
    http_port: int

    def rss(self) -> int:
        size_bytes: int = self.process.memory_info().rss
        return size_bytes

    def cpu_s(self) -> float:
        spent = self.process.cpu_times()
        return float(spent.user + spent.system)

    def peak_mb(self) -> int:
        return peak_bytes(self.process.pid) >> 20


@contextmanager
def process_of(words: list[str]) -> Iterator["subprocess.Popen[str]"]:
    """Run a server in a separate process."""
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


@contextmanager
def headrace_server(table: Path, *options: str) -> Iterator[Server]:
    words = ["-m", "headrace", "serve", "--root", f"t={table}", "--listen", "127.0.0.1:0"]
    with process_of([sys.executable, *words, *options]) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "Flight at" in line, line
        http, flight_port = map(int, re.findall(r"127\.0\.0\.1:(\d+)", line))
        yield Server(psutil.Process(process.pid), flight_port, http)


@contextmanager
def peer_server(kind: str, table: Path) -> Iterator[Server]:
    text = _PEER.format(kind=kind, table=table, columns=COLUMNS, rows=BATCH_ROWS)
    with process_of([sys.executable, "-c", text]) as process:
        assert process.stdout is not None
        yield Server(psutil.Process(process.pid), int(process.stdout.readline()), 0)


def ticket_of(client: flight.FlightClient, **request: Any) -> flight.Ticket:
    """Return the ticket of a request; a peer accepts any ticket."""
    command = json.dumps({"table": "t", "columns": COLUMNS} | request)
    info = client.get_flight_info(flight.FlightDescriptor.for_command(command))
    return info.endpoints[0].ticket


def read(
    port: int, ticket: Callable[[flight.FlightClient], flight.Ticket]
) -> tuple[float, float, int]:
    """Return the time to the first file, the time to the last, and the number of files."""
    client = flight.connect(f"grpc://127.0.0.1:{port}")
    start = time.perf_counter()
    reader = client.do_get(ticket(client))
    files, first_s = 0, 0.0
    while True:
        try:
            chunk = reader.read_chunk()
        except StopIteration:
            break
        if not files:
            first_s = time.perf_counter() - start
        files += chunk.data.num_rows
    taken_s = time.perf_counter() - start
    client.close()
    return first_s, taken_s, files


def any_ticket(_: flight.FlightClient) -> flight.Ticket:
    return flight.Ticket(b"all")


Ticket = Callable[[flight.FlightClient], flight.Ticket]


def measure_turns(times: int, servers: dict[str, tuple[Server, Ticket]]) -> dict[str, Any]:
    """Query several servers alternately and keep the best of each: other work only adds time."""
    tries: dict[str, list[tuple[float, float, int, float, float]]] = {name: [] for name in servers}
    for _ in range(times):
        for name, (server, ticket) in servers.items():
            before = server.cpu_s(), time.process_time()
            first_s, all_s, files = read(server.port, ticket)
            spent = server.cpu_s() - before[0], time.process_time() - before[1]
            tries[name].append((first_s, all_s, files, *spent))
    return {
        name: {
            "first_ms": round(min(t[0] for t in own) * 1e3, 2),
            "all_s": round(min(t[1] for t in own), 3),
            "files": own[0][2],
            "files_per_s": round(own[0][2] / min(t[1] for t in own)),
            "server_cpu_s": round(min(t[3] for t in own), 2),
            "client_cpu_s": round(min(t[4] for t in own), 2),
        }
        for name, own in tries.items()
    }


def first_file_s(port: int, **request: Any) -> float:
    """Return the time from a request to its first file, and cancel the rest."""
    client = flight.connect(f"grpc://127.0.0.1:{port}")
    start = time.perf_counter()
    reader = client.do_get(ticket_of(client, **request))
    while not reader.read_chunk().data.num_rows:
        pass
    taken_s = time.perf_counter() - start
    reader.cancel()
    client.close()
    return taken_s


def measure_latency(table: Path, port: int, *, turns: int = 30) -> dict[str, Any]:
    """Compare the time to the first file, of one file and of all, with the library's, in turns."""
    import headrace  # noqa: PLC0415

    snapshot = headrace.Table(table).snapshot()

    def local_s(limit: int | None) -> float:
        start = time.perf_counter()
        with snapshot.scan(limit=limit, batch_rows=BATCH_ROWS).batches(columns=COLUMNS) as batches:
            next(batches)
            return time.perf_counter() - start

    results: dict[str, Any] = {}
    for name, limit in (("one_file", 1), ("all_files", None)):
        request = {} if limit is None else {"limit": limit}
        tries = [(first_file_s(port, **request), local_s(limit)) for _ in range(turns)]
        remote, library = (statistics.median(times) * 1e3 for times in zip(*tries, strict=True))
        results[name] = {
            "remote_median_ms": round(remote, 2),
            "library_median_ms": round(library, 2),
            "added_ms": round(remote - library, 2),
            "least_remote_ms": round(min(times[0] for times in tries) * 1e3, 2),
            "least_library_ms": round(min(times[1] for times in tries) * 1e3, 2),
            "slowest_remote_ms": round(max(times[0] for times in tries) * 1e3, 2),
        }
    return results


def measure_new_servers(table: Path, *, turns: int = 5) -> dict[str, float]:
    """Measure the first file of the first request to a server, which reads the table's log."""
    times: list[float] = []
    for _ in range(turns):
        with headrace_server(table, *WITHOUT_CACHE) as server:
            times.append(first_file_s(server.port) * 1e3)
    return {"median_ms": round(statistics.median(times), 2), "slowest_ms": round(max(times), 2)}


def compare_latency(table: Path) -> dict[str, Any]:
    """Measure how long after the server has its first file a client has it."""
    with headrace_server(table, *WITHOUT_CACHE) as server:
        first_file_s(server.port)
        results = measure_latency(table, server.port)
    return results | {"new_server": measure_new_servers(table)}


def measure_fairness(port: int) -> dict[str, float]:
    """Run several scans at once: none may starve."""
    times: list[float] = []

    def one() -> None:
        times.append(read(port, ticket_of)[1])

    threads = [threading.Thread(target=one) for _ in range(CONCURRENT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    median = statistics.median(times)
    return {
        "median_s": round(median, 3),
        "slowest_s": round(max(times), 3),
        "ratio": round(max(times) / median, 2),
    }


def measure_stalled(server: Server) -> dict[str, float]:
    """Stall clients after one message; measure their memory, and whether others are served."""
    port, before = server.port, server.rss()
    client = flight.connect(f"grpc://127.0.0.1:{port}")
    readers = []
    for _ in range(STALLED):
        reader = client.do_get(ticket_of(client))
        reader.read_chunk()
        readers.append(reader)
    time.sleep(2)
    held = server.rss()
    time.sleep(5)
    later = server.rss()
    other = read(port, lambda c: ticket_of(c, limit=1))
    for reader in readers:
        reader.cancel()
    start = time.perf_counter()
    client.close()
    while _streams(server.http_port) and time.perf_counter() - start < 30:
        time.sleep(0.01)
    released_s = time.perf_counter() - start
    time.sleep(5)
    return {
        "streams": STALLED,
        "mb_before": before >> 20,
        "mb_stalled": held >> 20,
        "mb_five_seconds_later": later >> 20,
        "mb_a_stream": round((held - before) / STALLED / 2**20, 2),
        "another_client_first_ms": round(other[0] * 1e3, 1),
        "released_after_cancel_s": round(released_s, 2),
        "mb_after": server.rss() >> 20,
    }


def _streams(port: int) -> int:
    """Return the server's number of streams, from its HTTP endpoint."""
    with urlopen(f"http://127.0.0.1:{port}/readyz") as reply:
        streams: int = json.load(reply)["streams"]
    return streams


def compare_speed(table: Path, repeats: int) -> dict[str, Any]:
    """Compare a server with bare Flight servers of the same scan and of batches in memory."""
    with (
        headrace_server(table, *WITHOUT_CACHE) as server,
        headrace_server(table) as caching,
        peer_server("scan", table) as scan,
        peer_server("bare", table) as bare,
        peer_server("cut", table) as cut,
    ):
        for each in (server, caching):
            read(each.port, ticket_of)
        results = measure_turns(
            repeats,
            {
                "headrace": (server, ticket_of),
                "headrace_repeated": (caching, ticket_of),
                "bare_scan": (scan, any_ticket),
                "bare": (bare, any_ticket),
                "bare_cut": (cut, any_ticket),
            },
        )
        results["fairness"] = measure_fairness(server.port)
        results["fairness_repeated"] = measure_fairness(caching.port)
        results["headrace"]["peak_mb"] = server.peak_mb()
        results["headrace_repeated"]["peak_mb"] = caching.peak_mb()
    for ours, peer in (
        ("headrace", "bare_scan"),
        ("headrace", "bare"),
        ("headrace_repeated", "bare"),
        ("headrace_repeated", "bare_cut"),
    ):
        ratio = results[ours]["files_per_s"] / results[peer]["files_per_s"]
        results[f"{ours}_of_{peer}"] = round(ratio, 2)
    scan_cpu_s = max(results["bare_scan"]["server_cpu_s"], 0.01)
    results["cpu_of_bare_scan"] = round(results["headrace"]["server_cpu_s"] / scan_cpu_s, 2)
    return results


def compare_first_requests(table: Path) -> dict[str, Any]:
    """Compare the first request of a process with that over deltalake."""
    results: dict[str, Any] = {}
    with headrace_server(table) as server:
        results |= measure_turns(1, {"headrace_cold": (server, ticket_of)})
        results["headrace_cold"]["peak_mb"] = server.peak_mb()
    with peer_server("deltalake", table) as server:
        results |= measure_turns(1, {"deltalake": (server, any_ticket)})
        results["deltalake"]["peak_mb"] = server.peak_mb()
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--result", type=Path)
    options = parser.parse_args()
    table = open_lake(Parameters(files=options.files)).table
    cases = options.case or CASES
    results: dict[str, Any] = {"files": options.files, "load": round(os.getloadavg()[0], 1)}
    if "speed" in cases:
        results |= compare_speed(table, options.repeats)
    if "latency" in cases:
        results["latency"] = compare_latency(table)
    if "stalled" in cases:
        many = ("--max-streams", "400")
        with headrace_server(table, *many, *WITHOUT_CACHE) as server:
            results["stalled"] = measure_stalled(server)
        with headrace_server(table, *many) as server:
            read(server.port, ticket_of)
            results["stalled_repeated"] = measure_stalled(server)
    if "first" in cases:
        results |= compare_first_requests(table)
    text = json.dumps(results, indent=2)
    print(text)
    if options.result is not None:
        options.result.write_text(text + "\n")


if __name__ == "__main__":
    main()
