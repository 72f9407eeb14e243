"""Hypothesis strategies for tables of rows, written in all the ways that writers may use."""

import string
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from headrace.protocol.arrow_schema import arrow_type
from tests.expr.strategies import COLUMNS, rows
from tests.expr.writer import Habits, habits, partition_text, write_file
from tests.lake.action import Line, add
from tests.lake.vector import absolute_vector, inline_vector, stored_vector
from tests.rows.lake import field, mapped, table_lines

ALL = tuple(COLUMNS)
NARROWER = {
    pa.int64(): [pa.int32(), pa.int16(), pa.int8()],
    pa.int32(): [pa.int16(), pa.int8(), pa.uint8()],
    pa.float64(): [pa.float32(), pa.int32()],
    pa.decimal128(30, 4): [pa.decimal128(10, 2), pa.decimal128(38, 4)],
    pa.string(): [pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.binary()],
    pa.timestamp("us", "UTC"): [pa.timestamp("ms", "UTC"), pa.timestamp("us")],
    pa.timestamp("us"): [pa.timestamp("ms"), pa.date32()],
}
"""Other types in which a file may store the values of a column, if all of them fit."""


@dataclass(frozen=True)
class WrittenFile:
    """A data file: its rows, which of them are deleted, and how it is written."""

    rows: list[dict[str, Any]]
    deleted: frozenset[int]
    vector: str
    habits: Habits
    row_group_size: int
    narrow: bool
    drop_nulls: bool
    order: list[str]
    name: str

    @property
    def visible(self) -> list[dict[str, Any]]:
        return [row for index, row in enumerate(self.rows) if index not in self.deleted]


@dataclass(frozen=True)
class WrittenTable:
    """A table: its files, its partition column, if any, and its column mapping mode."""

    files: list[WrittenFile]
    partition: str | None
    mode: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [row for file in self.files for row in file.visible]


@st.composite
def files(
    draw: st.DrawFn, columns: tuple[str, ...], partition: str | None, least: int
) -> WrittenFile:
    file_rows = draw(st.lists(rows(columns), min_size=least, max_size=8))
    if partition is not None and file_rows:
        shared = file_rows[0][partition] or None if partition == "text" else file_rows[0][partition]
        for row in file_rows:
            row[partition] = shared
    return WrittenFile(
        rows=file_rows,
        deleted=draw(st.frozensets(st.sampled_from(range(len(file_rows)))))
        if file_rows
        else frozenset(),
        vector=draw(st.sampled_from(["none", "inline", "stored", "absolute"])),
        habits=draw(habits),
        row_group_size=draw(st.integers(1, 4)),
        narrow=draw(st.booleans()),
        drop_nulls=draw(st.booleans()),
        order=draw(st.permutations(ALL)),
        name=draw(st.text(string.ascii_letters + " %#?&=ü+:'", min_size=1, max_size=5)),
    )


@st.composite
def tables(draw: st.DrawFn, columns: tuple[str, ...], *, least: int = 0) -> WrittenTable:
    """Draw tables with values in these columns; `least` is the fewest files, and rows in each."""
    partition = draw(st.sampled_from([None, *columns]))
    return WrittenTable(
        files=draw(st.lists(files(columns, partition, least), min_size=least, max_size=3)),
        partition=partition,
        mode=draw(st.sampled_from(["none", "name", "id"])),
    )


def history(table: WrittenTable, folder: Path) -> list[list[Line]]:
    """Write the data files, and return the commits that add them."""
    fields = [
        field(name, str(kind))
        if table.mode == "none"
        else mapped(name, str(kind), physical(table, name), number)
        for number, (name, kind) in enumerate(COLUMNS.items(), start=1)
    ]
    partitions = [] if table.partition is None else [table.partition]
    properties = {"delta.columnMapping.mode": table.mode}
    opening = table_lines(fields, partition_columns=partitions, properties=properties)
    return [opening, *([_add(table, folder, n)] for n in range(len(table.files)))]


def physical(table: WrittenTable, name: str) -> str:
    return name if table.mode == "none" else f"col.{name}"


def _add(table: WrittenTable, folder: Path, number: int) -> Line:
    file = table.files[number]
    path = f"{file.name}{number}.parquet"
    pq.write_table(_arrow(table, file), folder / path, row_group_size=file.row_group_size)
    written = (
        write_file(file.rows, table.partition or "", file.habits, wide=bool(file.deleted))
        if table.partition
        else None
    )
    partition = (
        {}
        if table.partition is None
        else {
            physical(table, table.partition): partition_text(
                file.rows[0][table.partition] if file.rows else None
            )
        }
    )
    stats = written.json if written and table.mode == "none" else None
    return add(
        quote(path), partition_values=partition, stats=stats, vector=_vector(file, folder, number)
    )


def _vector(file: WrittenFile, folder: Path, number: int) -> dict[str, Any] | None:
    match file.vector:
        case "none":
            return inline_vector(file.deleted) if file.deleted else None
        case "inline":
            return inline_vector(file.deleted)
        case "stored":
            return stored_vector(folder, file.deleted, uuid=UUID(int=number), offset=1 + number)
        case _:
            return absolute_vector(folder / "else where", file.deleted, uuid=UUID(int=number))


def _arrow(table: WrittenTable, file: WrittenFile) -> pa.Table:
    arrays, fields = [], []
    for name in file.order:
        values = [row[name] for row in file.rows]
        is_dropped = file.drop_nulls and not any(value is not None for value in values)
        if name == table.partition or is_dropped:
            continue
        column = _fitting(values, arrow_type(COLUMNS[name]), narrow=file.narrow)
        arrays.append(column)
        column_id = str(ALL.index(name) + 1)
        metadata = {"PARQUET:field_id": column_id} if table.mode == "id" else None
        # In id mode, names in the file mean nothing.
        stored = f"any{column_id}" if table.mode == "id" else physical(table, name)
        fields.append(pa.field(stored, column.type, metadata=metadata))
    # A file without columns would not record its number of rows.
    anchor = pa.field("_anchor", pa.int32(), metadata={"PARQUET:field_id": "999"})
    anchors = pa.array([0] * len(file.rows), pa.int32())
    return pa.Table.from_arrays([*arrays, anchors], schema=pa.schema([*fields, anchor]))


def _fitting(values: list[Any], kind: pa.DataType, *, narrow: bool) -> pa.Array:
    """Return the values in the table's type, or in a narrower type that holds them all."""
    whole = pa.array(values, kind)
    for smaller in NARROWER.get(kind, []) if narrow else []:
        try:
            small = whole.cast(smaller)
            if small.cast(kind).equals(whole):
                return small
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return whole
