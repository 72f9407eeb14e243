"""Prints rows as a text table, as they arrive.

The first batch determines the column widths; longer values in later rows are truncated, so that
columns stay aligned.
"""

from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
from pyarrow import types
from rich.cells import cell_len, set_cell_size

from headrace.rows.sink import plain_rows

_WIDEST = 40
_MEASURED_ROWS = 100
"""The number of rows that determine the column widths."""


def write_table(rows: pa.RecordBatchReader, sink: BinaryIO) -> None:
    """Write a header, a rule, and one line per row."""
    names = rows.schema.names
    to_the_right = [_is_number(field.type) for field in rows.schema]
    widths: list[int] | None = None
    for batch in rows:
        lines = [[_text(row[name]) for name in names] for row in plain_rows(batch)]
        if widths is None:
            widths = _widths([names, *lines[:_MEASURED_ROWS]])
            _write_head(names, widths, to_the_right, sink)
        text = "".join(_line(line, widths, to_the_right) for line in lines)
        sink.write(text.encode())
        sink.flush()
    if widths is None:
        _write_head(names, _widths([names]), to_the_right, sink)


def _write_head(
    names: list[str], widths: list[int], to_the_right: list[bool], sink: BinaryIO
) -> None:
    sink.write(_line(names, widths, to_the_right).encode())
    sink.write(("  ".join("─" * width for width in widths) + "\n").encode())


def _widths(lines: list[list[str]]) -> list[int]:
    return [min(max(map(cell_len, column)), _WIDEST) for column in zip(*lines, strict=True)]


def _line(cells: list[str], widths: list[int], to_the_right: list[bool]) -> str:
    placed = map(_aligned, cells, widths, to_the_right)
    return "  ".join(placed).rstrip() + "\n"


def _aligned(cell: str, width: int, right: bool) -> str:  # noqa: FBT001  (mapped over)
    if cell_len(cell) > width:
        return set_cell_size(cell, width - 1) + "…"
    padding = " " * (width - cell_len(cell))
    return padding + cell if right else cell + padding


def _is_number(kind: pa.DataType) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _text(value: Any) -> str:
    """Format a value on one line; text is printed unchanged unless it would look like a null."""
    if isinstance(value, str):
        is_unambiguous = value.isprintable() and value != "null"
        return value if is_unambiguous else msgspec.json.encode(value).decode()
    return msgspec.json.encode(value).decode().strip('"')
