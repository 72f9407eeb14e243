"""Translate a Polars filter to a SQL condition, as far as both certainly mean the same.

The condition keeps at least the rows that the filter keeps, so parts of a conjunction that cannot
be translated are omitted: Polars applies the whole filter to the rows afterwards.
"""

from datetime import date, timedelta
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
from pyarrow import types

_OPERATORS = {"Eq": "=", "Gt": ">", "GtEq": ">=", "Lt": "<", "LtEq": "<="}
_MIRRORED = {"=": "=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}


def to_sql(predicate: pl.Expr, schema: pa.Schema) -> str | None:
    """Return a condition that is true for every row the filter keeps; None if none is known."""
    try:
        tree = msgspec.json.decode(predicate.meta.serialize(format="json"))
    except (pl.exceptions.PolarsError, msgspec.MsgspecError, ValueError):
        return None  # for example, a filter that calls Python
    conditions = [text for part in _conjuncts(tree) if (text := _comparison(part, schema))]
    return " AND ".join(conditions) or None


def _conjuncts(tree: Any) -> list[Any]:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            return [*_conjuncts(left), *_conjuncts(right)]
        case _:
            return [tree]


def _comparison(tree: Any, schema: pa.Schema) -> str | None:
    match tree:
        case {"BinaryExpr": {"left": {"Column": name}, "op": op, "right": {"Literal": literal}}}:
            operator = _OPERATORS.get(op)
        case {"BinaryExpr": {"left": {"Literal": literal}, "op": op, "right": {"Column": name}}}:
            operator = _MIRRORED.get(_OPERATORS.get(op, ""))
        case _:
            return None
    if operator is None or name not in schema.names:
        return None
    value = _literal(literal, schema.field(name).type)
    quoted = "`" + name.replace("`", "``") + "`"
    return None if value is None else f"{quoted} {operator} {value}"


def _literal(literal: Any, kind: pa.DataType) -> str | None:
    """Return a literal as SQL; None if it does not have the column's type."""
    match literal:
        case {"Scalar": {"String": str(text)}} if types.is_string(kind):
            escaped = text.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case {"Scalar": {"Date": int(days)}} if types.is_date32(kind):
            return f"DATE '{date(1970, 1, 1) + timedelta(days=days)}'"
        case {"Scalar": {"Int64": int(number)}} if types.is_integer(kind):
            return str(number)
        case {"Scalar": {"Int32": int(number)}} if types.is_integer(kind):
            return str(number)
        case _:
            return None
