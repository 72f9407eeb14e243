"""Writes typed statistics of a checkpoint as the JSON text that commits have.

An entry of a state has statistics as text only. Without this, the files of a checkpoint that has
no such text could not be skipped by statistics once a state is read in its place.
"""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import msgspec
import pyarrow as pa

from headrace.protocol import light

_ENCODER = msgspec.json.Encoder(decimal_format="number")
_KINDS = ("minValues", "maxValues", "nullCount")


def with_typed_statistics(texts: pa.Array, typed: pa.StructArray) -> pa.Array:
    """Return the texts, with those that are null replaced by the typed statistics of the row."""
    absent = texts.is_null()
    written = iter(_texts(typed.filter(absent)))
    filled = [next(written) if text is None else text for text in texts.to_pylist()]
    return light.array(filled, pa.string())


def _texts(typed: pa.StructArray) -> Iterator[str | None]:
    for row in typed.cast(_readable(typed.type), safe=False):
        try:
            yield _text(row.as_py())
        except (ValueError, OverflowError):  # a time that Python cannot hold
            yield None


def _text(statistics: Mapping[str, Any] | None) -> str | None:
    if statistics is None or statistics.get("numRecords") is None:
        return None
    bounds = {name: _known(statistics.get(name) or {}) for name in _KINDS}
    return _ENCODER.encode({"numRecords": statistics["numRecords"], **bounds}).decode()


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that JSON can express."""
    known: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            known[name] = _known(value)
        elif value is not None and not (isinstance(value, float) and not isfinite(value)):
            known[name] = value
    return known


def _readable(kind: pa.DataType) -> pa.DataType:
    """Return the type with times in microseconds, which Python has without another library."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_readable(field.type)) for field in kind])
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return kind
