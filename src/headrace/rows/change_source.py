"""Reads files of changed rows into batches with the columns of a change feed.

`ChangedFile` values enter; record batches leave.
"""

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
    """A file, or some of its rows, and the type of change."""

    file: DataFile
    change_type: pa.Scalar
    """Null for files of change data, where each row has its own."""
    version: pa.Scalar
    time: pa.Scalar


def changed_files_of(records: pa.RecordBatch) -> Iterator[ChangedFile]:
    """Return the files in a batch from `changed_files`."""
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
        """Prepare to read changed rows from a store."""
        return cls(
            data=open_source(store, request=request, context=context),
            change_data=open_source(store, request=with_change_type(request), context=context),
        )

    def close(self) -> None:
        """Cancel prefetches that have not started."""
        self.data.close()
        self.change_data.close()

    def batches(self, changed: ChangedFile) -> Generator[pa.RecordBatch, None, None]:
        """Yield the changed rows of one file: the table's columns, then those of the feed."""
        kind = changed.change_type
        source = self.data if kind.is_valid else self.change_data
        for batch in source.batches(changed.file):
            rows = batch
            if kind.is_valid:
                rows = rows.append_column(CHANGE_TYPE.name, pa.repeat(kind, len(batch)))
            rows = rows.append_column(COMMIT_VERSION.name, pa.repeat(changed.version, len(batch)))
            yield rows.append_column(COMMIT_TIMESTAMP.name, pa.repeat(changed.time, len(batch)))
