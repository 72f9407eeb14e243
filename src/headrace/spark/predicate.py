"""Converts the filters of a Spark query to predicates of the kernel.

Spark has resolved the filters: names are physical, and values are in its internal form. The Java
side (`jvm_source/Predicates.java`) encodes what it understands; here it becomes a predicate over
logical names.
"""

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from headrace.expr.node import (
    And,
    Column,
    Compare,
    CompareOp,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    StartsWith,
    Value,
)
from headrace.protocol.schema import DataType, StructType
from headrace.spark.column import ScanColumns

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decode_predicate(text: str, columns: ScanColumns) -> Predicate:
    """Decode a predicate that the Java side has encoded.

    Raises:
        ValueError, KeyError, OverflowError: the kernel has no equivalent.
    """
    return _predicate(json.loads(text), columns)


def _predicate(node: Any, columns: ScanColumns) -> Predicate:
    match node:
        case ["and", *parts]:
            return And(tuple(_predicate(part, columns) for part in parts))
        case ["or", *parts]:
            return Or(tuple(_predicate(part, columns) for part in parts))
        case ["not", part]:
            return Not(_predicate(part, columns))
        case ["null", path]:
            return IsNull(_column(path, columns))
        case ["true", path]:
            return _column(path, columns)
        case ["in", path, *values]:
            return In(_column(path, columns), tuple(Literal(_value(*value)) for value in values))
        case ["starts", path, ["string", prefix]]:
            return StartsWith(_column(path, columns), prefix)
        case [operator, path, value]:
            return Compare(_column(path, columns), CompareOp(operator), Literal(_value(*value)))
        case _:
            raise ValueError(f"{node!r} is not a predicate")


def _column(path: Sequence[str], columns: ScanColumns) -> Column:
    """Return the logical path of a physical one."""
    names = []
    level: DataType = columns.logical
    for name in path:
        if not isinstance(level, StructType):
            raise ValueError(f"{path!r} is not a column")  # noqa: TRY004  (a value, not a type)
        field = {columns.read_name(field): field for field in level.fields}[name]
        names.append(field.name)
        level = field.type
    return Column(tuple(names))


def _value(kind: str, text: str) -> Value:
    match kind:
        case "null":
            return None
        case "boolean":
            return text == "true"
        case "integer":
            return int(text)
        case "double":
            return float.fromhex(text)
        case "decimal":
            return Decimal(text)
        case "string":
            return text
        case "date":
            return date(1970, 1, 1) + timedelta(days=int(text))
        case "timestamp":
            return _EPOCH + timedelta(microseconds=int(text))
        case "timestamp_ntz":
            return _EPOCH.replace(tzinfo=None) + timedelta(microseconds=int(text))
        case _:
            raise ValueError(f"{kind!r} is not a kind of value")
