"""Derives the statistics of data files for the log from their Parquet footers.

A bound that might be wrong is omitted: without it a file may be read unnecessarily, but is never
skipped by mistake.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

_INDEXED_COLUMNS = 32
"""The default number of indexed columns of Delta writers."""
_MAX_CHARACTERS = 64
_MILLISECOND = timedelta(milliseconds=1)


def read_statistics(metadata: pq.FileMetaData, schema: pa.Schema) -> str:
    """Return the statistics of a file as JSON for the log; bounds only where they are reliable."""
    indexed = {f.name for f in list(schema)[:_INDEXED_COLUMNS] if not pa.types.is_nested(f.type)}
    bounded = {f.name for f in schema if f.name in indexed and _is_bounded(f.type)}
    min_values: dict[str, Any] = {}
    max_values: dict[str, Any] = {}
    null_counts: dict[str, int] = {}
    for name, chunks in _chunks(metadata, indexed).items():
        if all(chunk is not None and chunk.has_null_count for chunk in chunks):
            null_counts[name] = sum(chunk.null_count for chunk in chunks)
        with_values = [c for c in chunks if c is None or c.num_values]
        if (
            name in bounded
            and with_values
            and all(c is not None and c.has_min_max for c in with_values)
        ):
            with suppress(OverflowError, ValueError):  # a time after the year 9999
                _set(min_values, name, _lower(min(chunk.min for chunk in with_values)))
                _set(max_values, name, _upper(max(chunk.max for chunk in with_values)))
    return msgspec.json.encode(
        {
            "numRecords": metadata.num_rows,
            "minValues": min_values,
            "maxValues": max_values,
            "nullCount": null_counts,
        }
    ).decode()


def _chunks(metadata: pq.FileMetaData, names: Iterable[str]) -> Mapping[str, list[Any]]:
    indexed = set(names)
    column_indexes = {
        metadata.schema.column(index).path: index
        for index in range(metadata.num_columns)
        if metadata.schema.column(index).path in indexed
    }
    return {
        name: [
            metadata.row_group(group).column(index).statistics
            for group in range(metadata.num_row_groups)
        ]
        for name, index in column_indexes.items()
    }


def _is_bounded(kind: pa.DataType) -> bool:
    """Return whether bounds are reliable; those of floats ignore NaN, which is the greatest."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_string(kind)
    )


def _set(bounds: dict[str, Any], name: str, value: Any) -> None:
    if value is not None:
        bounds[name] = value


def _lower(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_MAX_CHARACTERS]  # a prefix is not greater than the string
    if isinstance(value, datetime):
        return _time(value.replace(microsecond=value.microsecond // 1000 * 1000))
    return _json_value(value)


def _upper(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _MAX_CHARACTERS else None
    if isinstance(value, datetime):
        truncated = value.replace(microsecond=value.microsecond // 1000 * 1000)
        return _time(truncated if truncated == value else truncated + _MILLISECOND)
    return _json_value(value)


def _time(value: datetime) -> str:
    """Format a timestamp for the log, in milliseconds; with a Z if it has a zone."""
    if value.tzinfo is None:
        return value.isoformat(timespec="milliseconds")
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _json_value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return msgspec.Raw(format(value, "f").encode())
    return value.isoformat() if isinstance(value, date) else value
