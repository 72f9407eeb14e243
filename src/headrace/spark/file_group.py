"""Groups of data files: one task of the data source reads one group.

Files enter as the columns of a scan and are divided into groups of about equal size. On a worker, a
group is read in the same way as `Snapshot.rows`, and its rows leave in the promised columns.
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
"""The columns of a live file that are needed to read it."""

_OPENING_BYTES = 4 << 20
"""The cost of opening a file, so that many small files do not end up in one task."""


class FileGroup(InputPartition):
    """The files that one task reads, as Arrow IPC."""

    def __init__(self, files: pa.Table) -> None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, files.schema) as writer:
            writer.write_table(files)
        super().__init__(sink.getvalue().to_pybytes())

    def files(self) -> Iterator[pa.RecordBatch]:
        """Return the files as columns."""
        with pa.ipc.open_stream(self.value) as reader:
            yield from reader


def group_files(files: pa.Table, *, partition_bytes: int) -> list[FileGroup]:
    """Divide files into groups, in order; a file larger than a group gets its own."""
    if not files.num_rows:
        return []
    weights = files.column("size_bytes").to_numpy() + _OPENING_BYTES
    before = np.cumsum(weights) - weights
    group_number = before // max(partition_bytes, _OPENING_BYTES)
    starts = [0, *(np.flatnonzero(np.diff(group_number)) + 1).tolist(), files.num_rows]
    return [
        FileGroup(files.slice(start, end - start).combine_chunks())
        for start, end in pairwise(starts)
    ]


class FileGroupReader(msgspec.Struct, frozen=True, kw_only=True):
    """Reads groups on a worker. It can be pickled."""

    store: Store
    request: RowRequest
    schema: spark.StructType
    options: RowOptions = RowOptions()
    late_condition: ZonedCondition | None = None
    """The condition on rows whose time zone is known only in a task."""

    def read(self, group: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a group's files, in the columns that Spark expects."""
        if not isinstance(group, FileGroup):
            return  # Spark passes a partition of its own if there are no groups
        expected = to_arrow_schema(self.schema, timezone="UTC")
        request = self.request
        if self.late_condition is not None:
            request = msgspec.structs.replace(request, predicate=self.late_condition.in_task())
        for files in group.files():
            has_changes = COMMIT_VERSION.name in files.schema.names
            batches = self._changes(files, request) if has_changes else self._rows(files, request)
            for batch in batches:
                yield batch.cast(expected)

    def _rows(self, files: pa.RecordBatch, request: RowRequest) -> Iterator[pa.RecordBatch]:
        context = ExecutionContext(settings=self.options)
        source = open_source(self.store, request=request, context=context)
        for file in data_files_of(files):
            yield from source.batches(file)

    def _changes(self, files: pa.RecordBatch, request: RowRequest) -> Iterator[pa.RecordBatch]:
        """Add the change columns, from the file itself if it has them."""
        context = ExecutionContext(settings=self.options)
        source = ChangeSource.open(self.store, request=request, context=context)
        for changed in changed_files_of(files):
            yield from source.batches(changed)
