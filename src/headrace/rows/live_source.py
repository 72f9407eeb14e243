"""The data files of a scan, as the log is replayed.

A scan enters; `DataFile` values leave, small files in groups. The log is read only as far as the
consumer asks for files.
"""

from collections.abc import Generator, Iterable, Iterator
from typing import Any

import pyarrow as pa

from headrace.plan.batch import ActionBatch
from headrace.plan.cancellation import Cancellation
from headrace.plan.context import ExecutionContext
from headrace.protocol.action import DeletionVector
from headrace.rows.data_file import DataFile
from headrace.rows.request import RowRequest
from headrace.rows.small_files import Grouping
from headrace.scan.arrow_files import add_fields, arrow_files
from headrace.scan.live_file import FileContext
from headrace.scan.scan import Scan


def data_files(
    scan: Scan, context: FileContext, request: RowRequest, cancellation: Cancellation
) -> Generator[tuple[DataFile, ...], None, None]:
    """Yield the live files of a scan, small ones in groups.

    Only the columns of the log that are needed to read rows are read.
    """
    columns = ["uri", "deletion_vector", "size_bytes"]
    if request.needs_partition:
        columns.append("typed_partition_values")
    execution = ExecutionContext(settings=scan.options, cancellation=cancellation)
    grouping = Grouping()

    def groups(run: Iterable[ActionBatch]) -> Iterator[tuple[DataFile, ...]]:
        try:
            for batch in run:
                yield from grouping.add(data_files_of(arrow_files(batch, context, columns)))
        except Exception:
            yield from grouping.flush()  # the files before the error are read first
            raise
        yield from grouping.flush()

    with scan.replay(execution, projection=add_fields(columns)) as run:
        for group in groups(run):
            execution.meter.count_emitted(len(group))
            yield group


def data_files_of(records: pa.RecordBatch) -> Generator[DataFile, None, None]:
    """Yield the data files of a batch of live files, which may have a column `only_vector`."""
    names, rows = records.schema.names, records.num_rows
    uris = records["uri"].to_pylist()
    vectors = map(_vector, records["deletion_vector"].to_pylist())
    only = records["only_vector"].to_pylist() if "only_vector" in names else [None] * rows
    sizes = records["size_bytes"].to_pylist() if "size_bytes" in names else [0] * rows
    partitions = _partitions(records) if "typed_partition_values" in names else [{}] * rows
    for uri, vector, named, size, partition in zip(
        uris, vectors, only, sizes, partitions, strict=True
    ):
        yield DataFile(
            uri=uri,
            deletion_vector=vector,
            only=_vector(named),
            size_bytes=size,
            partition=partition,
        )


def _partitions(records: pa.RecordBatch) -> list[dict[str, pa.Scalar]]:
    """Return the typed partition values of each file, by column."""
    values = records["typed_partition_values"]
    names = [field.name for field in values.type]
    columns = [list(values.field(index)) for index in range(len(names))]
    if not columns:
        return [{} for _ in range(records.num_rows)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _vector(fields: dict[str, Any] | None) -> DeletionVector | None:
    return None if fields is None else DeletionVector(**fields)
