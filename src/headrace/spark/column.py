"""Maps a table's columns to Spark: the schema that files are read with, and the logical one.

Files are read with physical names. Each column then gets its logical name and, if its type differs
(struct members have physical names, too), its logical type.
"""

from collections.abc import Iterable

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (its name everywhere)
from pyspark.sql import types as spark

from headrace.errors import InvalidTableError
from headrace.protocol.column_mapping import MappingMode, mapping_mode
from headrace.protocol.schema import (
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
    fold_name,
)
from headrace.rows.resolve import MatchBy
from headrace.spark.schema import PARQUET_ID, spark_schema
from headrace.table import Snapshot

_VOID = PrimitiveType("void")
_COLUMN_ID = "delta.columnMapping.id"
_INTEGER_DIGITS = 10


class ScanColumns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a table, as a scan of its files needs them."""

    table: str
    logical: StructType
    partition_columns: tuple[str, ...]
    match_by: MatchBy

    @classmethod
    def of(cls, snapshot: Snapshot) -> "ScanColumns":
        """Return the columns of a snapshot."""
        mode = mapping_mode(snapshot.protocol, snapshot.metadata)
        return cls(
            table=snapshot.table.uri,
            logical=snapshot.logical_schema,
            partition_columns=snapshot.partition_columns,
            match_by=MatchBy.ID if mode is MappingMode.ID else MatchBy.NAME,
        )

    def partition_schema(self) -> spark.StructType:
        """Return the partition columns, in the order of the partitioning.

        Raises:
            InvalidTableError: a partition column is not in the schema.
        """
        fields = []
        for name in self.partition_columns:
            field = self.logical.find(name)
            if field is None:
                reason = f"the schema has no column {name}, by which the table is partitioned"
                raise InvalidTableError(table=self.table, reason=reason)
            fields.append(field)
        return self._to_spark(self._read_fields(fields))

    def data_schema(self) -> spark.StructType:
        """Return the columns that are read from files."""
        partitions = set(map(fold_name, self.partition_columns))
        stored = (f for f in self.logical.fields if fold_name(f.name) not in partitions)
        return self._to_spark(self._read_fields(f for f in stored if f.type != _VOID))

    def projection(self) -> list[Column]:
        """Return the table's columns as expressions over those that are read."""
        pairs = zip(self.logical.fields, self._to_spark(self.logical), strict=True)
        return [self._column(field, logical).alias(field.name) for field, logical in pairs]

    def read_name(self, field: Field) -> str:
        """Return the name that a column or member is read with."""
        if self.match_by is MatchBy.NAME:
            return field.physical_name
        # Files may use any name for the column. A name that no file uses keeps Spark from
        # applying a file's information about another column.
        return f"__headrace_field_{field.metadata.get(_COLUMN_ID, field.physical_name)}"

    def _column(self, field: Field, logical_field: spark.StructField) -> Column:
        if field.type == _VOID:
            return F.lit(None)
        column = F.col(quoted(self.read_name(field)))
        [read_field] = self._to_spark(self._read_fields([field]))
        is_same_type = read_field.dataType == logical_field.dataType
        return column if is_same_type else column.cast(logical_field.dataType)

    def _to_spark(self, schema: StructType) -> spark.StructType:
        return spark_schema(schema, table=self.table)

    def _read_fields(self, fields: Iterable[Field]) -> StructType:
        return StructType(tuple(map(self._read_field, fields)))

    def _read_field(self, field: Field) -> Field:
        by_id = self.match_by is MatchBy.ID and _COLUMN_ID in field.metadata
        metadata = {PARQUET_ID: field.metadata[_COLUMN_ID]} if by_id else {}
        return Field(self.read_name(field), self._read_type(field.type, field), metadata=metadata)

    def _read_type(self, data_type: DataType, column: Field) -> DataType:
        match data_type:
            case DecimalType(precision, scale) if _may_have_small_integers(column):
                return DecimalType(max(precision, _INTEGER_DIGITS + scale), scale)
            case ArrayType(element, contains_null):
                return ArrayType(self._read_type(element, column), contains_null)
            case MapType(key, value, contains_null):
                return MapType(
                    self._read_type(key, column), self._read_type(value, column), contains_null
                )
            case StructType(fields):
                return self._read_fields(fields)
            case _:
                return data_type


def quoted(name: str) -> str:
    """Return a column's name quoted for SQL."""
    return "`" + name.replace("`", "``") + "`"


def _may_have_small_integers(field: Field) -> bool:
    """Return whether old files may have small integers where the column is a decimal now.

    Spark reads these as decimals only if the decimal can hold any 4-byte integer.
    """
    changes = field.metadata.get("delta.typeChanges") or ()
    return any(change.get("fromType") in ("byte", "short") for change in changes)
