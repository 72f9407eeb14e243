"""Converts between Arrow types and Spark's DDL.

This is the only module that does. Types are compared as Arrow types; DDL is for people, for files
and for `CREATE TABLE`.
"""

from collections.abc import Sequence
from functools import cache, lru_cache

import pyarrow as pa
import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

_Kind = exp.DataType.Type
_FROM_SQL: dict[exp.DType, pa.DataType] = {
    _Kind.TINYINT: pa.int8(),
    _Kind.SMALLINT: pa.int16(),
    _Kind.INT: pa.int32(),
    _Kind.BIGINT: pa.int64(),
    _Kind.FLOAT: pa.float32(),
    _Kind.DOUBLE: pa.float64(),
    _Kind.BOOLEAN: pa.bool_(),
    _Kind.TEXT: pa.string(),
    _Kind.VARCHAR: pa.string(),
    _Kind.CHAR: pa.string(),
    _Kind.BINARY: pa.binary(),
    _Kind.DATE: pa.date32(),
    _Kind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    _Kind.TIMESTAMPLTZ: pa.timestamp("us", "UTC"),
    _Kind.TIMESTAMP: pa.timestamp("us"),
    _Kind.TIMESTAMPNTZ: pa.timestamp("us"),
    _Kind.NULL: pa.null(),
}
_TO_SQL: dict[pa.DataType, str] = {
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP_NTZ",
    pa.null(): "VOID",
}
_SAME_IN_SPARK: dict[pa.DataType, pa.DataType] = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
}


@cache
def parse_type(text: str) -> pa.DataType:
    """Return the Arrow type of a Spark type.

    Raises:
        ValueError: the text is not a Spark type.
    """
    try:
        return _to_arrow(exp.DataType.build(_without_void(text), dialect="spark"))
    except SqlglotError as error:
        raise ValueError(f"{text!r} is not a Spark SQL type") from error


def parse_schema(text: str) -> pa.Schema:
    """Parse a list of columns such as `id BIGINT NOT NULL, name STRING`.

    Raises:
        ValueError: the text is not a list of columns.
    """
    try:
        table = sqlglot.parse_one(f"CREATE TABLE t ({_without_void(text, names=True)})", "spark")
    except SqlglotError as error:
        reason = f"{text!r} is not a list of columns such as 'id BIGINT NOT NULL, name STRING'"
        raise ValueError(reason) from error
    columns = table.this.expressions if isinstance(table, exp.Create) else []
    if not columns or not all(isinstance(column, exp.ColumnDef) for column in columns):
        raise ValueError(f"{text!r} is not a list of columns with their types")
    fields = [_field(column) for column in columns]
    names = [field.name.casefold() for field in fields]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"it names {', '.join(repeated)} more than once")
    return pa.schema(fields)


def type_text(data_type: pa.DataType) -> str:
    """Return the DDL of a type."""
    data_type = spark_type(data_type)
    if data_type in _TO_SQL:
        return _TO_SQL[data_type]
    if pa.types.is_timestamp(data_type):
        return "TIMESTAMP"
    if pa.types.is_decimal(data_type):
        return f"DECIMAL({data_type.precision},{data_type.scale})"
    if pa.types.is_list(data_type):
        return f"ARRAY<{type_text(data_type.value_type)}>"
    if pa.types.is_map(data_type):
        return f"MAP<{type_text(data_type.key_type)}, {type_text(data_type.item_type)}>"
    if pa.types.is_struct(data_type):
        members = (f"{_quoted(field.name)}: {type_text(field.type)}" for field in data_type)
        return f"STRUCT<{', '.join(members)}>"
    return str(data_type)


def schema_text(schema: pa.Schema | Sequence[pa.Field]) -> str:
    """Return the DDL of columns, which `parse_schema` parses."""
    return ", ".join(
        f"{_quoted(field.name)} {type_text(field.type)}{'' if field.nullable else ' NOT NULL'}"
        for field in schema
    )


