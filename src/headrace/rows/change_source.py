"""Files that hold changed rows, to batches of those rows with the columns of a change feed."""

from collections.abc import Generator, Iterator

import msgspec
import pyarrow as pa

from headrace.plan.context import ExecutionContext
from headrace.rows.data_file import DataFile, RowSource
from headrace.rows.feed_column import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    FEED_FIELDS,
    with_change_type,
)
from headrace.rows.live_source import data_files_of
from headrace.rows.open import open_source
from headrace.rows.request import RowRequest
from headrace.storage.store import Store


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file, or some rows of one, and what a commit did with them."""

    file: DataFile
    change_type: pa.Scalar
    """Null where the file holds change data: each row then has its own."""
    version: pa.Scalar
    time: pa.Scalar


def changed_files_of(records: pa.RecordBatch) -> Iterator[ChangedFile]:
    """The files of a batch that `changed_files` has made."""
    feed = (records.column(field.name) for field in FEED_FIELDS)
    for file, change_type, version, time in zip(data_files_of(records), *feed, strict=True):
        yield ChangedFile(file=file, change_type=change_type, version=version, time=time)


class ChangeSource(msgspec.Struct, frozen=True, kw_only=True):
    """Reads changed rows: from data files, and from files of change data."""

    data: RowSource
    change_data: RowSource

    @classmethod
    def open(
        cls, store: Store, *, request: RowRequest, context: ExecutionContext
    ) -> "ChangeSource":
        """The changed rows in the files of a store."""
        return cls(
            data=open_source(store, request=request, context=context),
            change_data=open_source(store, request=with_change_type(request), context=context),
        )

    def close(self) -> None:
        """Drop the reads that were expected and have not started."""
        self.data.close()
        self.change_data.close()

    def batches(self, changed: ChangedFile) -> Generator[pa.RecordBatch, None, None]:
        """The changed rows of one file, with the columns of the feed after those of the table."""
        kind = changed.change_type
        source = self.data if kind.is_valid else self.change_data
        for batch in source.batches(changed.file):
            rows = batch
            if kind.is_valid:
                rows = rows.append_column(CHANGE_TYPE.name, pa.repeat(kind, len(batch)))
            rows = rows.append_column(COMMIT_VERSION.name, pa.repeat(changed.version, len(batch)))
            yield rows.append_column(COMMIT_TIMESTAMP.name, pa.repeat(changed.time, len(batch)))
