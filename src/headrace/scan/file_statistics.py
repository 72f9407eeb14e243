"""Decodes the statistics of one file into Python values, by logical column name.

The JSON text of an add enters; a `FileStatistics` leaves, for users who inspect single files.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from headrace.errors import HeadraceError
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType, StructType
from headrace.protocol.value import INTEGER_BITS, fit_decimal, single, typed_value

_DECODER = msgspec.json.Decoder(float_hook=Decimal)  # a float would round what a decimal holds
_UNKNOWN = object()


class FileStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The statistics that a writer recorded for one file.

    Columns have their logical names; fields of structs are in nested dictionaries. A value that
    does not have its column's type is omitted.
    """

    num_records: int | None = None
    """The number of rows in the file, including rows that a deletion vector marks as deleted."""
    min_values: dict[str, Any] = {}
    """A lower bound of each column; strings may be truncated."""
    max_values: dict[str, Any] = {}
    """An upper bound of each column; truncated strings and times may be below the maximum."""
    null_count: dict[str, Any] = {}
    """The number of nulls in each column."""
    tight_bounds: bool = True
    """False if bounds and null counts include deleted rows."""


def parse_statistics(text: str | None, schema: StructType) -> FileStatistics | None:
    """Decode the statistics of a file; None if it has none, or they cannot be decoded."""
    try:
        stored = None if text is None else _DECODER.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    if not isinstance(stored, dict):
        return None
    return FileStatistics(
        num_records=_count(stored.get("numRecords")),
        min_values=_by_column(stored.get("minValues"), schema, _value),
        max_values=_by_column(stored.get("maxValues"), schema, _value),
        null_count=_by_column(stored.get("nullCount"), schema, lambda count, _: _count_of(count)),
        tight_bounds=stored.get("tightBounds") is not False,
    )


def num_records(text: str | None) -> int | None:
    """Decode only the number of rows."""
    return None if text is None else _num_records(text)


class _Records(msgspec.Struct, rename="camel"):
    num_records: int | None = None


_RECORDS = msgspec.json.Decoder(_Records)


def _num_records(text: str) -> int | None:
    try:
        return _count(_RECORDS.decode(text).num_records)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _count(stored: Any) -> int | None:
    count = _count_of(stored)
    return None if count is _UNKNOWN else count


def _count_of(stored: Any) -> Any:
    is_count = isinstance(stored, int) and not isinstance(stored, bool) and stored >= 0
    return stored if is_count else _UNKNOWN


def _by_column(
    stored: Any, schema: StructType, convert: Callable[[Any, DataType], Any]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if not isinstance(stored, dict):
        return values
    for field in schema.fields:
        stored_value = stored.get(field.physical_name)
        if stored_value is None:
            continue
        if isinstance(field.type, StructType):
            value: Any = _by_column(stored_value, field.type, convert) or _UNKNOWN
        else:
            value = convert(stored_value, field.type)
        if value is not _UNKNOWN:
            values[field.name] = value
    return values


def _value(stored: Any, data_type: DataType) -> Any:
    is_number = isinstance(stored, int | Decimal) and not isinstance(stored, bool)
    try:
        match data_type:
            case DecimalType() if is_number:
                return fit_decimal(Decimal(stored), data_type)
            case PrimitiveType(name) if name in INTEGER_BITS and isinstance(stored, int):
                return _UNKNOWN if isinstance(stored, bool) else stored
            case PrimitiveType("double") if is_number:
                return float(stored)
            case PrimitiveType("float") if is_number:
                return single(float(stored))
            case PrimitiveType("boolean") if isinstance(stored, bool):
                return stored
            case PrimitiveType("string") if isinstance(stored, str):
                return stored
            case PrimitiveType("date" | "timestamp" | "timestamp_ntz") if isinstance(stored, str):
                return typed_value(stored, data_type, column="") if stored else _UNKNOWN
            case _:
                return _UNKNOWN
    except (ValueError, ArithmeticError, HeadraceError):
        return _UNKNOWN
