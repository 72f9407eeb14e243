"""Map Delta types to the Arrow types that they are read into.

A schema or a type of `protocol.schema` enters; its Arrow equivalent leaves.
"""

from typing import Any

import msgspec
import pyarrow as pa

from headrace.protocol.schema import (
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
)

_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False),
    ]
)
_PRIMITIVES = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "variant": _VARIANT,
    "void": pa.null(),
}
_TEXTS = ("string collate ", "char(", "varchar(")


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of a table, with each field's Delta metadata as Arrow metadata.

    Raises:
        ValueError: a type has no Arrow equivalent.
    """
    return pa.schema([_arrow_field(field) for field in schema.fields])


def arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type for a Delta type.

    Raises:
        ValueError: the type has no Arrow equivalent.
    """
    match data_type:
        case PrimitiveType(name):
            return _primitive(name)
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case ArrayType(element, contains_null):
            return pa.list_(pa.field("element", arrow_type(element), nullable=contains_null))
        case MapType(key, value, value_contains_null):
            return pa.map_(
                pa.field("key", arrow_type(key), nullable=False),
                pa.field("value", arrow_type(value), nullable=value_contains_null),
            )
        case StructType(fields):
            return pa.struct([_arrow_field(field) for field in fields])


def _primitive(name: str) -> pa.DataType:
    arrow = _PRIMITIVES.get(name)
    if arrow is not None:
        return arrow
    if name.startswith(_TEXTS):
        return pa.string()
    raise ValueError(f"the type {name} has no Arrow equivalent")


def _arrow_field(field: Field) -> pa.Field:
    return pa.field(
        field.name,
        arrow_type(field.type),
        nullable=field.nullable,
        metadata={key: _text(value) for key, value in field.metadata.items()} or None,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
