"""Appends a DataFrame to an IndexTables table: `df.write.format("headrace").mode("append")`.

Each task writes Parquet files, one per partition, and reports them to the driver. The driver
commits all files as one version, or deletes them all: readers see all rows or none.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from headrace.errors import InvalidArgumentError, StorageError, UnwritableTableError
from headrace.maintain.base import NO_VERSION, read_base
from headrace.maintain.creation import new_metadata
from headrace.maintain.home import INDEXTABLES_HOME
from headrace.maintain.setting import PREFIX, session_settings
from headrace.maintain.staging import now_ms
from headrace.maintain.writer import StateWriter
from headrace.rows.data_writer import parquet_bytes, partitions_of
from headrace.storage.store import PutMode, WritableStore
from headrace.wiring import open_writable_store

_DELTA_LOG = "_delta_log"
_PARTITION_BY = "partitioncolumns"
_STORAGE = "storage."
_NULL = "__HIVE_DEFAULT_PARTITION__"
_FILE_ROWS = 1_000_000


@dataclass
class WrittenFiles(WriterCommitMessage):
    """The log entries of the files that one task wrote."""

    entries: list[dict[str, Any]]


class IndexTablesWriter(DataSourceArrowWriter):
    """Appends rows to an IndexTables table, and creates the table if it does not exist."""

    def __init__(self, options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        """Check the table and the columns.

        Raises:
            InvalidArgumentError: the mode is not append, or the columns are not the table's.
            UnwritableTableError: it is a Delta table.
        """
        if overwrite:
            reason = "only append is supported; to replace rows, run DROP PARTITIONS first"
            raise InvalidArgumentError(argument="mode", reason=reason)
        folded_options = {name.lower(): value for name, value in options.items()}
        if not folded_options.get("path"):
            raise InvalidArgumentError(argument="path", reason="set the folder of the table")
        self._path = folded_options["path"]
        self._storage = {
            name.removeprefix(_STORAGE): value
            for name, value in folded_options.items()
            if name.startswith(_STORAGE)
        }
        self._settings = session_settings(
            {n: value for n, value in folded_options.items() if n.startswith(PREFIX.lower())}
        )
        names = folded_options.get(_PARTITION_BY, "").split(",")
        partition_columns = [name.strip() for name in names if name.strip()]
        self._new_metadata: dict[str, Any] | None = None
        self._partition_columns = self._check_table(schema, partition_columns)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFiles:
        """Write the rows of one task."""
        store = self._store()
        entries: list[dict[str, Any]] = []
        batches: list[pa.RecordBatch] = []
        rows = 0
        for batch in iterator:
            batches.append(batch)
            rows += batch.num_rows
            if rows >= _FILE_ROWS:
                entries += self._put(store, batches)
                batches, rows = [], 0
        if rows:
            entries += self._put(store, batches)
        return WrittenFiles(entries=entries)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit the files of all tasks as one version."""
        entries = [entry for message in messages for entry in _entries(message)]
        StateWriter(self._store(), settings=self._settings).commit(
            entries, metadata=self._new_metadata
        )

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the files that tasks reported; files of a failed task are orphans for PURGE."""
        paths = [entry["path"] for message in messages for entry in _entries(message)]
        with suppress(StorageError):
            self._store().delete(paths)

    def _put(self, store: WritableStore, batches: list[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        for values, rows in partitions_of(pa.Table.from_batches(batches), self._partition_columns):
            folder = "".join(f"{_name(name)}={_name(value)}/" for name, value in values.items())
            path = f"{folder}part-{uuid4()}.parquet"
            content = parquet_bytes(rows, without=self._partition_columns)
            store.put(path, content, mode=PutMode.CREATE)
            yield {
                "path": path,
                "partitionValues": values,
                "size": len(content),
                "modificationTime": now_ms(),
                "numRecords": rows.num_rows,
            }

    def _check_table(self, schema: StructType, partition_columns: list[str]) -> list[str]:
        """Return the partition columns of the table; if there is none, prepare its metadata."""
        store = self._store()
        base = read_base(store, INDEXTABLES_HOME)
        if base.version == NO_VERSION:
            if next(iter(store.list(_DELTA_LOG)), None) is not None:
                reason = "it is a Delta table: use a Delta writer"
                raise UnwritableTableError(table=self._path, reason=reason)
            unknown = set(partition_columns) - set(schema.names)
            if unknown:
                reason = f"there are no columns {', '.join(sorted(unknown))}"
                raise InvalidArgumentError(argument="partitionColumns", reason=reason)
            self._new_metadata = new_metadata(
                schema.json(), partition_columns=partition_columns, configuration={}
            )
            return partition_columns
        decoded = msgspec.json.decode(base.metadata or "{}")
        metadata = decoded.get("metaData") or decoded
        table = StructType.fromJson(msgspec.json.decode(metadata["schemaString"]))
        if _shape(table) != _shape(schema):
            reason = f"the table has {table.simpleString()}, and the rows {schema.simpleString()}"
            raise InvalidArgumentError(argument="schema", reason=reason)
        return list(metadata.get("partitionColumns") or ())

    def _store(self) -> WritableStore:
        return open_writable_store(self._path, options=self._storage or None)


def _entries(message: WriterCommitMessage | None) -> list[dict[str, Any]]:
    return message.entries if isinstance(message, WrittenFiles) else []


def _shape(schema: StructType) -> list[tuple[str, str]]:
    """Return names and types; nullability is ignored."""
    return [(field.name, field.dataType.simpleString()) for field in schema.fields]


def _name(text: str | None) -> str:
    return _NULL if text is None else quote(text, safe=" -_.")