@lru_cache(maxsize=4096)
def spark_type(data_type: pa.DataType) -> pa.DataType:
    """Return the Arrow type in which Spark returns values of a type."""
    if data_type in _SAME_IN_SPARK:
        return _SAME_IN_SPARK[data_type]
    if pa.types.is_dictionary(data_type):
        return spark_type(data_type.value_type)
    if pa.types.is_timestamp(data_type):
        return pa.timestamp("us", "UTC" if data_type.tz else None)
    if pa.types.is_decimal(data_type) and not pa.types.is_decimal128(data_type):
        return pa.decimal128(min(data_type.precision, 38), data_type.scale)
    if pa.types.is_map(data_type):
        key = pa.field("key", spark_type(data_type.key_type), nullable=False)
        return pa.map_(key, _spark_field(data_type.item_field).with_name("value"))
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type):
        return pa.list_(_spark_field(data_type.value_field).with_name("element"))
    if pa.types.is_struct(data_type):
        return pa.struct([_spark_field(field) for field in data_type])
    return data_type


def _spark_field(field: pa.Field) -> pa.Field:
    """Return a field of a nested type, without metadata such as its physical name."""
    return field.with_type(spark_type(field.type)).remove_metadata()


def spark_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the types in which Spark returns its columns."""
    return pa.schema([field.with_type(spark_type(field.type)) for field in schema])


def _without_void(text: str, *, names: bool = False) -> str:
    """Replace the type `VOID` by `NULL`, since the parser does not know `VOID`.

    With `names`, a word at the start or after a comma is the name of a column.
    """
    depth, replaced = 0, text
    tokens = list(sqlglot.tokenize(text, "spark"))
    for index, token in reversed(list(enumerate(tokens))):
        depth += (token.token_type is TokenType.GT) - (token.token_type is TokenType.LT)
        before = tokens[index - 1].token_type if index else TokenType.COMMA
        after = tokens[index + 1].token_type if index + 1 < len(tokens) else TokenType.COMMA
        is_name = after is TokenType.COLON or (names and depth == 0 and before is TokenType.COMMA)
        if token.token_type is TokenType.VAR and token.text.upper() == "VOID" and not is_name:
            replaced = f"{replaced[: token.start]}NULL{replaced[token.end + 1 :]}"
    return replaced


def _field(column: exp.ColumnDef) -> pa.Field:
    kinds = [constraint.kind for constraint in column.constraints]
    required = any(
        isinstance(kind, exp.NotNullColumnConstraint) and not kind.args.get("allow_null")
        for kind in kinds
    )
    comment = next((k.name for k in kinds if isinstance(k, exp.CommentColumnConstraint)), None)
    if column.kind is None:
        raise ValueError(f"column {column.name} has no type")
    metadata = {"comment": comment} if comment else None
    return pa.field(column.name, _to_arrow(column.kind), nullable=not required, metadata=metadata)


def arrow_type(data_type: exp.DataType) -> pa.DataType:
    """Return the Arrow type of a type in a syntax tree.

    Raises:
        ValueError: it has no Arrow type.
    """
    return _to_arrow(data_type)


def _to_arrow(data_type: exp.DataType) -> pa.DataType:
    kind, inner = data_type.this, data_type.expressions
    match kind:
        case _Kind.DECIMAL:
            precision, scale = [*(int(part.name) for part in inner), *(10, 0)[len(inner) :]][:2]
            return pa.decimal128(precision, scale)
        case _Kind.ARRAY | _Kind.LIST:
            return pa.list_(pa.field("element", _to_arrow(inner[0])))
        case _Kind.MAP:
            key, value = map(_to_arrow, inner)
            return pa.map_(pa.field("key", key, nullable=False), pa.field("value", value))
        case _Kind.STRUCT:
            return pa.struct([pa.field(member.name, _to_arrow(member.kind)) for member in inner])
        case _ if kind in _FROM_SQL:
            return _FROM_SQL[kind]
        case _:
            raise ValueError(f"the type {data_type.sql(dialect='spark')} has no Arrow type")


@lru_cache(maxsize=4096)  # the views of a project share their columns' names
def _quoted(name: str) -> str:
    return exp.to_identifier(name).sql(dialect="spark")
