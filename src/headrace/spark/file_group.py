"""Groups of data files: what one task of the data source reads.

Files enter as the columns that a scan gives; they are cut into groups of about the same size. On
a worker a group becomes rows, by the same reader that `Snapshot.rows` has, in the columns that
Spark was promised.
"""

from collections.abc import Iterator
from itertools import pairwise

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import types as spark
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from headrace.plan.context import ExecutionContext
from headrace.rows.data_file import RowSource
from headrace.rows.live_source import data_files_of
from headrace.rows.open import open_source
from headrace.rows.option import RowOptions
from headrace.rows.request import RowRequest
from headrace.spark.feed_column import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    FEED_FIELDS,
    with_change_type,
)
from headrace.storage.store import Store

FILE_COLUMNS = ("uri", "deletion_vector", "typed_partition_values", "size_bytes")
"""The columns of a live file that tell how to read it."""

_OPENING_BYTES = 4 << 20
"""What opening a file counts for, so that many small files do not end up in one task."""


class FileGroup(InputPartition):
    """Files that one task reads: their columns, as Arrow IPC."""

    def __init__(self, files: pa.Table) -> None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, files.schema) as writer:
            writer.write_table(files)
        super().__init__(sink.getvalue().to_pybytes())

    def files(self) -> Iterator[pa.RecordBatch]:
        """The columns again."""
        with pa.ipc.open_stream(self.value) as reader:
            yield from reader


def group_files(files: pa.Table, *, partition_bytes: int) -> list[FileGroup]:
    """Cut files into groups, in their order; one that is larger than a group has its own."""
    if not files.num_rows:
        return []
    weights = files.column("size_bytes").to_numpy() + _OPENING_BYTES
    before = np.cumsum(weights) - weights
    number = before // max(partition_bytes, _OPENING_BYTES)
    starts = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), files.num_rows]
    return [
        FileGroup(files.slice(start, end - start).combine_chunks())
        for start, end in pairwise(starts)
    ]


class GroupReader(msgspec.Struct, frozen=True, kw_only=True):
    """Reads groups on a worker. It pickles."""

    store: Store
    request: RowRequest
    schema: spark.StructType
    options: RowOptions = RowOptions()

    def read(self, group: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a group's files, in the columns that Spark expects."""
        if not isinstance(group, FileGroup):
            return  # Spark's own, where there is no group at all
        expected = to_arrow_schema(self.schema, timezone="UTC")
        for files in group.files():
            feed = COMMIT_VERSION.name in files.schema.names
            for batch in self._changes(files) if feed else self._rows(files):
                yield batch.cast(expected)

    def _source(self, request: RowRequest) -> RowSource:
        context = ExecutionContext(settings=self.options)
        return open_source(self.store, request=request, context=context)

    def _rows(self, files: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        source = self._source(self.request)
        for file in data_files_of(files):
            yield from source.batches(file)

    def _changes(self, files: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows with what became of them, by the file's own account where it has one."""
        plain = self._source(self.request)
        told = self._source(with_change_type(self.request))
        columns = (files.column(field.name) for field in FEED_FIELDS)
        for file, kind, version, time in zip(data_files_of(files), *columns, strict=True):
            source = plain if kind.is_valid else told
            for batch in source.batches(file):
                rows = batch
                if kind.is_valid:
                    rows = rows.append_column(CHANGE_TYPE.name, pa.repeat(kind, len(batch)))
                rows = rows.append_column(COMMIT_VERSION.name, pa.repeat(version, len(batch)))
                yield rows.append_column(COMMIT_TIMESTAMP.name, pa.repeat(time, len(batch)))
