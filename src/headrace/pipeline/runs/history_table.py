"""A Delta table of the artifact store: written through the commit room, read by the kernel.

Tables are not partitioned. Rows are appended in the order of time, so the statistics of date and
run id prune files as partitions would, and files of different days can be merged.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.commit.action import AddFile, RemoveFile, TableFormat, TableMetadata
from headrace.commit.body import CommitBody
from headrace.commit.definition import check_writable, new_metadata, new_protocol, schema_string
from headrace.commit.log import NO_VERSION
from headrace.commit.staged import Committed, Staged
from headrace.commit.upkeep import write_checkpoint
from headrace.errors import CommitConflictError, HeadraceError, TableNotFoundError
from headrace.pipeline.parquet_statistics import read_statistics
from headrace.scan.live_file import LiveFile
from headrace.storage.store import PutMode, RequestCost, WritableStore
from headrace.table import Snapshot, Table

_ATTEMPTS = 50
_PROPERTIES = {
    "delta.deletedFileRetentionDuration": "interval 1 hours",
    "delta.enableExpiredLogCleanup": "false",
}
"""Tombstones leave checkpoints after an hour; the log is cleaned up by Headrace's own upkeep."""
APPEND, REWRITE = "WRITE", "OPTIMIZE"
"""The operations of commits: one adds rows, the other moves rows between files."""


