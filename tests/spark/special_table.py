"""Write tables with mapped columns, odd partition values or deletion vectors."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.lake.log import write_commit
from tests.rows.lake import field, mapped, struct, table_lines
from tests.spark.lake import data_file


def write_partitions(table: Path, kind: str, texts: list[str | None]) -> Path:
    lines = table_lines([field("p", kind), field("id", "long")], partition_columns=["p"])
    for number, text in enumerate(texts):
        data = pa.table({"id": [number]})
        values = {"p": text}
        lines.append(data_file(table, f"{number}.parquet", data, partition_values=values))
    write_commit(table, 0, lines)
    return table


MAPPED = [
    mapped("id", "long", "col-1", 1),
    mapped("col-1", "string", "col-2", 2),
    mapped("s", struct(mapped("x", "long", "col-4", 4), mapped("y", "string", "x", 5)), "col-3", 3),
    mapped("day part", "date", "col-6", 6),
]


def with_ids(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def mapped_file(table: Path, name: str, names: tuple[str, ...], start: int) -> Any:
    first, second, third, x, y = names
    inner = pa.struct([with_ids(x, pa.int64(), 4), with_ids(y, pa.string(), 5)])
    schema = pa.schema(
        [
            with_ids(first, pa.int64(), 1),
            with_ids(second, pa.string(), 2),
            with_ids(third, inner, 3),
        ]
    )
    rows = range(start, start + 5)
    columns = [
        pa.array(rows, pa.int64()),
        pa.array([f"text {row}" for row in rows]),
        pa.array([None if row % 5 == 4 else {x: 10 * row, y: str(row)} for row in rows], inner),
    ]
    data = pa.Table.from_arrays(columns, schema=schema)
    line = data_file(table, name, data, partition_values={"col-6": f"2026-03-0{1 + start // 5}"})
    bounds = {"minValues": {"col-1": start}, "maxValues": {"col-1": start + 4}}
    line["add"]["stats"] = json.dumps({"numRecords": 5, "nullCount": {"col-1": 0}, **bounds})
    return line


def mapped_table(table: Path, mode: str) -> Path:
    """Write two files in two partitions, with column mapping."""
    names = ("col-1", "col-2", "col-3", "col-4", "x")
    # In id mode, a file may use the names of other columns.
    swapped = ("col-2", "col-1", "third", "x", "col-4") if mode == "id" else names
    properties = {"delta.columnMapping.mode": mode}
    lines = table_lines(MAPPED, partition_columns=["day part"], properties=properties)
    lines.append(mapped_file(table, "a.parquet", names, 0))
    lines.append(mapped_file(table, "b.parquet", swapped, 5))
    write_commit(table, 0, lines)
    return table


DELETED = {1: [0, 3, 9], 2: list(range(10)), 4: [9_999, 0]}


def with_vectors(table: Path) -> Path:
    """Write five files in two partitions; three have deleted rows, and one of them no others."""
    lines = table_lines([field("id", "long"), field("p", "string")], partition_columns=["p"])
    for number in range(5):
        rows = 10_000 if number == 4 else 10
        lines.append(
            data_file(
                table,
                f"{number}.parquet",
                pa.table({"id": range(number * 10, number * 10 + rows)}),
                partition_values={"p": "odd" if number % 2 else "even"},
                deleted=DELETED.get(number, ()),
                row_group_size=1000,
            )
        )
    write_commit(table, 0, lines)
    return table


def partitioned(table: Path) -> Path:
    """Write three days of two cities each, with ten rows per file."""
    fields = [field("id", "long"), field("day", "date"), field("city", "string")]
    lines = table_lines(fields, partition_columns=["day", "city"])
    for day in range(3):
        for number, city in enumerate(("Bern", "Basel")):
            start = 20 * day + 10 * number
            values = {"day": f"2026-03-0{day + 1}", "city": city}
            data = pa.table({"id": range(start, start + 10)})
            name = f"day={values['day']}/city={city}/{start}.parquet"
            lines.append(data_file(table, name, data, partition_values=values))
    write_commit(table, 0, lines)
    return table
