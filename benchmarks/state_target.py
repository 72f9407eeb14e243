"""The absolute targets of the state's design that concern whole tables.

`python -m benchmarks.state_target`

Ten manifests in parallel, the memory of reading 100,000 files, a state on a slow store, and the
changes of the newest version of a large table. Each runs in a separate process, and answers are
checked. Wall times depend on how busy the machine is, so CPU times are printed, too.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.remote import BUCKET, slow_store
from benchmarks.slow_store import depth
from benchmarks.state_read import write_table
from headrace.maintain.writer import StateWriter
from headrace.storage.local import LocalStore

_HEAD = """
import json, sys, time
def peak_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
before = peak_mb()
import headrace
from headrace.engines.arrow import columnar
imported = peak_mb()
start, cpu = time.perf_counter(), time.process_time()
"""
_TAIL = """
wall_ms, cpu_ms = (time.perf_counter() - start) * 1000, (time.process_time() - cpu) * 1000
memory = {"grown_mb": peak_mb() - before, "read_mb": peak_mb() - imported}
print(json.dumps({"count": count, "wall_ms": wall_ms, "cpu_ms": cpu_ms, **memory}))
"""
_READ = """
scan = headrace.Table(sys.argv[1]).snapshot().scan()
count = sum(batch.num_rows for batch in scan.batches())
"""
_CHANGES = """
table = headrace.Table(sys.argv[1])
count = len(list(table.changes(2, 2)))
"""


def run(body: str, table: str, expected: int, *, more: dict[str, str] | None = None) -> Any:
    """Run a script, and check its count."""
    result = subprocess.run(
        [sys.executable, "-c", _HEAD + body + _TAIL, table],
        env=os.environ | (more or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise SystemExit(result.stderr)
    report = json.loads(result.stdout)
    if report["count"] != expected:
        raise SystemExit(f"{report['count']} is not {expected}")
    return report


def _line(title: str, report: Any, target: str) -> None:
    print(
        f"  {title:34} {report['wall_ms']:8.1f} ms, processor {report['cpu_ms']:8.1f} ms ({target})"
    )


def measure_parallel(folder: Path) -> None:
    """Read ten manifests of a state in parallel."""
    table = folder / "ten"
    write_table(table, 20_000, manifest_entries=2_000)
    _line("ten manifests of 2,000 entries", run(_READ, str(table), 20_000), "design: 200 ms")


def measure_memory(folder: Path) -> None:
    """Measure the peak memory of a process that reads 100,000 entries."""
    table = folder / "memory"
    write_table(table, 100_000)
    report = run(_READ, str(table), 100_000)
    _line("100,000 entries", report, "design: 700 ms")
    grown, read = report["grown_mb"], report["read_mb"]
    print(f"    {grown:.1f} MB above the interpreter, {read:.1f} MB of the read (design: 500 MB)")


def measure_slow_store(folder: Path) -> None:
    """Read a state of 70,000 entries from a store with 50 ms per request."""
    bucket = folder / BUCKET
    write_table(bucket / "table", 70_000)
    with slow_store(bucket, delay_ms=50, megabytes_per_second=100) as server:
        server.log()
        report = run(_READ, f"s3://{BUCKET}/table", 70_000, more=server.environment)
        rounds = depth(server.log())
    _line("70,000 entries on the slow store", report, f"design: 2 s; {rounds} round trips")


def measure_changes(folder: Path) -> None:
    """Read the changes of the newest of two versions, in a table of 200,000 files."""
    table = folder / "changes"
    write_table(table, 200_000)
    adds = [{"path": f"new-{n}", "size": 1, "partitionValues": {"part": "p0"}} for n in range(100)]
    StateWriter(LocalStore(str(table))).commit(adds)
    _line("100 changes of 200,000 files", run(_CHANGES, str(table), 100), "no target")


def main() -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as name:
        for measure in (measure_parallel, measure_memory, measure_slow_store, measure_changes):
            measure(Path(name))


if __name__ == "__main__":
    main()