class HistoryTable:
    """One table of records, in its own store."""

    def __init__(
        self,
        store: WritableStore,
        schema: pa.Schema,
        *,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the store and the schema; the table is created by the first append.

        Args:
            store: The store of the table.
            schema: Its columns.
            options: The options of the store, for readers that open the table by its address.
        """
        self.store = store
        self.schema = schema
        self._options = options
        self._cached: Snapshot | None = None

    def snapshot(self) -> Snapshot | None:
        """Return the newest version; None if there is no table yet. Only new commits are read."""
        try:
            cached = self._cached
            self._cached = self._open().snapshot() if cached is None else cached.refresh()
        except TableNotFoundError:
            self._cached = None
        return self._cached

    def _open(self) -> Table:
        is_local = self.store.request_cost is RequestCost.LOCAL
        options = None if is_local else self._options or None
        return Table(self.store.root, storage_options=options)

    def write_checkpoint(self) -> None:
        """Write a checkpoint of the newest version.

        Raises:
            DeltaError, InvalidArgumentError, CredentialError: deltalake cannot write it.
        """
        write_checkpoint(self.store.root, options=self._options)

    def forget(self) -> None:
        """Drop the cached snapshot, since files that it may need have been deleted."""
        self._cached = None

    def version(self) -> int:
        """Return the newest version number; `NO_VERSION` if there is no table yet."""
        snapshot = self.snapshot()
        return NO_VERSION if snapshot is None else snapshot.version

    def read(self, columns: Sequence[str], *, where: str | None = None) -> pa.Table:
        """Return columns of the rows that match a condition.

        A column that the table of an earlier release lacks is null.
        """
        schema = pa.schema([self.schema.field(name) for name in columns])
        snapshot = self.snapshot()
        if snapshot is None:
            return schema.empty_table()
        stored = [name for name in columns if name in snapshot.schema.names]
        with snapshot.rows(where=where, columns=stored) as reader:
            rows = reader.read_all()
        return pa.Table.from_arrays(
            [
                rows[field.name].cast(field.type)
                if field.name in stored
                else pa.chunked_array([pa.nulls(rows.num_rows, field.type)])
                for field in schema
            ],
            schema=schema,
        )

    def rows(self, columns: Sequence[str], *, where: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the result of `read`, row by row."""
        yield from self.read(columns, where=where).to_pylist()

    def append(self, rows: pa.Table) -> int:
        """Add rows, and return the version that has them.

        Raises:
            StorageError: the store failed; the rows are not part of the table.
            CommitUnknownError: the store failed, and cannot say whether they are.
            CommitConflictError: other writers kept committing first.
        """
        self.unpartition()
        first = self.version()
        add = self.write_file(rows, data_change=True)
        staged = Staged(self.store, paths=(add.path,), commit_id=uuid4().hex, is_durable=True)
        try:
            return self._commit_appended(staged, add)
        except HeadraceError:
            version = _settle(staged, after=first)
            if version is None:
                raise
            return version

    def _commit_appended(self, staged: Staged, add: AddFile) -> int:
        for _ in range(_ATTEMPTS):
            snapshot = self.snapshot()
            if snapshot is None:
                text = schema_string(self.schema)
                body = CommitBody(
                    operation=APPEND,
                    protocol=new_protocol(text, change_feed=False),
                    metadata=new_metadata(
                        text,
                        name=None,
                        description=None,
                        partition_columns=(),
                        configuration=_PROPERTIES,
                    ),
                    adds=(add,),
                )
                version = 0
            else:
                self._check_writable(snapshot)
                body, version = CommitBody(operation=APPEND, adds=(add,)), snapshot.version + 1
            outcome = staged.commit(body, version=version)
            if isinstance(outcome, Committed):
                return outcome.version
        raise CommitConflictError(table=self.store.root, attempts=_ATTEMPTS)

    def replace_files(
        self, snapshot: Snapshot, files: Sequence[LiveFile], rows: pa.Table
    ) -> int | None:
        """Replace files of a snapshot by one file with the same rows.

        Returns:
            The new version; None if another writer committed first, so that nothing changed.
        """
        self._check_writable(snapshot)
        add = self.write_file(rows, data_change=False)
        staged = Staged(self.store, paths=(add.path,), commit_id=uuid4().hex, is_durable=True)
        body = CommitBody(
            operation=REWRITE,
            metadata=self._unpartitioned(snapshot) if snapshot.partition_columns else None,
            adds=(add,),
            removes=tuple(_remove_action(file) for file in files),
        )
        try:
            outcome = staged.commit(body, version=snapshot.version + 1)
        except HeadraceError:
            version = _settle(staged, after=snapshot.version)
            if version is None:
                raise
            return version
        if isinstance(outcome, Committed):
            return outcome.version
        return _settle(staged, after=snapshot.version)

    def unpartition(self) -> None:
        """Rewrite a table that an earlier release partitioned by date; otherwise do nothing."""
        for _ in range(_ATTEMPTS):
            snapshot = self.snapshot()
            if snapshot is None or not snapshot.partition_columns:
                return
            self.replace_files(snapshot, list(snapshot.scan()), self.read(self.schema.names))
        raise CommitConflictError(table=self.store.root, attempts=_ATTEMPTS)

    def write_file(self, rows: pa.Table, *, data_change: bool) -> AddFile:
        """Write a data file that no version references yet, and return its log entry."""
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, self.schema, compression="zstd") as writer:
            writer.write_table(rows.select(self.schema.names).cast(self.schema))
        content = sink.getvalue()
        path = f"part-{uuid4()}.parquet"
        self.store.put(path, content.to_pybytes(), mode=PutMode.CREATE)
        return AddFile(
            path=path,
            partition_values={},
            size=content.size,
            modification_time=_now_ms(),
            data_change=data_change,
            stats=read_statistics(pq.read_metadata(pa.BufferReader(content)), self.schema),
        )

    def _check_writable(self, snapshot: Snapshot) -> None:
        check_writable(
            snapshot.protocol, snapshot.metadata, table=self.store.root, removes_files=True
        )

    def _unpartitioned(self, snapshot: Snapshot) -> TableMetadata:
        return TableMetadata(
            id=snapshot.metadata.id,
            schema_string=schema_string(self.schema),
            partition_columns=[],
            configuration=_PROPERTIES,
            format=TableFormat(provider="parquet", options={}),
            created_time=snapshot.metadata.created_time,
        )


def _remove_action(file: LiveFile) -> RemoveFile:
    return RemoveFile(
        path=file.path,
        deletion_timestamp=_now_ms(),
        data_change=False,
        partition_values=dict(file.partition_values),
        size=file.size_bytes,
        extended_file_metadata=True,
        deletion_vector=file.deletion_vector,
    )


def _settle(staged: Staged, *, after: int) -> int | None:
    """Settle a commit whose outcome is unknown: return its version, or None if it failed.

    The files of a failed commit are deleted, unless the log cannot be read now.
    """
    try:
        committed = staged.abandon(after=after)
    except HeadraceError:
        return None
    return None if committed is None else committed.version


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def literal(text: str) -> str:
    """Return a string as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
