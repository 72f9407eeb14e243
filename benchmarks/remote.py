"""Headrace and deltalake on a slow object store, in one run.

A local server that imitates S3 adds a delay to each request and limits the bandwidth of each
connection (`slow_store`). Each answer comes from a separate process, is checked before its time
counts, and is requested after the imports. Requests and bytes are taken from the store's own log.
Headrace's round trips are counted on another store that has no clock (`round_trip`).

A scan of all files is compared with its two parts: a plain download, which repeats the requests
that Headrace sent, all at once, and decodes nothing; and the same scan of a local disk. It is also
compared with a download that decodes the same columns with pyarrow on the same cores.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.cases import DELTALAKE, HEADRACE
from benchmarks.check import check_answer
from benchmarks.consumption import Consumption
from benchmarks.lake import ROOT, bench_folder, open_lake
from benchmarks.measurement import warm_page_cache
from benchmarks.parameter import Parameters
from benchmarks.question import Ask, Question
from benchmarks.remote_case import (
    CASES,
    DECODE,
    DOWNLOAD,
    HEAD,
    LOCAL,
    Sample,
    describe_throughput,
    missed,
    row,
)
from benchmarks.round_trip import RoundTripStore
from benchmarks.slow_store import LOG, Request, depth
from benchmarks.truth import Truth

RESULTS = ROOT / "benchmarks" / "results" / "remote"
BUCKET = "bench"
AT_ONCE = 64
_WORKER = "from benchmarks.remote import answer; answer()"
_LATE = ("engines.arrow.columnar", "expr.bind", "expr.parse", "scan.arrow_files", "storage.cloud")


def headrace_asks(
    case: str, uri: str, question: Question, *, store: Any = None
) -> Callable[[], Any]:
    """Ask through the public interface, as a user would."""
    import importlib  # noqa: PLC0415

    import headrace  # noqa: PLC0415
    from benchmarks.contestants.headrace_scan import COLUMNS  # noqa: PLC0415

    for module in _LATE:
        importlib.import_module(f"headrace.{module}")
    where = f"date = '{question.date}' AND region = '{question.region}'"

    def snapshot() -> headrace.Snapshot:
        return headrace.Table(uri, store=store).snapshot()

    def partition() -> list[str]:
        batches = snapshot().scan(where).batches(columns=("path",))
        return [path for batch in batches for path in batch.column("path").to_pylist()]

    def consume() -> Consumption:
        stream = Consumption()
        stream.take(iter(snapshot().scan().batches(columns=COLUMNS)))
        return stream

    def limit() -> list[str]:
        return [file.path for file in snapshot().scan(limit=question.limit)]

    asks: dict[str, Callable[[], Any]] = {
        "snapshot": lambda: snapshot().version,
        "partition": partition,
        "count": lambda: snapshot().scan().count(),
        "all": consume,
    }
    return asks.get(case, limit)


def deltalake_asks(case: str, uri: str, question: Question) -> Callable[[], Any]:
    """Ask delta-rs, with the fastest of its interfaces for each answer."""
    import pyarrow as pa  # noqa: PLC0415
    from deltalake import DeltaTable  # noqa: PLC0415

    def limit() -> list[str]:
        actions = pa.table(DeltaTable(uri).get_add_actions())
        paths: list[str] = actions["path"].slice(0, question.limit).to_pylist()
        return paths

    def consume() -> Consumption:
        stream = Consumption()
        stream.take(iter(pa.table(DeltaTable(uri).get_add_actions()).to_batches()))
        return stream

    filters = [("date", "=", question.date), ("region", "=", question.region)]
    asks: dict[str, Callable[[], Any]] = {
        "snapshot": lambda: DeltaTable(uri).version(),
        "partition": lambda: DeltaTable(uri).file_uris(file_pruning_predicate=filters),
        "count": lambda: DeltaTable(uri).get_add_actions().num_rows,
        "all": consume,
    }
    return asks.get(case, limit)


def plain_download(requests: list[Request], port: int) -> Callable[[], int]:
    """Repeat requests, many at once, and discard the responses."""
    fetch = _fetcher(port)

    async def download() -> int:
        turn = asyncio.Semaphore(AT_ONCE)

        async def get(request: Request) -> int:
            async with turn:
                return len(await fetch(request))

        return sum(await asyncio.gather(*(get(r) for r in requests if r.size_bytes)))

    return lambda: asyncio.run(download())


def _fetcher(port: int) -> Callable[[Request], Any]:
    """Return a coroutine that sends a request for an object and returns the content."""
    import obstore  # noqa: PLC0415
    from obstore.store import S3Store  # noqa: PLC0415

    store = S3Store(
        BUCKET,
        endpoint=f"http://127.0.0.1:{port}",
        region="us-east-1",
        skip_signature=True,
        client_options={"allow_http": True},
    )

    async def fetch(request: Request) -> Any:
        return await obstore.get_range_async(
            store, request.path, start=request.start, length=request.size_bytes
        )

    return fetch


def count_rounds(case: str, folder: Path) -> int:
    """Count Headrace's round trips, without a clock."""
    question = _question(case, str(folder), Truth.read(folder))
    with RoundTripStore(folder / "table") as store:
        headrace_asks(case, store.root, question, store=store)()
        return store.rounds


