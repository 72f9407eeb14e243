"""Write tables for Spark to read, and report how Spark read them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

import headrace
from tests.lake.action import Line, add
from tests.lake.log import write_commit
from tests.lake.vector import inline_vector
from tests.rows.lake import field, table_lines

Rows = list[tuple[Any, ...]]


def data_file(
    table: Path,
    name: str,
    data: pa.Table,
    *,
    partition_values: Mapping[str, str | None] | None = None,
    deleted: Sequence[int] = (),
    **options: Any,
) -> Line:
    """Write a data file; return its add action, with statistics of its integer columns."""
    path = table / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data, path, **options)
    return add(
        quote(name),
        size=path.stat().st_size,
        stats=_statistics(data),
        partition_values=partition_values,
        vector=inline_vector(deleted) if deleted else None,
    )


def _statistics(data: pa.Table) -> str:
    known = [n for n, c in zip(data.column_names, data.columns, strict=True) if _has_range(c)]
    extremes = {name: pc.min_max(data[name]).as_py() for name in known}
    return json.dumps(
        {
            "numRecords": data.num_rows,
            "minValues": {name: bounds["min"] for name, bounds in extremes.items()},
            "maxValues": {name: bounds["max"] for name, bounds in extremes.items()},
            "nullCount": {name: data[name].null_count for name in known},
        },
        default=lambda moment: moment.isoformat(),
    )


def _has_range(column: pa.ChunkedArray) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_temporal)
    return len(column) > column.null_count and any(kind(column.type) for kind in kinds)


def numbers(table: Path, *, files: int = 4, rows: int = 10) -> Path:
    """Write a table with one column, `id`; each file has its own range of ids."""
    lines = table_lines([field("id", "long")])
    for number in range(files):
        data = pa.table({"id": range(number * rows, (number + 1) * rows)})
        lines.append(data_file(table, f"{number}.parquet", data))
    write_commit(table, 0, lines)
    return table


def rows_of(frame: DataFrame) -> Rows:
    """Return the rows in an order that does not depend on how they were read."""
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def kernel_rows(table: Path, **request: Any) -> Rows:
    """Return the same rows, read by the embedded reader."""
    table_rows = headrace.Table(table).snapshot().rows(**request).read_all()
    return sorted((tuple(row.values()) for row in table_rows.to_pylist()), key=repr)


def files_read(frame: DataFrame) -> int:
    """Run a query, and return how many files Spark reports to have read for it."""
    frame.collect()
    return sum(
        int(leaf.metrics().apply("numFiles").value())
        for leaf in _leaves(frame)
        if leaf.nodeName().startswith("Scan parquet")
    )


def _leaves(frame: DataFrame) -> list[Any]:
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.nodeName() == "AdaptiveSparkPlan":
        plan = plan.finalPhysicalPlan()
    leaves = plan.collectLeaves()
    return [leaves.apply(index) for index in range(leaves.size())]


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def write_hours(table: Path) -> None:
    """Write a table with the hours of the first day, each in its own file."""
    lines = table_lines([field("at", "timestamp")])
    for hour in range(24):
        moment = pa.array([hour * 3_600_000_000], pa.timestamp("us", "UTC"))
        lines.append(data_file(table, f"{hour}.parquet", pa.table({"at": moment})))
    write_commit(table, 0, lines)
