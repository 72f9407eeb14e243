"""Columns on their way into Spark: the schema that files are read with, and the table's own.

Files are read under names of theirs. Each column then gets its logical name and, where that
differs (members of structs have such names too), its logical type. Everything is nullable: a
file may lack any column.
"""

from collections.abc import Iterable

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (its name everywhere)
from pyspark.sql import types as T  # noqa: N812

from headrace.errors import UnsupportedFeatureError
from headrace.protocol.schema import (
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
)
from headrace.rows.resolve import MatchBy
from headrace.table import Snapshot

_PRIMITIVES: dict[str, T.DataType] = {
    "binary": T.BinaryType(),
    "boolean": T.BooleanType(),
    "byte": T.ByteType(),
    "date": T.DateType(),
    "double": T.DoubleType(),
    "float": T.FloatType(),
    "integer": T.IntegerType(),
    "long": T.LongType(),
    "short": T.ShortType(),
    "string": T.StringType(),
    "timestamp": T.TimestampType(),
    "timestamp_ntz": T.TimestampNTZType(),
    "variant": T.VariantType(),
    "void": T.NullType(),
}
_TEXTS = ("char(", "varchar(", "string collate ")
_VOID = PrimitiveType("void")
_COLUMN_ID = "delta.columnMapping.id"
_PARQUET_ID = "parquet.field.id"
_INTEGER_DIGITS = 10


class ScanColumns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a table, as a scan of its files needs them."""

    table: str
    logical: StructType
    partition_columns: tuple[str, ...]
    match_by: MatchBy

    @classmethod
    def of(cls, snapshot: Snapshot) -> "ScanColumns":
        """The columns of a snapshot."""
        mode = snapshot.properties.get("delta.columnMapping.mode")
        return cls(
            table=snapshot.table.uri,
            logical=snapshot.logical_schema,
            partition_columns=snapshot.partition_columns,
            match_by=MatchBy.ID if mode == "id" else MatchBy.NAME,
        )

    def partition_schema(self) -> T.StructType:
        """The partition columns, in the order of the partitioning."""
        found = (self.logical.find(name) for name in self.partition_columns)
        return self._read_schema(field for field in found if field is not None)

    def data_schema(self) -> T.StructType:
        """What is read from files."""
        partitions = {name.casefold() for name in self.partition_columns}
        return self._read_schema(
            field
            for field in self.logical.fields
            if field.name.casefold() not in partitions and field.type != _VOID
        )

    def projection(self) -> list[Column]:
        """The table's columns, made of those that are read."""
        return [self._column(field) for field in self.logical.fields]

    def read_name(self, field: Field) -> str:
        """What a column or member is called while it is read."""
        if self.match_by is MatchBy.NAME:
            return field.physical_name
        # Files call it whatever they like. A name that none has keeps Spark from using what a
        # file knows about another column.
        return f"__headrace_field_{field.metadata.get(_COLUMN_ID, field.physical_name)}"

    def _column(self, field: Field) -> Column:
        if field.type == _VOID:
            return F.lit(None).alias(field.name)
        column = F.col(quoted(self.read_name(field)))
        logical = self._spark_type(field.type)
        if self._read_field(field).dataType != logical:
            column = column.cast(logical)
        return column.alias(field.name)

    def _read_schema(self, fields: Iterable[Field]) -> T.StructType:
        return T.StructType([self._read_field(field) for field in fields])

    def _read_field(self, field: Field) -> T.StructField:
        read_type = self._spark_type(field.type, reading=field)
        by_id = self.match_by is MatchBy.ID and _COLUMN_ID in field.metadata
        metadata = {_PARQUET_ID: field.metadata[_COLUMN_ID]} if by_id else {}
        return T.StructField(self.read_name(field), read_type, metadata=metadata)

    def _spark_type(self, data_type: DataType, *, reading: Field | None = None) -> T.DataType:
        """The type in Spark: as users see it, or as it is read for a field."""
        match data_type:
            case PrimitiveType(name):
                return self._primitive(name)
            case DecimalType(precision, scale):
                digits = _INTEGER_DIGITS if reading and _was_short(reading) else 0
                return T.DecimalType(max(precision, digits + scale), scale)
            case ArrayType(element):
                return T.ArrayType(self._spark_type(element, reading=reading))
            case MapType(key, value):
                return T.MapType(
                    self._spark_type(key, reading=reading), self._spark_type(value, reading=reading)
                )
            case StructType(fields) if reading:
                return self._read_schema(fields)
            case StructType(fields):
                return T.StructType(
                    [T.StructField(f.name, self._spark_type(f.type)) for f in fields]
                )

    def _primitive(self, name: str) -> T.DataType:
        found = _PRIMITIVES.get(name)
        if found is not None:
            return found
        if name.startswith(_TEXTS):
            return T.StringType()
        raise UnsupportedFeatureError(table=self.table, features=[f"the type {name}"])


def quoted(name: str) -> str:
    """A column's name as SQL takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _was_short(field: Field) -> bool:
    """Whether old files may have small integers where there are decimals now.

    Spark reads them as decimals only if those have room for any integer of four bytes.
    """
    changes = field.metadata.get("delta.typeChanges") or ()
    return any(change.get("fromType") in ("byte", "short") for change in changes)
