"""Converts the columns of a table to Spark's types.

Every column is nullable: Spark treats files that way, whatever their writer promised.
"""

from pyspark.sql import types as spark

from headrace.errors import InvalidTableError
from headrace.protocol.schema import (
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
)

_PRIMITIVES: dict[str, spark.DataType] = {
    "string": spark.StringType(),
    "long": spark.LongType(),
    "integer": spark.IntegerType(),
    "short": spark.ShortType(),
    "byte": spark.ByteType(),
    "float": spark.FloatType(),
    "double": spark.DoubleType(),
    "boolean": spark.BooleanType(),
    "binary": spark.BinaryType(),
    "date": spark.DateType(),
    "timestamp": spark.TimestampType(),
    "timestamp_ntz": spark.TimestampNTZType(),
    "variant": spark.VariantType(),
    "void": spark.NullType(),
}
PARQUET_ID = "parquet.field.id"
"""The metadata key of the id by which Spark finds a column in a file."""

_TEXTS = ("string collate ", "char(", "varchar(")


def spark_schema(schema: StructType, *, table: str) -> spark.StructType:
    """Return the columns as a Spark schema.

    Raises:
        InvalidTableError: Spark has no equivalent of a type.
    """
    try:
        return _struct(schema)
    except KeyError as error:
        reason = f"the type {error.args[0]} has no equivalent in Spark"
        raise InvalidTableError(table=table, reason=reason) from error


def _struct(schema: StructType) -> spark.StructType:
    return spark.StructType([_field(field) for field in schema.fields])


def _field(field: Field) -> spark.StructField:
    metadata = {name: value for name, value in field.metadata.items() if name == PARQUET_ID}
    return spark.StructField(field.name, _type(field.type), metadata=metadata)


def _type(data_type: DataType) -> spark.DataType:
    match data_type:
        case PrimitiveType(name):
            return _PRIMITIVES["string" if name.startswith(_TEXTS) else name]
        case DecimalType(precision, scale):
            return spark.DecimalType(precision, scale)
        case ArrayType(element):
            return spark.ArrayType(_type(element))
        case MapType(key, value):
            return spark.MapType(_type(key), _type(value))
        case StructType():
            return _struct(data_type)
