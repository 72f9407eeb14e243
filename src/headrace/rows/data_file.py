"""Reads one data file into batches of the table's rows.

A `DataFile` enters; its matching rows leave, converted and without the deleted ones.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import msgspec
import pyarrow as pa

from headrace.compiled.memory import Memory
from headrace.errors import CorruptDeletionVectorError
from headrace.metrics.meter import Meter
from headrace.plan.cancellation import Cancellation
from headrace.protocol.action import DeletionVector
from headrace.rows.deletion_vector import DeletedRows, read_deletion_vector
from headrace.rows.file_bytes import FileBytes, Read
from headrace.rows.file_plan import PlanCache
from headrace.rows.file_rows import FileRows, OpenFile
from headrace.rows.parquet_file import data_file_errors, open_parquet
from headrace.rows.request import RowRequest
from headrace.rows.stored_rows import StoredRows


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed of a live file to read its rows."""

    uri: str
    deletion_vector: DeletionVector | None
    partition: Mapping[str, pa.Scalar] = msgspec.field(default_factory=dict)
    """The typed value of each partition column, by its name."""
    size_bytes: int = 0
    """The size of the file; 0 if unknown."""
    only: DeletionVector | None = None
    """Read only the rows in this vector; None for all rows that are not deleted."""


class FilePart(msgspec.Struct, frozen=True, kw_only=True):
    """Some stored rows of a file, which may be closed already."""

    uri: str
    content: StoredRows
    first_row: int
    batch: pa.RecordBatch

    def rows(self) -> pa.RecordBatch | None:
        """Return the matching rows, or None if there are none.

        Raises:
            CorruptDataFileError: a value does not fit the table's type.
            UnsupportedFeatureError: old timestamps cannot be rebased exactly.
        """
        with data_file_errors(self.uri):
            return self.content.rows(self.batch, self.first_row)


class RowSource(msgspec.Struct, frozen=True, kw_only=True):
    """Reads data files of a store for one request."""

    files: FileBytes
    request: RowRequest
    meter: Meter
    cancellation: Cancellation = msgspec.field(default_factory=Cancellation)
    plans: PlanCache = msgspec.field(default_factory=PlanCache)
    memory: Memory = msgspec.field(default_factory=Memory)

    def batches(self, file: DataFile) -> Generator[pa.RecordBatch, None, None]:
        """Yield the matching rows of one file in order; no batch is empty.

        Raises:
            DataFileNotFoundError: the file or its deletion vector file does not exist.
            CorruptDataFileError: the file is damaged, or does not match the table's schema.
            UnsupportedFileError: the file is healthy, but uses a feature that is not supported.
            CorruptDeletionVectorError: the deletion vector cannot be decoded.
            UnsupportedFeatureError: the file has variants, or old timestamps, in an unsupported
                form.
        """
        with self._open(file, Read.AS_NEEDED) as rows:
            yield from rows.batches()

    def close(self) -> None:
        """Cancel prefetches that have not started."""
        self.files.close()

    def expect(self, files: Iterable[DataFile]) -> None:
        """Prefetch files of a remote store within the memory budget."""
        for file in files:
            self.files.expect(file.uri, size_bytes=file.size_bytes)

    def parts(self, file: DataFile) -> list[FilePart]:
        """Return the stored rows of a small file.

        Raises:
            HeadraceError: as `batches`.
        """
        with self._open(file, Read.AT_ONCE) as rows:
            return [
                FilePart(uri=file.uri, content=rows.content, first_row=row, batch=batch)
                for row, batch in rows.stored()
            ]

    @contextmanager
    def _open(self, file: DataFile, read: Read) -> Iterator[FileRows]:
        deleted, only = (
            None if vector is None else read_deletion_vector(self.files.store, vector)
            for vector in (file.deletion_vector, file.only)
        )
        reopen = partial(open_parquet, self.files, file.uri, size_bytes=file.size_bytes, read=read)
        with (
            data_file_errors(file.uri) as witness,
            reopen(meter=self.meter) as opened,
        ):
            parquet = opened.parquet
            witness.writer = parquet.metadata.created_by
            witness.reopen = lambda: reopen(meter=Meter())
            _check_vector(file, deleted, parquet.metadata.num_rows)
            content = StoredRows(
                request=self.request,
                plan=self.plans.plan(parquet, self.request, path=file.uri),
                partition=file.partition,
                deleted=deleted,
                only=only,
            )
            yield FileRows(
                OpenFile(
                    source=opened,
                    content=content,
                    memory=self.memory,
                    row_groups=self.files.follow(
                        opened.file,
                        file.uri,
                        parquet.metadata,
                        content.plan.everything.leaf_columns,
                    ),
                ),
                meter=self.meter,
                cancellation=self.cancellation,
            )


def _check_vector(file: DataFile, deleted: DeletedRows | None, rows: int) -> None:
    if deleted is not None and file.deletion_vector is not None:
        last = deleted.last
        if last is not None and last >= rows:
            raise CorruptDeletionVectorError(
                vector=file.deletion_vector.unique_id,
                reason=f"it deletes row {last} of {file.uri}, which has {rows}",
            )
