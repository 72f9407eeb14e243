"""The data files of a scan, one by one, as the log gives them."""

from collections.abc import Generator
from typing import Any

import pyarrow as pa

from headrace.plan.cancellation import Cancellation
from headrace.plan.context import ExecutionContext
from headrace.protocol.action import DeletionVector
from headrace.rows.data_file import DataFile
from headrace.rows.request import RowRequest
from headrace.scan.arrow_files import add_fields, arrow_files
from headrace.scan.live_file import FileContext
from headrace.scan.scan import Scan


def data_files(
    scan: Scan, context: FileContext, request: RowRequest, cancellation: Cancellation
) -> Generator[DataFile, None, None]:
    """What is needed of each live file to read its rows, and no more of the log."""
    columns = ["uri", "deletion_vector"]
    if request.needs_partition:
        columns.append("typed_partition_values")
    reading = ExecutionContext(settings=scan.options, cancellation=cancellation)
    with scan.replay(reading, projection=add_fields(columns)) as run:
        for batch in run:
            for file in data_files_of(arrow_files(batch, context, columns)):
                reading.meter.give(1)
                yield file


def data_files_of(records: pa.RecordBatch) -> Generator[DataFile, None, None]:
    """The same from live files that are columns already; `only_vector` may be one of them."""
    uris, vectors = records["uri"], records["deletion_vector"]
    typed = "typed_partition_values"
    values = records[typed] if typed in records.schema.names else None
    only = records["only_vector"] if "only_vector" in records.schema.names else None
    for row in range(records.num_rows):
        yield DataFile(
            uri=uris[row].as_py(),
            deletion_vector=_vector(vectors[row].as_py()),
            partition={} if values is None else dict(values[row].items()),
            only=None if only is None else _vector(only[row].as_py()),
        )


def _vector(found: dict[str, Any] | None) -> DeletionVector | None:
    return None if found is None else DeletionVector(**found)
