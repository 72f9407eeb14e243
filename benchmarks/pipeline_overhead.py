"""The cost of a pinned run over hand-written PySpark: the 22 TPC-H queries, on the same files.

Both sides read the same files in the same session, run the same SQL and write their results.
Headrace also plans, pins and prunes, digests the rows it wrote, commits them to Delta tables and
records the run. The sides alternate, and the ratio of each pair counts; the answers of the last
pair are compared row by row.
"""

import argparse
import math
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import headrace
import headrace.spark
from benchmarks.lake import bench_folder
from examples.tpch.lake import make_lake
from headrace.pipeline import Bundle, Project

TPCH = Path(__file__).parents[1] / "examples" / "tpch"
TARGET = 1.05
PROFILE = "\n[profiles.bench]\nviews_at_once = 1  # as a script does it\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    wall_s: float
    cpu_s: float


def prepare(scale: float) -> Path:
    """Return the project with its lake, which is created once for each scale."""
    root = bench_folder() / f"tpch-{scale:g}"
    if not (root / "lake").exists():
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(TPCH, root, ignore=shutil.ignore_patterns("lake", "__pycache__"))
        manifest = root / "headrace.toml"
        manifest.write_text(manifest.read_text() + PROFILE)
        make_lake(root / "making", scale=scale)
        (root / "making").rename(root / "lake")
    return root


def by_hand(spark: SparkSession, project: Project, bundle: Bundle, out: Path) -> None:
    """Run the views as one would write them without Headrace, given the file names."""
    session = spark.newSession()
    for setting, value in project.profile("bench").spark_settings().items():
        if session.conf.isModifiable(setting):
            session.conf.set(setting, value)
    for name in bundle.order:
        view = bundle[name]
        for unit in view.units:
            folder = project.root / bundle.pins[unit.source].uri
            files = [str(folder / unquote(path)) for path in unit.paths]
            session.read.parquet(*files).createOrReplaceTempView(unit.source)
        session.sql(str(view.sql)).write.mode("overwrite").parquet(str(out / name))


def by_headrace(spark: SparkSession, project: Project) -> None:
    """Run the same views, pinned, checked, committed and recorded."""
    project.run(session=spark, profile="bench", full_refresh=True)


class Clock:
    """Measures wall time and the CPU time of this process and Spark; the latter is less noisy."""

    def __init__(self, spark: SparkSession) -> None:
        jvm = spark.sparkContext._jvm  # noqa: SLF001
        assert jvm is not None
        self._processes = [psutil.Process(), psutil.Process(jvm.ProcessHandle.current().pid())]

    def time(self, work: Callable[[], None]) -> Cost:
        cpu, wall = self._cpu_s(), time.perf_counter()
        work()
        return Cost(wall_s=time.perf_counter() - wall, cpu_s=self._cpu_s() - cpu)

    def _cpu_s(self) -> float:
        times = [process.cpu_times() for process in self._processes]
        return float(sum(process_times.user + process_times.system for process_times in times))


def run_pairs(spark: SparkSession, root: Path, pairs: int) -> list[tuple[Cost, Cost]]:
    """Measure the cost by hand and with Headrace, in pairs; the starting side alternates."""
    project = Project.load(root)
    bundle = project.plan()
    out = root / "by_hand"
    sides: dict[str, Callable[[], None]] = {
        "hand": lambda: by_hand(spark, project, bundle, out),
        "headrace": lambda: by_headrace(spark, project),
    }
    clock = Clock(spark)
    for side in sides.values():  # one-time compilation is not counted
        side()
    pairs_run = []
    for number in range(pairs):
        cost = {name: clock.time(sides[name]) for name in sorted(sides, reverse=number % 2 == 1)}
        hand, ours = cost["hand"], cost["headrace"]
        pairs_run.append((hand, ours))
        print(
            f"pair {number + 1}: by hand {hand.wall_s:.1f} s ({hand.cpu_s:.1f} s of CPU), "
            f"Headrace {ours.wall_s:.1f} s ({ours.cpu_s:.1f} s of CPU)",
            flush=True,
        )
    compare(project, bundle, out)
    return pairs_run


def compare(project: Project, bundle: Bundle, out: Path) -> None:
    """Check that both sides have written the same rows.

    Raises:
        AssertionError: They have not.
    """
    outputs = project.root / project.manifest.project.outputs
    for name in bundle.order:
        ours = headrace.Table(outputs / name).snapshot().rows().read_all()
        theirs = pq.read_table(out / name)
        assert ours.num_rows == theirs.num_rows, name
        for mine, other in zip(rows_of(ours), rows_of(theirs), strict=True):
            assert all(map(is_same, mine, other)), (name, mine, other)
    print(f"the answers of all {len(bundle.order)} queries are the same")


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows sorted, with floats last, as they may differ in the last digit."""
    names = sorted(table.schema.names, key=lambda n: (pa.types.is_floating(table[n].type), n))
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    return sorted(rows, key=lambda row: tuple((value is None, str(value)) for value in row))


def is_same(mine: Any, other: Any) -> bool:
    """Whether two values are equal; floats may differ by the order of addition."""
    if isinstance(mine, float) and isinstance(other, float):
        return math.isclose(mine, other, rel_tol=1e-9)
    return bool(mine == other)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H's scale factor")
    parser.add_argument("--pairs", type=int, default=5, help="how often both sides run")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    root = prepare(options.scale)
    spark = headrace.spark.local(cores=options.cores, memory="2g")
    try:
        pairs = run_pairs(spark, root, options.pairs)
    finally:
        spark.stop()
    for name in ("wall_s", "cpu_s"):
        ratios = [getattr(ours, name) / getattr(hand, name) for hand, ours in pairs]
        median = statistics.median(ratios)
        verdict = "met" if median <= TARGET else "missed"
        print(
            f"{name}: median of {len(ratios)} pairs x {median:.3f} (target {TARGET}: {verdict}), "
            f"least x {min(ratios):.3f}, greatest x {max(ratios):.3f}"
        )


if __name__ == "__main__":
    main()
