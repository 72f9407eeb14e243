"""Every type change that Delta allows, at every depth, in one table of two rows."""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tests.lake.action import add
from tests.lake.log import write_commit
from tests.rows.lake import array, field, mapping, struct, table_lines, write_data


class Widening(NamedTuple):
    """A type change: the values that old files hold, and the values that a reader returns."""

    before: str
    after: str
    stored: pa.DataType
    values: tuple[Any, Any]
    text: str
    """The first value as the log spells it, for a partition column."""
    read: tuple[Any, Any]


def _integer(before: str, after: str, bits: int, read: type) -> Widening:
    values = (7, -(2 ** (bits - 1)))
    kinds = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
    return Widening(before, after, kinds[bits], values, "7", (read(7), read(values[1])))


def _decimal(after: str) -> Widening:
    values = (Decimal("1.25"), Decimal("-999.99"))
    return Widening("decimal(5,2)", after, pa.decimal128(5, 2), values, "1.25", values)


WIDENINGS = [
    _integer("byte", "short", 8, int),
    _integer("byte", "integer", 8, int),
    _integer("byte", "long", 8, int),
    _integer("byte", "double", 8, float),
    _integer("byte", "decimal(10,0)", 8, Decimal),
    _integer("short", "integer", 16, int),
    _integer("short", "long", 16, int),
    _integer("short", "double", 16, float),
    _integer("short", "decimal(12,2)", 16, Decimal),
    _integer("integer", "long", 32, int),
    _integer("integer", "double", 32, float),
    _integer("integer", "decimal(10,0)", 32, Decimal),
    _integer("integer", "decimal(20,5)", 32, Decimal),
    _integer("long", "decimal(20,0)", 64, Decimal),
    _integer("long", "decimal(38,10)", 64, Decimal),
    Widening("float", "double", pa.float32(), (0.5, -1.25), "0.5", (0.5, -1.25)),
    Widening(
        "date",
        "timestamp_ntz",
        pa.date32(),
        (date(2020, 1, 2), date(1, 1, 1)),
        "2020-01-02",
        (datetime(2020, 1, 2), datetime(1, 1, 1)),  # noqa: DTZ001
    ),
    _decimal("decimal(7,2)"),
    _decimal("decimal(20,4)"),
    _decimal("decimal(38,10)"),
]


def widened_table(table: Path) -> list[dict[str, Any]]:
    """Write the table, and return the rows that a reader must return."""
    fields: list[dict[str, Any]] = []
    stored: dict[str, pa.Array] = {}
    expected: list[dict[str, Any]] = [{}, {}]
    for number, w in enumerate(WIDENINGS):
        for shape in (_flat, _member, _element, _entry):
            name = f"{shape.__name__.strip('_')}_{number}"
            written, kind, values, read = shape(w)
            fields.append(written | {"name": name})
            stored[name] = pa.array(values, kind)
            for row, value in zip(expected, read, strict=True):
                row[name] = value
    lines = table_lines(fields)
    path = write_data(table, "old.parquet", pa.table(stored))
    write_commit(table, 0, [*lines, add(path, size=(table / path).stat().st_size)])
    return expected


def widened_partitions(table: Path) -> list[dict[str, Any]]:
    """Write a table partitioned by every widened column, and return the expected rows."""
    named = {f"p{number}": w for number, w in enumerate(WIDENINGS)}
    fields = [field(name, w.after, metadata=_changes(w)) for name, w in named.items()]
    lines = table_lines([field("id", "long"), *fields], partition_columns=list(named))
    path = write_data(table, "old.parquet", pa.table({"id": [1]}))
    texts = {name: w.text for name, w in named.items()}
    size = (table / path).stat().st_size
    write_commit(table, 0, [*lines, add(path, size=size, partition_values=texts)])
    return [{"id": 1, **{name: w.read[0] for name, w in named.items()}}]


def _changes(w: Widening, *paths: str) -> dict[str, Any]:
    change = {"fromType": w.before, "toType": w.after}
    changes = [change | {"fieldPath": path} for path in paths] or [change]
    return {"delta.typeChanges": changes}


def _flat(w: Widening) -> tuple[Any, ...]:
    return field("", w.after, metadata=_changes(w)), w.stored, w.values, w.read


def _member(w: Widening) -> tuple[Any, ...]:
    kind = struct(field("x", w.after, metadata=_changes(w)))
    values = [{"x": value} for value in w.values]
    return field("", kind), pa.struct([("x", w.stored)]), values, [{"x": v} for v in w.read]


def _element(w: Widening) -> tuple[Any, ...]:
    written = field("", array(w.after), metadata=_changes(w, "element"))
    values, read = ([[value, None] for value in column] for column in (w.values, w.read))
    return written, pa.list_(w.stored), values, read


def _entry(w: Widening) -> tuple[Any, ...]:
    written = field("", mapping(w.after, w.after), metadata=_changes(w, "key", "value"))
    values, read = ([[(value, value)] for value in column] for column in (w.values, w.read))
    return written, pa.map_(w.stored, w.stored), values, read
