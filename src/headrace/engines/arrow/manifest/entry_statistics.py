"""Converts entry statistics that are stored as maps of strings into the JSON of Delta logs.

The columns of entries and the table's schema enter; a column of JSON text leaves.
"""

from typing import Any

import msgspec
import pyarrow as pa

from headrace.protocol import light
from headrace.protocol.cast import parse_float, parse_integer
from headrace.protocol.schema import DataType, PrimitiveType, StructType


def statistics_texts(entries: pa.RecordBatch, schema: StructType) -> pa.StringArray:
    """Return the statistics of each entry as JSON, unchanged if the entry has them as JSON.

    Only strings and numbers are taken from the maps: the format of other types is not defined.
    """
    if "stats" in entries.schema.names and not entries.column("stats").null_count:
        return entries.column("stats")
    types = {field.physical_name: field.type for field in schema.fields}
    stored = _values(entries, "stats")
    counts, least, greatest = (
        _values(entries, name) for name in ("numRecords", "minValues", "maxValues")
    )
    texts = [
        text if text is not None else _text(count, low, high, types)
        for text, count, low, high in zip(stored, counts, least, greatest, strict=True)
    ]
    return light.array(texts, pa.string())


def _values(entries: pa.RecordBatch, name: str) -> list[Any]:
    if name not in entries.schema.names:
        return [None] * entries.num_rows
    values: list[Any] = entries.column(name).to_pylist(maps_as_pydicts="lossy")
    return values


def _text(
    count: int | None,
    least: dict[str, str] | None,
    greatest: dict[str, str] | None,
    types: dict[str, DataType],
) -> str | None:
    statistics: dict[str, Any] = {}
    if count is not None:
        statistics["numRecords"] = count
    for name, extremes in (("minValues", least), ("maxValues", greatest)):
        typed = {
            column: _value(text, types.get(column)) for column, text in (extremes or {}).items()
        }
        known = {column: value for column, value in typed.items() if value is not None}
        if known:
            statistics[name] = known
    return msgspec.json.encode(statistics).decode() if statistics else None


def _value(text: str, kind: DataType | None) -> str | int | float | None:
    try:
        match kind:
            case PrimitiveType("string"):
                return text
            case PrimitiveType("byte" | "short" | "integer" | "long"):
                return parse_integer(text)
            case PrimitiveType("float" | "double"):
                return parse_float(text)
            case _:
                return None
    except ValueError:
        return None
