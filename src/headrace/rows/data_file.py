"""One data file to batches of the table's rows."""

from collections.abc import Generator, Iterator, Mapping

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.errors import (
    CorruptDataFileError,
    CorruptDeletionVectorError,
    UnsupportedFeatureError,
)
from headrace.metrics.meter import Meter
from headrace.plan.cancellation import Cancellation
from headrace.protocol.action import DeletionVector
from headrace.rows.calendar import Calendar
from headrace.rows.convert import Convert
from headrace.rows.deletion_vector import DeletedRows, read_deletion_vector
from headrace.rows.parquet_file import data_file_errors, open_parquet
from headrace.rows.request import RowRequest
from headrace.rows.resolve import MismatchError, ShreddedError, StoredColumns
from headrace.rows.row_filter import RowEvidence, true_rows
from headrace.rows.row_group import RowGroupEvidence, matching_groups
from headrace.storage.store import Store


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """A live file, as far as its rows are concerned."""

    uri: str
    deletion_vector: DeletionVector | None
    partition: Mapping[str, pa.Scalar] = msgspec.field(default_factory=dict)
    """The typed value of each partition column, by its name."""
    only: DeletionVector | None = None
    """Only the rows that this vector names; None: all that are not deleted."""


class RowSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where data files are read from, and what is wanted of them."""

    store: Store
    request: RowRequest
    meter: Meter
    cancellation: Cancellation = msgspec.field(default_factory=Cancellation)

    def batches(self, file: DataFile) -> Generator[pa.RecordBatch, None, None]:
        """The wanted rows of one file, in its order; no batch is empty.

        Raises:
            DataFileNotFoundError: the file, or that of its deletion vector, is not there.
            CorruptDataFileError: the file is damaged, or is not what the table says.
            CorruptDeletionVectorError: it cannot be told which rows are deleted.
            UnsupportedFeatureError: the file has a variant, or old times, in a form that is not
                read.
        """
        deleted, only = (
            None if vector is None else read_deletion_vector(self.store, vector)
            for vector in (file.deletion_vector, file.only)
        )
        with (
            data_file_errors(file.uri),
            open_parquet(self.store, file.uri, meter=self.meter) as parquet,
        ):
            _check_vector(file, deleted, parquet.metadata.num_rows)
            yield from _FileRows(self, file, parquet, deleted, only).batches()


class _FileRows:
    """A file that is open."""

    def __init__(
        self,
        source: RowSource,
        file: DataFile,
        parquet: pq.ParquetFile,
        deleted: DeletedRows | None,
        only: DeletedRows | None,
    ) -> None:
        self._request = source.request
        self._meter = source.meter
        self._cancellation = source.cancellation
        self._file = file
        self._parquet = parquet
        self._deleted = deleted
        self._only = only
        try:
            columns = StoredColumns(
                parquet.schema_arrow, match_by=self._request.match_by, prepare=self._old_times
            )
            self._wanted = {f.name: columns.find(f) for f in self._request.stored_columns}
            self._looked_at = {
                path: columns.find(way) for path, way in self._request.filter_columns.items()
            }
        except MismatchError as error:
            raise CorruptDataFileError(path=file.uri, reason=str(error)) from error
        except ShreddedError as error:
            raise UnsupportedFeatureError(table=file.uri, features=[str(error)]) from error

    def _old_times(self, source: pa.DataType, leaf: int) -> Convert | None:
        """How days and times of an older calendar are read; None: there are none."""
        calendar = Calendar.of(self._file.uri, self._parquet.metadata.metadata)
        physical_type = self._parquet.schema.column(leaf).physical_type
        is_old = calendar.is_old(source, physical_type=physical_type)
        return calendar.rebased if is_old else None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The wanted rows."""
        footer = self._parquet.metadata
        starts = _starts(footer)
        groups = self._groups(footer)
        self._meter.count(row_groups_skipped=footer.num_row_groups - len(groups))
        leaves = self._leaves()
        for group in groups:
            row = starts[group]
            for batch in self._stored(group, leaves):
                self._cancellation.check()
                rows = self._rows(batch, row)
                row += batch.num_rows
                if rows.num_rows:
                    yield rows

    def _groups(self, footer: pq.FileMetaData) -> list[int]:
        if self._request.predicate is None:
            return list(range(footer.num_row_groups))
        evidence = RowGroupEvidence(footer, self._looked_at, self._file.partition)
        return matching_groups(self._request.predicate, evidence)

    def _leaves(self) -> list[int]:
        found: set[int] = set()
        for column in (*self._wanted.values(), *self._looked_at.values()):
            if column is not None:
                found |= column.reading.leaves
        return sorted(found)

    def _stored(self, group: int, leaves: list[int]) -> Iterator[pa.RecordBatch]:
        """What the file holds of a row group, in the file's own terms."""
        if not leaves:
            yield from _bare(self._parquet.metadata.row_group(group).num_rows, self._request)
            return
        paths = [self._parquet.schema.column(leaf).path for leaf in leaves]
        chunks = self._parquet.metadata.row_group(group)
        sizes = (chunks.column(leaf).total_compressed_size for leaf in leaves)
        self._meter.count(bytes_read=sum(sizes), requests=1)
        yield from self._parquet.iter_batches(
            batch_size=self._request.rows_per_batch,
            row_groups=[group],
            columns=paths,
            use_threads=False,
        )

    def _rows(self, batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
        """The rows of a batch that are neither deleted nor ruled out, as the table has them."""
        keep = None
        if self._deleted is not None:
            keep = self._deleted.kept(first_row, batch.num_rows)
        if self._only is not None:
            named = self._only.named(first_row, batch.num_rows)
            keep = named if keep is None else pc.and_(keep, named)
        if self._request.predicate is not None:
            evidence = RowEvidence(batch, self._looked_at, self._file.partition)
            matching = true_rows(self._request.predicate, evidence)
            keep = matching if keep is None else pc.and_(keep, matching)
        if keep is not None:
            batch = _filtered(batch, keep)
        schema = self._request.output_schema
        if not schema.names:
            return batch.select([])
        arrays = [self._column(f, batch) for f in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _column(self, wanted: pa.Field, batch: pa.RecordBatch) -> pa.Array:
        if wanted.name not in self._wanted:
            return pa.repeat(self._file.partition[wanted.name], batch.num_rows)
        column = self._wanted[wanted.name]
        if column is None:
            return pa.nulls(batch.num_rows, wanted.type)
        return column.read(batch)


def _starts(footer: pq.FileMetaData) -> list[int]:
    """The index of the first row of each row group."""
    starts, row = [], 0
    for group in range(footer.num_row_groups):
        starts.append(row)
        row += footer.row_group(group).num_rows
    return starts


def _bare(rows: int, request: RowRequest) -> Iterator[pa.RecordBatch]:
    """Batches that have rows and no columns: all that is to be known is in the footer."""
    for start in range(0, rows, request.rows_per_batch):
        count = min(request.rows_per_batch, rows - start)
        yield pa.RecordBatch.from_arrays([pa.nulls(count)], ["row"]).select([])


def _filtered(batch: pa.RecordBatch, keep: pa.BooleanArray) -> pa.RecordBatch:
    if batch.num_columns:
        return batch.filter(keep)
    count = pc.sum(keep, min_count=0).as_py()
    return pa.RecordBatch.from_arrays([pa.nulls(count)], ["row"]).select([])


def _check_vector(file: DataFile, deleted: DeletedRows | None, rows: int) -> None:
    if deleted is not None and file.deletion_vector is not None:
        last = deleted.last
        if last is not None and last >= rows:
            raise CorruptDeletionVectorError(
                vector=file.deletion_vector.unique_id,
                reason=f"it deletes row {last} of {file.uri}, which has {rows}",
            )
