"""Replay a checkpoint on Spark and embedded, and compare the costs.

    python -m benchmarks.spark_replay --files 2000000

Each way runs in a separate process, whose answer is checked against the truth of the lake: every
path and size. Memory is that of the driver alone: the peak of its Python process, and of the heap
of its JVM, which has a limit. CPU time covers everything: driver, JVM and workers. The share of the
driver's Python is shown separately, since more workers do not reduce it.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import headrace
from benchmarks.lake import ROOT, Lake, open_lake
from benchmarks.measurement import warm_page_cache
from benchmarks.parameter import Layout, Parameters
from benchmarks.process import cpu_s
from benchmarks.truth import Tally

WAYS = ("embedded", "spark", "frame")
_PARTS_OF = 50_000
"""The number of adds per sidecar, about as many as writers use."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_replay", description=__doc__)
    parser.add_argument("--files", type=int, default=2_000_000)
    parser.add_argument("--heap", default="1g", help="the most that the JVM may take")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--way", choices=WAYS, help="only one, in this process")
    chosen = parser.parse_args()
    lakes = [_lake(chosen.files // 4), _lake(chosen.files)]
    if chosen.way:
        print(json.dumps(_measure(chosen.way, lakes[-1], heap=chosen.heap, cores=chosen.cores)))
        return
    print("| way | files | wall | CPU | of it driver | Python peak | heap peak |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for way in WAYS:
        for lake in lakes:
            warm_page_cache(lake.table)
            files = lake.truth.parameters.files
            print(_row(way, files, _in_process(way, files, chosen.heap, chosen.cores)), flush=True)


def _lake(files: int) -> Lake:
    parts = max(1, files // _PARTS_OF)
    return open_lake(Parameters(files=files, layout=Layout.V2, parts=parts))


def _in_process(way: str, files: int, heap: str, cores: int) -> dict[str, Any]:
    words = ["--way", way, "--files", str(files), "--heap", heap, "--cores", str(cores)]
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.spark_replay", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise RuntimeError(result.stderr)
    report: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return report


def _row(way: str, files: int, report: dict[str, Any]) -> str:
    heap = f"{report['heap_mb']:.0f} MB" if report["heap_mb"] else ""
    return (
        f"| {way} | {files:,} | {report['wall_s']:.1f} s | {report['cpu_s']:.1f} s "
        f"| {report['driver_s']:.1f} s | {report['python_mb']:.0f} MB | {heap} |"
    )


def _measure(way: str, lake: Lake, *, heap: str, cores: int) -> dict[str, Any]:
    spark = None
    if way != "embedded":
        import headrace.spark  # noqa: PLC0415  (the embedded engine does not pay for it)

        spark = headrace.spark.local(cores=cores, memory=heap)
        spark.range(1).mapInArrow(lambda batches: batches, "id long").collect()  # starts workers
    cpu_before_s, driver_s, started = cpu_s(), time.process_time(), time.monotonic()
    tally, checking_s = Tally(), 0.0
    if way == "frame":
        assert spark is not None
        tally = _in_spark(spark, lake)
    else:
        for batch in _batches(spark, lake):
            before_s = time.process_time()
            tally.add(batch["path"], batch["size_bytes"].to_numpy())
            checking_s += time.process_time() - before_s
    report = {
        "wall_s": time.monotonic() - started,
        "cpu_s": cpu_s() - cpu_before_s - checking_s,
        "driver_s": time.process_time() - driver_s - checking_s,
        "python_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "heap_mb": None if spark is None else _heap_mb(spark),
    }
    live = lake.truth.live
    expected = live if way != "frame" else Tally(count=live.count, size_bytes=live.size_bytes)
    if tally != expected:
        raise RuntimeError(f"{way} gave {tally}, not {expected}")
    if spark is not None:
        spark.stop()
    return report


def _batches(spark: Any, lake: Lake) -> Iterator[pa.RecordBatch]:
    if spark is None:
        table = headrace.Table(lake.table)
    else:
        table = headrace.spark.open_table(spark, lake.table)
    return table.snapshot().scan().batches()


def _in_spark(spark: Any, lake: Lake) -> Tally:
    """Only count the list, which stays in Spark."""
    frame = headrace.spark.files(spark, lake.table)
    row = frame.selectExpr("count(*)", "sum(size_bytes)", "count(stats)").collect()[0]
    return Tally(count=row[0], size_bytes=row[1])


def _heap_mb(spark: Any) -> float:
    """Return the sum of the heap pools' peaks: an upper bound, garbage included."""
    beans = spark._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()  # noqa: SLF001
    heap = [bean for bean in beans if bean.getType().toString() == "Heap memory"]
    return float(sum(bean.getPeakUsage().getUsed() for bean in heap)) / 1e6


if __name__ == "__main__":
    main()
