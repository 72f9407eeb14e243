"""Compare a pinned read on Spark with a bare one of the same files.

Run `python -m benchmarks.spark_read`. Both alternately compute the same aggregate. The pinned read
must be a vectorised scan, cost little more than the bare one, be constructed in a fraction of that
time, and read no file that the kernel has pruned; otherwise the run ends with an error.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import headrace
import headrace.spark
from benchmarks.lake import bench_folder
from benchmarks.process import cpu_s, peak_bytes

ROWS_A_FILE = 2000
PARTITIONS = 100
SCHEMA = "id long, value double, flag int, day int"
AT_MOST = 1.1


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a task: wall time, and CPU time of the JVM and of Python."""

    seconds: float
    cpu_s: float


class Clock:
    """Measures this process and its JVM."""

    def __init__(self, spark: SparkSession) -> None:
        gateway = spark.sparkContext._gateway  # noqa: SLF001
        assert gateway is not None
        self._jvm = int(gateway.jvm.java.lang.ProcessHandle.current().pid())

    def measure(self, work: Callable[[], Any]) -> Cost:
        start, before_s = time.perf_counter(), cpu_s()
        work()
        return Cost(time.perf_counter() - start, cpu_s() - before_s)

    def peak_mb(self) -> dict[str, int]:
        return {"JVM": peak_bytes(self._jvm) >> 20, "Python": peak_bytes(os.getpid()) >> 20}


def make_table(files: int, *, below: Path | None = None) -> Path:
    """Create a table of small files, partitioned by day; each file has its own range of ids."""
    table = (below or bench_folder()) / f"spark-read-{files}"
    log = table / "_delta_log" / f"{0:020}.json"
    if log.exists():
        return table
    log.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    types = [field.split() for field in SCHEMA.split(", ")]
    names = {"int": "integer"}
    fields = [
        {"name": name, "type": names.get(kind, kind), "nullable": True, "metadata": {}}
        for name, kind in types
    ]
    metadata = {
        "id": "b0b7e24e-5f0d-4e0c-9f59-3c1b0d3e1a11",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": ["day"],
        "configuration": {},
    }
    lines: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": metadata},
    ]
    for number in range(files):
        first, day = number * ROWS_A_FILE, number % PARTITIONS
        path = table / f"day={day}" / f"part-{number:06}.parquet"
        path.parent.mkdir(exist_ok=True)
        rows = pa.table(
            {
                "id": np.arange(first, first + ROWS_A_FILE),
                "value": random.random(ROWS_A_FILE),
                "flag": random.integers(0, 9, ROWS_A_FILE, dtype=np.int32),
            }
        )
        pq.write_table(rows, path)
        bounds = {"minValues": {"id": first}, "maxValues": {"id": first + ROWS_A_FILE - 1}}
        add = {
            "path": f"day={day}/{path.name}",
            "partitionValues": {"day": str(day)},
            "size": path.stat().st_size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps({"numRecords": ROWS_A_FILE, **bounds, "nullCount": {"id": 0}}),
        }
        lines.append({"add": add})
    log.write_text("\n".join(map(json.dumps, lines)))
    return table


def aggregate(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("count(*)", "sum(id)", "sum(value)", "max(flag)", "sum(day)")


def scan_metrics(frame: DataFrame) -> dict[str, int]:
    """Return Spark's metrics of a query's only scan; the query must have run."""
    plan = frame._jdf.queryExecution().executedPlan()  # noqa: SLF001
    if plan.nodeName() == "AdaptiveSparkPlan":
        plan = plan.finalPhysicalPlan()
    leaf = plan.collectLeaves().apply(0)
    while leaf.nodeName().endswith("QueryStage"):
        leaf = leaf.plan().collectLeaves().apply(0)
    return {name: int(leaf.metrics().apply(name).value()) for name in ("numFiles", "filesSize")}


def check_pruning(clock: Clock, frame: DataFrame, table: Path, condition: str) -> None:
    """Check that a query reads exactly the files that the kernel keeps."""
    query = aggregate(frame.where(condition))
    cost = clock.measure(query.collect)
    files = list(headrace.Table(table).snapshot().scan(where=condition))
    expected = {"numFiles": len(files), "filesSize": sum(file.size_bytes for file in files)}
    metrics = scan_metrics(query)
    print(f"{condition}: {metrics}, {cost.seconds:.2f} s, {cost.cpu_s:.2f} s of CPU", flush=True)
    assert metrics == expected, f"the kernel keeps {expected}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="2g")
    options = parser.parse_args()
    table = make_table(options.files)
    spark = headrace.spark.local(cores=options.cores, memory=options.memory)
    ratio = compare(spark, table, pairs=options.pairs)
    spark.stop()
    assert ratio <= AT_MOST, f"the pinned read takes more than {AT_MOST} times the CPU of the bare"


def compare(spark: SparkSession, table: Path, *, pairs: int) -> float:
    """Measure both ways; return the CPU time of the pinned read relative to the bare one."""
    clock = Clock(spark)
    frames: dict[str, DataFrame] = {}

    def construct() -> None:
        frames["pinned"] = headrace.spark.read(spark, table)

    def construct_bare() -> None:
        frames["bare"] = spark.read.schema(SCHEMA).parquet(str(table))

    spark.range(1).count()
    for name, work in (
        ("bare", construct_bare),
        ("pinned, first of the JVM", construct),
        ("pinned", construct),
    ):
        cost = clock.measure(work)
        print(f"construct {name}: {cost.seconds:.2f} s, {cost.cpu_s:.2f} s of CPU", flush=True)
    plan = aggregate(frames["pinned"])._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001
    assert "FileScan parquet" in plan, plan
    assert "Batched: true" in plan, plan
    exact = {name: aggregate(frame).collect()[0][:2] for name, frame in frames.items()}
    assert exact["pinned"] == exact["bare"], exact
    costs: dict[str, list[Cost]] = {"bare": [], "pinned": []}
    for pair in range(pairs):
        # The starting side alternates, too.
        for name in sorted(costs, reverse=pair % 2 == 1):
            costs[name].append(clock.measure(aggregate(frames[name]).collect))
    ratios = {
        measure: statistics.median(
            getattr(pinned, measure) / getattr(bare, measure)
            for pinned, bare in zip(costs["pinned"], costs["bare"], strict=True)
        )
        for measure in ("seconds", "cpu_s")
    }
    for name, samples in costs.items():
        seconds = statistics.median(cost.seconds for cost in samples)
        cpu_s = statistics.median(cost.cpu_s for cost in samples)
        print(f"aggregate {name}: {seconds:.2f} s, {cpu_s:.2f} s of CPU")
    print(f"pinned / bare: {ratios['seconds']:.2f} by the clock, {ratios['cpu_s']:.2f} by CPU")
    between = f"id BETWEEN {10 * ROWS_A_FILE + 5} AND {12 * ROWS_A_FILE}"
    for condition in ("day = 42", between, f"day = 3 AND id < {200 * ROWS_A_FILE}"):
        check_pruning(clock, frames["pinned"], table, condition)
    print("peak memory, MB:", clock.peak_mb())
    return float(ratios["cpu_s"])


if __name__ == "__main__":
    main()