CONTESTANTS = {HEADRACE: headrace_asks, DELTALAKE: deltalake_asks, LOCAL: headrace_asks}


def answer() -> None:
    """In a separate process: ask once, check, and report the cost."""
    contestant, case, folder, port = sys.argv[1:]
    if contestant == DOWNLOAD:
        requests = [Request(**fields) for fields in json.load(sys.stdin)]
        ask: Callable[[], Any] = plain_download(requests, int(port))
    elif contestant == DECODE:
        from benchmarks.plain_decode import PlainDecode  # noqa: PLC0415

        requests = [Request(**fields) for fields in json.load(sys.stdin)]
        [checkpoint] = Path(folder, "table", "_delta_log").glob("*.checkpoint.parquet")
        decode, fetch = PlainDecode(checkpoint, requests), _fetcher(int(port))
        ask = lambda: decode.run(fetch)  # noqa: E731
    else:
        truth = Truth.read(Path(folder))
        question = _question(case, folder, truth)
        table = f"{folder}/table" if contestant == LOCAL else question.table
        ask = CONTESTANTS[contestant](case, table, question)
    started, cpu_s = time.monotonic(), time.process_time()
    answered = ask()
    took = {"seconds": time.monotonic() - started, "cpu_s": time.process_time() - cpu_s}
    if contestant in {DOWNLOAD, DECODE}:
        if answered != sum(request.size_bytes for request in requests):
            raise SystemExit(f"{answered} bytes came")
    elif case == "snapshot":
        newest = max(Path(folder, "table", "_delta_log").glob("*.json")).stem
        if answered != int(newest):
            raise SystemExit(f"version {answered}, not {newest}")
    else:
        check_answer(answered, question, truth)
    print(json.dumps(took), flush=True)
    os._exit(0)  # freeing a table of millions of files takes long


def _question(case: str, folder: str, truth: Truth) -> Question:
    asks = {"partition": Ask.PARTITION, "count": Ask.COUNT, "all": Ask.BATCHES}
    partition = truth.partitions[0]
    return Question(
        ask=asks.get(case, Ask.LIMIT),
        table=f"s3://{BUCKET}/{Path(folder).name}/table",
        limit=100 if case == "limit" else 1,
        date=partition.date,
        region=partition.region,
        below=truth.below,
        threads=0,
    )


