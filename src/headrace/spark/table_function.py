"""SQL table functions: `headrace_files` and `headrace_snapshot`.

They run in one task, and read the log only as far as the query needs. For larger lists, use
`headrace.spark.files`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udtf, udtf
from pyspark.sql.udtf import UserDefinedTableFunction

from headrace.table import Snapshot, Table

FILE_COLUMNS = {
    "path": "string",
    "uri": "string",
    "dv_id": "string",
    "deletion_vector": (
        "struct<storage_type:string,path_or_inline_dv:string,offset:int,size_in_bytes:int,"
        "cardinality:bigint>"
    ),
    "size_bytes": "bigint",
    "modified_ms": "bigint",
    "partition_values": "map<string,string>",
    "stats": "string",
    "version": "bigint",
    "tags": "map<string,string>",
}
"""The columns that all tables have; typed partition values differ by table."""

SNAPSHOT_COLUMNS = {
    "version": "bigint",
    "timestamp": "timestamp",
    "id": "string",
    "name": "string",
    "description": "string",
    "schema": "string",
    "partition_columns": "array<string>",
    "properties": "map<string,string>",
    "min_reader_version": "int",
    "min_writer_version": "int",
    "reader_features": "array<string>",
    "writer_features": "array<string>",
    "checkpoint_version": "bigint",
}


class HeadraceFiles:
    """The live files of a table: `headrace_files(path => …, version => …, where => …)`."""

    def eval(
        self, path: Any, version: Any = None, where: Any = None, as_of: Any = None
    ) -> Iterator[Any]:
        """Yield the files batch by batch. The arguments are arrays of one value."""
        snapshot = _snapshot(_value(path), _value(version), _value(as_of))
        scan = snapshot.scan(where=_value(where))
        with scan.batches(columns=list(FILE_COLUMNS)) as batches:
            for batch in batches:
                yield pa.Table.from_batches([batch])


class HeadraceSnapshot:
    """The properties of a version: `headrace_snapshot(path => …, version => …)`; one row."""

    def eval(
        self, path: str, version: int | None = None, as_of: str | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the row."""
        snapshot = _snapshot(path, version, as_of)
        metadata, protocol = snapshot.metadata, snapshot.protocol
        checkpoint, time_ms = snapshot.segment.checkpoint, snapshot.timestamp_ms
        yield (
            snapshot.version,
            None if time_ms is None else datetime.fromtimestamp(time_ms / 1000, UTC),
            metadata.id,
            metadata.name,
            metadata.description,
            metadata.schema_string,
            list(snapshot.partition_columns),
            snapshot.properties,
            protocol.min_reader_version,
            protocol.min_writer_version,
            protocol.reader_features,
            protocol.writer_features,
            None if checkpoint is None else checkpoint.version,
        )


def register_functions(spark: SparkSession) -> None:
    """Register the functions in a session."""
    files_function = arrow_udtf(HeadraceFiles, returnType=_ddl(FILE_COLUMNS))
    snapshot_function = udtf(HeadraceSnapshot, returnType=_ddl(SNAPSHOT_COLUMNS), useArrow=False)
    spark.udtf.register("headrace_files", cast("UserDefinedTableFunction", files_function))
    spark.udtf.register("headrace_snapshot", cast("UserDefinedTableFunction", snapshot_function))


def _ddl(columns: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def _snapshot(path: str, version: int | None, as_of: Any) -> Snapshot:
    return Table(path).snapshot(version=version, as_of=as_of)


def _value(array: Any) -> Any:
    """Return the value of an argument; None if it was omitted."""
    return None if array is None else array[0].as_py()
