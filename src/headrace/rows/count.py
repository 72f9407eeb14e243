"""Counts rows exactly, from statistics and deletion vectors where they suffice.

A file is counted by its statistics if they contain its number of rows and prove that all of them
match; files that cannot match are not listed. All other files are read: only their footers without
a condition, and only the columns of the condition with one.
"""

from collections.abc import Generator

import pyarrow.compute as pc

from headrace.engines.arrow.add_columns import add_columns
from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.plan.context import ExecutionContext
from headrace.protocol import light
from headrace.replay.evidence import record_counts
from headrace.replay.skipping import certain_mask
from headrace.rows.data_file import DataFile
from headrace.rows.live_source import data_files_of
from headrace.rows.open import open_source
from headrace.rows.option import RowOptions
from headrace.rows.request import RowRequest
from headrace.rows.row_count import RowCount
from headrace.rows.stream import stream_batches
from headrace.scan.arrow_files import add_fields, arrow_files, vector_cardinalities
from headrace.scan.scan import Scan
from headrace.storage.store import Store

_FILE_COLUMNS = ("uri", "deletion_vector", "typed_partition_values")


def count_rows(scan: Scan, *, store: Store, request: RowRequest, options: RowOptions) -> RowCount:
    """Count the matching rows of a scan's files.

    Args:
        scan: The files that may contain matching rows.
        store: The store of the files.
        request: The condition, with no columns.
        options: How to read the files that must be read.

    Raises:
        UnsupportedPredicateError: the condition cannot be evaluated by rows.
        DamageError: a file that must be read cannot be.
    """
    request.filter_columns  # noqa: B018  (raises for what it cannot evaluate, before anything is read)
    execution = ExecutionContext(settings=options)
    known = _CountByStatistics(scan, execution)
    source = open_source(store, request=request, context=execution)
    with_rows = stream_batches(
        known.files_to_read(),
        source.batches,
        options=options,
        cancellation=execution.cancellation,
        release=source.close,
    )
    rows = sum(batch.num_rows for batch in with_rows)
    return RowCount.of(
        known.rows + rows, files_from_statistics=known.known_files, files_read=known.unknown_files
    )


class _CountByStatistics:
    """Counts files by their statistics, and yields the files that must be read."""

    def __init__(self, scan: Scan, execution: ExecutionContext) -> None:
        self._scan = scan
        self._execution = execution
        self.rows = 0
        self.known_files = 0
        self.unknown_files = 0

    def files_to_read(self) -> Generator[DataFile, None, None]:
        """Yield the files that must be read; at its end, all others have been counted."""
        fields = (*add_fields(_FILE_COLUMNS), "stats")
        projection = (*fields, "stats_parsed.numRecords")
        with self._scan.replay(self._execution, projection=projection) as run:
            for batch in run:
                files = add_columns(batch, fields)
                self._execution.meter.count_emitted(len(files))
                unknown = self._count(files)
                self.unknown_files += len(unknown)
                if len(unknown):
                    yield from data_files_of(
                        arrow_files(unknown, self._scan.context, _FILE_COLUMNS)
                    )

    def _count(self, files: ColumnBatch) -> ColumnBatch:
        """Count the files with sufficient statistics, and return the others."""
        live = pc.subtract(record_counts(files), vector_cardinalities(files))
        is_known = pc.fill_null(pc.greater_equal(live, light.scalar(0)), light.FALSE)
        predicate = self._scan.request.predicate
        if predicate is not None:
            is_known = pc.and_(is_known, certain_mask(predicate, files))
        self.rows += pc.sum(live.filter(is_known), min_count=0).as_py()
        self.known_files += is_known.true_count
        return files.filter(pc.invert(is_known)) if is_known.true_count else files
