"""Independent readers, used as oracles for the contents of a file."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types


def _by_duckdb(path: Path) -> pa.Table:
    with duckdb.connect() as connection:
        rows: pa.Table = connection.sql(f"FROM read_parquet('{path}')").to_arrow_table()
        return rows


def _by_polars(path: Path) -> pa.Table:
    return pl.read_parquet(path, use_pyarrow=False).to_arrow()


def _by_pyarrow(path: Path) -> pa.Table:
    return pq.read_table(path, partitioning=None)


READERS: dict[str, Callable[[Path], pa.Table]] = {
    "DuckDB": _by_duckdb,
    "polars": _by_polars,
    "pyarrow": _by_pyarrow,
}


def read_by(judge: str, path: Path) -> list[dict[str, Any]]:
    """Return the rows that another reader finds, in Delta's types."""
    rows = READERS[judge](path)
    columns = {name: _in_delta(rows[name]) for name in rows.column_names}
    plain: list[dict[str, Any]] = pa.table(columns).to_pylist()
    return plain


def by_the_clock(row: dict[str, Any]) -> dict[str, Any]:
    """Convert times to UTC: some readers do not report the zone of 96-bit timestamps."""
    return {name: _by_the_clock(value) for name, value in row.items()}


def _by_the_clock(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _in_delta(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Remove what Delta does not have: extension types, and nanoseconds."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        storage = [chunk.storage for chunk in column.chunks]
        return pa.chunked_array(storage, kind.storage_type)
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pc.floor_temporal(column, unit="microsecond").cast(pa.timestamp("us", kind.tz))
    return column
