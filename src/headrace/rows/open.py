"""Opens a reader for the rows of a scan.

A scan, a store and a `RowRequest` enter; a `RowReader` leaves, which has read nothing yet.
"""

from collections.abc import Iterator

import msgspec
import pyarrow as pa

from headrace.engines.execution_store import execution_store
from headrace.plan.context import ExecutionContext
from headrace.rows.data_file import RowSource
from headrace.rows.file_bytes import FileBytes
from headrace.rows.live_source import data_files
from headrace.rows.metrics import RowMetrics
from headrace.rows.option import RowOptions
from headrace.rows.reader import Batches, RowReader
from headrace.rows.request import RowRequest
from headrace.rows.small_files import GroupReader
from headrace.rows.stream import stream_batches
from headrace.scan.live_file import FileContext
from headrace.scan.scan import Scan
from headrace.storage.store import Store


def open_rows(  # noqa: PLR0913  (the parts)
    scan: Scan,
    *,
    context: FileContext,
    store: Store,
    request: RowRequest,
    options: RowOptions,
    limit: int | None,
) -> RowReader:
    """Return a reader of the scan's rows; it reads several files while the log is replayed.

    Raises:
        UnsupportedPredicateError: the predicate cannot be evaluated by rows.
    """
    request.filter_columns  # noqa: B018  (raises for what it cannot evaluate, before anything is read)
    if limit and request.predicate is None:
        # Without a condition every row counts towards the limit: larger batches are not needed.
        rows_per_batch = min(limit, request.rows_per_batch)
        request = msgspec.structs.replace(request, rows_per_batch=rows_per_batch)
    execution = ExecutionContext(settings=options)
    source = open_source(store, request=request, context=execution)
    stream = stream_batches(
        data_files(scan, context, request, execution.cancellation),
        GroupReader(source).batches,
        options=options,
        cancellation=execution.cancellation,
        release=source.close,
        start_with=None if limit is None else 1,
    )
    batches: Batches = stream if limit is None else _Limited(stream, limit)
    return RowReader(request.output_schema, batches, metrics=RowMetrics(scan, source.meter))


def open_source(store: Store, *, request: RowRequest, context: ExecutionContext) -> RowSource:
    """Return the access to the data files of a store for one execution."""
    return RowSource(
        files=FileBytes(execution_store(store, context)),
        request=request,
        meter=context.meter,
        cancellation=context.cancellation,
    )


class _Limited:
    """Yields the first rows of batches, then stops the reading."""

    def __init__(self, batches: Batches, limit: int) -> None:
        self._batches = batches
        self._rows_left = limit

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        if not self._rows_left:
            raise StopIteration
        batch = next(self._batches).slice(0, self._rows_left)
        self._rows_left -= batch.num_rows
        if not self._rows_left:
            self._batches.close()
        return batch

    def lift_backpressure(self) -> None:
        """Do nothing: files after the limit must not be read."""

    def stop(self) -> None:
        """Request the end of reading without waiting for it."""
        self._batches.stop()

    def close(self) -> None:
        """Stop."""
        self._batches.close()
