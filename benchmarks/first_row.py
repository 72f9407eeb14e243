"""Time to the first rows of a LIMIT query on a table of very many files.

The log has a checkpoint of many files and the commits after it. One more commit adds a day of data,
and only its files exist. The query asks for some rows of that day: every contestant can find its
files by the partition, and none has to open a file that does not exist. Each answer comes from a
separate process and is checked; neither imports nor the start of Spark are counted.

`--spark-delta` takes the Python of an environment that has PySpark and can load Spark's own Delta
(`make spark-delta` creates one: `.venv/spark-delta/bin/python`); `HEADRACE_SPARK_DELTA` names the
package.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.checkpoint import VERSION
from benchmarks.lake import ROOT, bench_folder, open_lake
from benchmarks.measurement import warm_page_cache
from benchmarks.parameter import Parameters
from benchmarks.process import cpu_s, tree_peak_bytes

DAY = "2031-01-01"
WHERE = f"date = '{DAY}'"
LIMIT = 10
DATA_FILES = 8
ROWS_A_FILE = 50_000
_WORKER = "from benchmarks.first_row import answer; answer()"


def headrace_rows(table: str) -> Callable[[], pa.Table]:
    """Newest first: the commit with the answer is the first to be read."""
    import headrace  # noqa: PLC0415

    # Lazy imports happen before the clock starts.
    late = ("rows.open", "expr.bind", "expr.parse", "engines.arrow.columnar", "scan.arrow_files")
    for module in late:
        importlib.import_module(f"headrace.{module}")
    return lambda: headrace.Table(table).snapshot().rows(where=WHERE, limit=LIMIT).read_all()


def deltalake_sql(table: str) -> Callable[[], pa.Table]:
    """delta-rs, with its built-in query engine."""
    from deltalake import DeltaTable, QueryBuilder  # noqa: PLC0415

    sql = f"SELECT * FROM t WHERE {WHERE} LIMIT {LIMIT}"
    return lambda: pa.table(QueryBuilder().register("t", DeltaTable(table)).execute(sql).read_all())


def polars_scan(table: str) -> Callable[[], pa.Table]:
    """The lazy scan of polars, over delta-rs."""
    import polars as pl  # noqa: PLC0415

    day = pl.lit(DAY).str.to_date()

    def ask() -> pa.Table:
        return pl.scan_delta(table).filter(pl.col("date") == day).head(LIMIT).collect().to_arrow()

    return ask


def spark_delta(table: str) -> Callable[[], pa.Table]:
    """Spark with its own Delta, started and warm."""
    import headrace.spark  # noqa: PLC0415

    settings: dict[str, Any] = {
        "spark.jars.packages": os.environ["HEADRACE_SPARK_DELTA"],
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    }
    spark = headrace.spark.local(memory="2g", **settings)
    spark.range(1).toArrow()
    return lambda: spark.read.format("delta").load(table).where(WHERE).limit(LIMIT).toArrow()


CONTESTANTS: dict[str, Callable[[str], Callable[[], pa.Table]]] = {
    "headrace": headrace_rows,
    "deltalake": deltalake_sql,
    "polars": polars_scan,
    "spark-delta": spark_delta,
}


def open_table(files: int, *, below: Path | None = None, **shape: Any) -> Path:
    """Return the table, creating it if needed."""
    lake = open_lake(Parameters(files=files, **shape), below=below)
    folder = (below or bench_folder()) / f"first-row-{lake.table.parent.name}"
    if folder.exists():
        return folder
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(lake.table, unfinished, copy_function=_link)
    commits = Parameters(files=files, **shape).commits
    lines = [_add_file(unfinished, number) for number in range(DATA_FILES)]
    newest = unfinished / "_delta_log" / f"{VERSION + 1 + commits:020}.json"
    newest.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    unfinished.rename(folder)
    return folder


def _add_file(table: Path, number: int) -> dict[str, Any]:
    first = number * ROWS_A_FILE
    ids = range(first, first + ROWS_A_FILE)
    times = pa.array([1_924_992_000_000_000 + i for i in ids], pa.timestamp("us", "UTC"))
    rows = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "ts": times,
            "amount": [float(i) for i in ids],
            "name": [f"name-{i}" for i in ids],
        }
    )
    path = f"date={DAY}/region=eu/part-{number}.parquet"
    (table / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, table / path)
    return {
        "add": {
            "path": path,
            "partitionValues": {"date": DAY, "region": "eu"},
            "size": (table / path).stat().st_size,
            "modificationTime": 1_924_992_000_000,
            "dataChange": True,
            "stats": json.dumps({"numRecords": ROWS_A_FILE}),
        }
    }


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def check(answer_rows: pa.Table) -> None:
    """Raise an error unless these are the requested rows of that day, each as it was written."""
    rows = answer_rows.select(["id", "amount", "name", "date"]).to_pylist()
    ids = {row["id"] for row in rows}
    right = all(
        row["amount"] == row["id"]
        and row["name"] == f"name-{row['id']}"
        and str(row["date"]) == DAY
        and 0 <= row["id"] < DATA_FILES * ROWS_A_FILE
        for row in rows
    )
    if len(rows) != LIMIT or len(ids) != LIMIT or not right:
        raise SystemExit(f"wrong rows: {rows}")


def answer() -> None:
    """In a separate process: query once, check, and report the cost, child processes included."""
    contestant, table = sys.argv[1:]
    ask = CONTESTANTS[contestant](table)
    idle_bytes, started, cpu_before_s = tree_peak_bytes(), time.monotonic(), cpu_s()
    rows = ask()
    took = {"seconds": time.monotonic() - started, "cpu": cpu_s() - cpu_before_s}
    peak_bytes = tree_peak_bytes()
    took |= {"peak_mb": peak_bytes / 1e6, "over_idle_mb": (peak_bytes - idle_bytes) / 1e6}
    check(rows)
    print(json.dumps(took))


def sample(contestant: str, table: Path, *, python: str = sys.executable) -> dict[str, float]:
    """Measure once."""
    result = subprocess.run(
        [python, "-c", _WORKER, contestant, str(table)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise SystemExit(f"{contestant}:\n{result.stderr}")
    report: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return report


def main() -> None:
    """Measure the time to the first rows, and compare it with the peers."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.first_row", description=main.__doc__
    )
    parser.add_argument("--files", type=int, default=1_000_000, help="files in the checkpoint")
    parser.add_argument("--repeats", type=int, default=3, help="samples; the least counts")
    parser.add_argument("--spark-delta", metavar="PYTHON", help="measure Spark's own Delta too")
    chosen = parser.parse_args()
    table = open_table(chosen.files)
    warm_page_cache(table)
    contestants = [name for name in CONTESTANTS if importlib.util.find_spec(name) is not None]
    present = dict.fromkeys(contestants, sys.executable)
    if chosen.spark_delta:
        present["spark-delta"] = chosen.spark_delta
    best: dict[str, dict[str, float]] = {}
    for _ in range(chosen.repeats):
        for name, python in present.items():
            took = sample(name, table, python=python)
            best[name] = {key: min(value, best.get(name, took)[key]) for key, value in took.items()}
    print(f"LIMIT {LIMIT} on {chosen.files:,} files, the least of {chosen.repeats}:\n")
    print("| | time to the rows | x | CPU | peak memory | over idle |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, took in best.items():
        ratio = took["seconds"] / best["headrace"]["seconds"]
        print(
            f"| {name} | {took['seconds'] * 1000:,.0f} ms | {ratio:,.1f} "
            f"| {took['cpu'] * 1000:,.0f} ms | {took['peak_mb']:,.0f} MB "
            f"| {took['over_idle_mb']:,.0f} MB |"
        )
    for name in CONTESTANTS.keys() - present.keys():
        print(f"\n{name} is not at hand.")


if __name__ == "__main__":
    main()
