"""How long it takes to plan a project, and how that grows with its size.

    python -m benchmarks.pipeline_plan --views 250 500 1000

Every project has a hundred functions and an expression fifty levels deep. The shapes are those that
could slow down a planner: a long chain of inlined views, each view joined with itself, a web of
views of which some are materialised, and independent views. First, the 22 TPC-H queries are
planned: they must take less than a second of wall time.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from examples.tpch.lake import make_lake
from headrace.pipeline import Project

TPCH = Path(__file__).parents[1] / "examples" / "tpch"
TPCH_TARGET_S = 1.0
TPCH_REPEATS = 5
FUNCTIONS = 100
DEPTH = 50

Shape = Callable[[int], str]


def chain(number: int) -> str:
    """Each view reads the previous one."""
    return f"SELECT id, v + 1 AS v, s FROM {view(number - 1)} WHERE id > 2"


def doubled(number: int) -> str:
    """Each view joins the previous one with itself."""
    before = view(number - 1)
    return f"SELECT a.id, a.v + b.v AS v, a.s FROM {before} a JOIN {before} b ON a.id = b.id"


def web(number: int) -> str:
    """Each view joins two others; every fifth is materialised."""
    header = "-- @materialise output\n" if number % 5 == 0 else ""
    left, right = view(number // 2), view(max(0, number - 7))
    return (
        f"{header}SELECT a.id, sum(a.v) AS v, max(a.s) AS s FROM {left} a JOIN {right} b "
        "ON a.id = b.id GROUP BY a.id"
    )


def independent(number: int) -> str:
    """Each view reads the source and calls a function."""
    called = number % FUNCTIONS
    return f"SELECT id, f{called:03}(v) AS v, s FROM t WHERE id > {number}"


SHAPES: dict[str, Shape] = {
    "chain": chain,
    "doubled": doubled,
    "web": web,
    "independent": independent,
}


def view(number: int) -> str:
    return f"v{number:05}"


def write_project(root: Path, shape: Shape, views: int) -> Path:
    (root / "views").mkdir(parents=True)
    rows = {"id": [1, 2], "v": [1, 2], "s": ["a", "b"]}
    write_deltalake(root / "lake" / "t", pa.table(rows))
    (root / "headrace.toml").write_text('[project]\nname = "b"\n[sources.t]\nuri = "lake/t"\n')
    functions = [
        f'@function("BIGINT", returns="BIGINT")\ndef f{i:03}(x):\n    return pc.add(x, {i})\n'
        for i in range(FUNCTIONS)
    ]
    head = "import pyarrow.compute as pc\nfrom headrace.pipeline import function\n\n"
    (root / "functions.py").write_text(head + "\n\n".join(functions))
    deep = "v"
    for level in range(DEPTH):
        deep = f"({deep} + {level})"
    for number in range(views):
        sql = f"SELECT id, {deep} AS v, s FROM t WHERE id > 3" if not number else shape(number)
        (root / "views" / f"{view(number)}.sql").write_text(sql + "\n")
    return root


def plan_seconds(root: Path) -> float:
    """Return the CPU seconds of loading and planning a project."""
    start = time.process_time()
    bundle = Project.load(root).plan()
    unplanned = [v.unplanned for v in bundle.views.values() if v.unplanned]
    assert not unplanned, unplanned[0]
    return time.process_time() - start


def plan_tpch() -> bool:
    """Plan the TPC-H queries several times; return whether the fastest was fast enough."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tpch"
        shutil.copytree(TPCH, root, ignore=shutil.ignore_patterns("lake", "__pycache__"))
        make_lake(root / "lake", scale=0.01)
        times = []
        for _ in range(TPCH_REPEATS):
            start, work = time.perf_counter(), time.process_time()
            bundle = Project.load(root).plan()
            times.append((time.perf_counter() - start, time.process_time() - work))
    wall_s, cpu_s = map(min, zip(*times, strict=True))
    is_met = bool(wall_s < TPCH_TARGET_S)
    print(
        f"{len(bundle.views)} queries of TPC-H: {wall_s:.2f} s, {cpu_s:.2f} s of CPU, the least of "
        f"{TPCH_REPEATS} (target {TPCH_TARGET_S:g} s: {'met' if is_met else 'missed'})\n"
    )
    return is_met


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how planning grows with a project.")
    parser.add_argument("--views", type=int, nargs="+", default=[250, 500, 1000])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    options = parser.parse_args()
    is_met = plan_tpch()
    print(f"{'shape':<10}{'views':>7}{'cpu s':>9}{'ms/view':>9}{'growth':>9}")
    for name in options.shapes:
        first = None
        for views in options.views:
            with tempfile.TemporaryDirectory() as folder:
                root = write_project(Path(folder) / "project", SHAPES[name], views)
                seconds = plan_seconds(root)
            each = 1000 * seconds / views
            first = first or each
            print(
                f"{name:<10}{views:>7}{seconds:>9.2f}{each:>9.2f}{each / first:>9.2f}", flush=True
            )
    if not is_met:
        sys.exit(1)


if __name__ == "__main__":
    main()
