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
from headrace.rows.change_source import ChangeSource, changed_files_of
from headrace.rows.feed_column import COMMIT_VERSION
from headrace.rows.live_source import data_files_of
from headrace.rows.open import open_source
from headrace.rows.option import RowOptions
from headrace.rows.request import RowRequest
from headrace.spark.time_zone import ZonedCondition
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
    late_condition: ZonedCondition | None = None
    """The condition on rows, where only a task knows the zone that it is meant in."""

    def read(self, group: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a group's files, in the columns that Spark expects."""
        if not isinstance(group, FileGroup):
            return  # Spark's own, where there is no group at all
        expected = to_arrow_schema(self.schema, timezone="UTC")
        request = self.request
        if self.late_condition is not None:
            request = msgspec.structs.replace(request, predicate=self.late_condition.in_task())
        for files in group.files():
            feed = COMMIT_VERSION.name in files.schema.names
            for batch in self._changes(files, request) if feed else self._rows(files, request):
                yield batch.cast(expected)

    def _rows(self, files: pa.RecordBatch, request: RowRequest) -> Iterator[pa.RecordBatch]:
        context = ExecutionContext(settings=self.options)
        source = open_source(self.store, request=request, context=context)
        for file in data_files_of(files):
            yield from source.batches(file)

    def _changes(self, files: pa.RecordBatch, request: RowRequest) -> Iterator[pa.RecordBatch]:
        """The rows with what became of them, by the file's own account where it has one."""
        context = ExecutionContext(settings=self.options)
        source = ChangeSource.open(self.store, request=request, context=context)
        for changed in changed_files_of(files):
            yield from source.batches(changed)
