"""A case of the type matrix: a file as some writer stores it, and its rows.

The tests read each file in several tables: whole and filtered, with deleted rows, with column
mapping, with widened columns. The documentation page of types lists the same cases.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tests.lake.action import add
from tests.lake.log import write_history
from tests.lake.vector import inline_vector
from tests.rows.lake import field, mapped, table_lines

Row = dict[str, Any]
Field = dict[str, Any]
MOMENT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
FILE = "0.parquet"
JUDGES = ("DuckDB", "polars")
MISMATCH = "PARQUET_COLUMN_DATA_TYPE_MISMATCH"
NO_CODEC = "BrotliCodec was not found"


class Condition(NamedTuple):
    """A condition in SQL with `{column}` for each name, and the rows that it keeps."""

    text: str
    keeps: Callable[[Row], bool]


class Case(NamedTuple):
    """One way in which a writer stores data."""

    group: str
    name: str
    write: Callable[..., None]
    """Takes the path of the file; those of Spark take a session before it."""
    fields: Sequence[Field]
    rows: Sequence[Row]
    conditions: Sequence[Condition] = ()
    judges: Sequence[str] = JUDGES
    """Other readers that can read the file, too."""
    refused_by_arrow: str | None = None
    """Why Headrace's own reader refuses the file, or None if it reads it."""
    refused_by_spark: str | None = None
    """The error of Spark's own Parquet reader, or None if it reads the file."""

    @property
    def title(self) -> str:
        """The case in one line."""
        return f"{self.group}: {self.name}"


FLAT_FIELDS = [
    field("id", "long"),
    field("small", "short"),
    field("whole", "integer"),
    field("single", "float"),
    field("real", "double"),
    field("flag", "boolean"),
    field("text", "string"),
    field("raw", "binary"),
    field("day", "date"),
    field("at", "timestamp"),
    field("wall", "timestamp_ntz"),
    field("money", "decimal(10,2)"),
    field("wei", "decimal(38,4)"),
]
FLAT = pa.table(
    {
        "id": pa.array([0, 1, 2, 3], pa.int64()),
        "small": pa.array([1, None, -(2**15), 2**15 - 1], pa.int16()),
        "whole": pa.array([5, None, -(2**31), 2**31 - 1], pa.int32()),
        "single": pa.array([0.5, None, float("inf"), -0.0], pa.float32()),
        "real": pa.array([0.1, None, 1e300, -0.0], pa.float64()),
        "flag": pa.array([True, None, False, True]),
        "text": pa.array(["a", None, "", "\U0001f600" * 9]),
        "raw": pa.array([b"a", None, b"", b"\xff\x00"]),
        "day": pa.array([date(2026, 3, 1), None, date(1969, 12, 31), date(9999, 12, 31)]),
        "at": pa.array(
            [MOMENT, None, MOMENT.replace(year=1969), MOMENT], pa.timestamp("us", "UTC")
        ),
        "wall": pa.array([MOMENT.replace(tzinfo=None), None] * 2, pa.timestamp("us")),
        "money": pa.array(
            [Decimal("1.25"), None, Decimal("-9.99"), Decimal(0)], pa.decimal128(10, 2)
        ),
        "wei": pa.array(
            [Decimal("1.2500"), None, Decimal(10**30), Decimal(0)], pa.decimal128(38, 4)
        ),
    }
)
FLAT_CONDITIONS = (
    Condition("{id} >= 2 AND {text} IS NOT NULL", lambda row: row["id"] >= 2),
    Condition("{text} = 'a' OR {whole} < 0", lambda row: row["id"] in (0, 2)),
    Condition("{wei} > 1 AND {at} >= '2000-01-01'", lambda row: row["id"] == 0),
    Condition("{real} = 0 OR {single} = 0", lambda row: row["id"] == 3),
)


class Layout(NamedTuple):
    """One table over the file of a case."""

    name: str
    fields: Sequence[Field]
    names: Mapping[str, str]
    """The table's name for each column of the file."""
    deleted: tuple[int, ...]
    properties: Mapping[str, str]

    def write(self, folder: Path, path: str) -> Path:
        """Write the log of the table; the file already exists."""
        size = (folder / path).stat().st_size
        vector = inline_vector(self.deleted) if self.deleted else None
        opening = table_lines(self.fields, properties=self.properties)
        return write_history(folder, [opening, [add(path, size=size, vector=vector)]])

    def rows(self, case: Case) -> list[Row]:
        """Return the file's rows that are in this table, with the file's column names."""
        rows_kept = [row for number, row in enumerate(case.rows) if number not in self.deleted]
        return [self._widened(row) for row in rows_kept] if self.name == "widened" else rows_kept

    def _widened(self, row: Row) -> Row:
        moments = {f["name"] for f in self.fields if f["type"] == "timestamp_ntz"}
        return {name: _moment(v) if name in moments else v for name, v in row.items()}

    def renamed(self, row: Row) -> Row:
        """Return a row with the table's column names."""
        return {self.names[name]: value for name, value in row.items()}

    def condition(self, condition: Condition) -> str:
        """Return a condition with the table's column names."""
        return condition.text.format(**{k: f"`{v}`" for k, v in self.names.items()})


WIDER = {
    "byte": "short",
    "short": "integer",
    "integer": "long",
    "float": "double",
    "decimal(10,2)": "decimal(20,4)",
    "date": "timestamp_ntz",
}


def layouts(case: Case) -> Iterator[Layout]:
    """Yield the tables over the file: plain, with deleted rows, mapped by name, widened."""
    same = {f["name"]: f["name"] for f in case.fields}
    yield Layout("plain", case.fields, same, (), {})
    yield Layout("deleted rows", case.fields, same, (1,), {})
    number = iter(range(1, 1000))
    renamed = {name: f"the {name}" for name in same}
    fields = [
        mapped(renamed[f["name"]], _mapped_type(f["type"], number), f["name"], next(number))
        for f in case.fields
    ]
    mode = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "999"}
    yield Layout("mapped", fields, renamed, (0,), mode)
    if any(str(f["type"]) in WIDER for f in case.fields):
        wider = [{**f, "type": WIDER.get(str(f["type"]), f["type"])} for f in case.fields]
        yield Layout("widened", wider, same, (2,), {})


def conditions(case: Case) -> list[Condition]:
    """Return the conditions of a case, including a null test of a column."""
    name = case.fields[-1]["name"]
    is_known = Condition(f"{{{name}}} IS NOT NULL AND {{id}} > 0", _is_known(name))
    return [*case.conditions, is_known]


def _is_known(name: str) -> Callable[[Row], bool]:
    return lambda row: row[name] is not None and row["id"] > 0


def _mapped_type(kind: Any, number: Iterator[int]) -> Any:
    if not isinstance(kind, dict):
        return kind
    match kind["type"]:
        case "struct":
            members = [
                mapped(f["name"], _mapped_type(f["type"], number), f["name"], next(number))
                for f in kind["fields"]
            ]
            return {**kind, "fields": members}
        case "array":
            return {**kind, "elementType": _mapped_type(kind["elementType"], number)}
        case _:
            return {**kind, "valueType": _mapped_type(kind["valueType"], number)}


def _moment(value: Any) -> Any:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001
    return value
