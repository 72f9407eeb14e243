"""The live files of a scan as Arrow: limited, labeled, and cached if they are few.

Batches of adds enter; record batches of files leave. A list that was read to its end is kept in
the table's cache, and the next equal scan is served from memory.
"""

from collections.abc import Generator, Iterable, Sequence

import msgspec

from headrace.metrics.meter import Meter
from headrace.phases.scan_request import ScanOutcome
from headrace.scan.argument import column_names
from headrace.scan.file_list_cache import FileListShape, SnapshotFileLists
from headrace.scan.label import ListLabel
from headrace.scan.lazy_imports import ArrowSchema, LazyImports, RecordBatch
from headrace.scan.live_file import FileContext
from headrace.scan.metering import ScanMetering
from headrace.scan.run import Run


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    """Produces the files of one scan as Arrow batches."""

    lazy: LazyImports
    context: FileContext
    file_lists: SnapshotFileLists
    label: ListLabel
    """The label of this scan's lists."""
    shape: FileListShape
    """The shape of its batches with all columns."""
    metering: ScanMetering

    def schema(self, columns: Sequence[str] | None) -> ArrowSchema:
        """Return the schema of the batches, with the label.

        Raises:
            InvalidArgumentError: it is not a list of names, or there is no such column.
        """
        names = None if columns is None else column_names(columns)
        schema = self.lazy.files_schema(self.context, names)
        return schema.with_metadata(self.label.to_metadata())

    @property
    def stream_columns(self) -> list[str] | None:
        """The columns for other libraries, few of which support a struct without fields."""
        if self.context.partition_columns:
            return None
        return [name for name in self.schema(None).names if name != "typed_partition_values"]

    def batches(
        self, run: Run[ScanOutcome], columns: tuple[str, ...] | None, meter: Meter
    ) -> Generator[RecordBatch, None, None]:
        """Yield the files of a `Run`, or those of an equal earlier scan from memory."""
        limit = self.label.limit
        if limit == 0:
            return
        shape = msgspec.structs.replace(self.shape, columns=columns)
        known = self.file_lists.find(shape)
        if known is not None:
            meter.count(listing_cache_hits=1)
            yield from self.up_to_limit(known)
            return
        recording = self.file_lists.record(shape)
        with run:
            batches = (
                files
                for batch in run
                for files in self.lazy.files_batches(batch, self.context, columns)
            )
            files = yield from self.up_to_limit(recording.watch(batches))
        if files != limit:
            self.metering.compare(files, None)
            recording.complete()

    def up_to_limit(self, batches: Iterable[RecordBatch]) -> Generator[RecordBatch, None, int]:
        """Yield labeled batches up to the limit, and return their number of files."""
        files, limit, label = 0, self.label.limit, self.label.to_metadata()
        for batch in batches:
            limited = batch if limit is None else batch.slice(0, limit - files)
            files += limited.num_rows
            yield limited.replace_schema_metadata(label)
            if files == limit:
                break
        return files