class Server:
    """A handle on the slow store."""

    def __init__(self, port: int, *, delay_ms: float) -> None:
        self.port = port
        self.delay_ms = delay_ms
        """The delay of each request."""

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment that directs S3 clients to the store."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def log(self) -> list[Request]:
        """Return the requests since the last call."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{LOG}") as response:
            return [Request(**fields) for fields in json.load(response)]


@contextmanager
def slow_store(folder: Path, *, delay_ms: float, megabytes_per_second: float) -> Iterator[Server]:
    """Serve a folder until the end of the block."""
    command = [sys.executable, "-m", "benchmarks.slow_store", str(folder)]
    command += ["--delay-ms", str(delay_ms), "--megabytes-per-second", str(megabytes_per_second)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield Server(int(server.stdout.readline()), delay_ms=delay_ms)
        finally:
            server.terminate()


def measure(
    contestant: str, case: str, folder: Path, server: Server, *, requests: list[Request]
) -> tuple[Sample, list[Request]]:
    """Measure once, in a separate process; also return its requests to the store."""
    server.log()
    result = subprocess.run(
        [sys.executable, "-c", _WORKER, contestant, case, str(folder), str(server.port)],
        cwd=ROOT,
        env=os.environ | server.environment,
        input=json.dumps([asdict(request) for request in requests]),
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise SystemExit(f"{contestant}, {case}:\n{result.stdout}{result.stderr}")
    took = json.loads(result.stdout.splitlines()[-1])
    sent_requests = server.log()
    sample = Sample(
        **took,
        requests=len(sent_requests),
        bytes=sum(request.size_bytes for request in sent_requests),
        rounds=depth(sent_requests),
    )
    return sample, sent_requests


def measure_cases(
    files: int, server: Server, below: Path, *, repeats: int, only: list[str]
) -> dict[str, dict[str, Sample]]:
    """Return the best sample of each contestant, by case."""
    best: dict[str, dict[str, Sample]] = {}
    for case in CASES:
        left_out = case.most_files is not None and files > case.most_files
        if left_out or (only and case.name not in only):
            continue
        parameters = Parameters(files=files, checksum=case.checksum, writer=case.writer)
        lake = open_lake(parameters, below=below)
        folder = lake.table.parent
        warm_page_cache(lake.table)
        of_case = best[case.name] = {}
        for _ in range(repeats):
            requests: list[Request] = []
            parts = (DOWNLOAD, LOCAL, DECODE) if case.name == "all" else ()
            for contestant in (HEADRACE, DELTALAKE, *parts):
                sample, sent = measure(contestant, case.name, folder, server, requests=requests)
                requests = sent if contestant == HEADRACE else requests
                known = of_case.setdefault(contestant, sample)
                if sample.seconds < known.seconds:
                    of_case[contestant] = sample
        of_case[HEADRACE].rounds = count_rounds(case.name, folder)
        print(row(case, of_case, delay_ms=server.delay_ms), flush=True)
    return best


def main() -> None:
    """Measure on a slow store."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.remote", description=main.__doc__)
    parser.add_argument("--files", type=int, default=1_000_000, help="files in the checkpoint")
    parser.add_argument("--repeats", type=int, default=3, help="samples; the least counts")
    parser.add_argument("--delay-ms", type=float, default=50.0, help="of each request")
    parser.add_argument("--megabytes-per-second", type=float, default=100.0, help="a connection")
    parser.add_argument("--case", action="append", default=[], help="only this one; repeatable")
    chosen = parser.parse_args()
    below = bench_folder()
    below.mkdir(parents=True, exist_ok=True)
    speed = {"delay_ms": chosen.delay_ms, "megabytes_per_second": chosen.megabytes_per_second}
    print(
        f"{chosen.files:,} files, {chosen.delay_ms:g} ms a request, "
        f"{chosen.megabytes_per_second:g} MB/s a connection, the least of {chosen.repeats}:"
        f"\n\n{HEAD}"
    )
    with slow_store(below, **speed) as server:
        best = measure_cases(chosen.files, server, below, repeats=chosen.repeats, only=chosen.case)
    if "all" in best:
        print(f"\n{describe_throughput(best['all'])}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    result = {"files": chosen.files, **speed, "load": os.getloadavg()}
    result["cases"] = {
        case: {name: asdict(sample) for name, sample in of_case.items()}
        for case, of_case in best.items()
    }
    (RESULTS / f"{chosen.files}.json").write_text(json.dumps(result, indent=1) + "\n")
    for target in missed(best):
        print(f"missed: {target}")


if __name__ == "__main__":
    main()
