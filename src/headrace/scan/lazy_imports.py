"""The protocol for the libraries that a scan imports on first use: Arrow and asyncio.

A scan depends only on this protocol; `headrace.wiring` passes in its implementation.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from headrace.phases.scan_request import ScanOutcome
from headrace.plan.batch import ActionBatch
from headrace.plan.cancellation import Cancellation
from headrace.scan.label import ListLabel
from headrace.scan.live_file import FileContext
from headrace.scan.reader import BatchReader
from headrace.scan.run import Run

T = TypeVar("T")

RecordBatch: TypeAlias = Any
"""A `pyarrow.RecordBatch`, named so that a scan does not import Arrow."""
ArrowBatches: TypeAlias = Any
"""A `pyarrow.Table`, or anything that is or yields record batches; named for the same reason."""
ArrowSchema: TypeAlias = Any
"""A `pyarrow.Schema`, named for the same reason."""
RecordBatchReader: TypeAlias = Any
"""A `pyarrow.RecordBatchReader`, named for the same reason."""


class LazyImports(Protocol):
    """The parts of Arrow and asyncio that a scan needs."""

    def files_schema(self, context: FileContext, columns: Sequence[str] | None) -> ArrowSchema:
        """Return the Arrow schema of live files."""

    def files_batches(
        self, batch: ActionBatch, context: FileContext, columns: Sequence[str] | None
    ) -> Sequence[RecordBatch]:
        """Return the adds of a batch as Arrow batches."""

    def add_fields(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the fields of an add that these Arrow columns need."""

    def bring_up_to_date(
        self,
        previous: ArrowBatches,
        run: Run[ScanOutcome],
        context: FileContext,
        label: ListLabel,
    ) -> Generator[RecordBatch, None, None]:
        """Yield the newer list of files, from an older list and the commits since."""

    def reader(self, schema: ArrowSchema, batches: Iterable[RecordBatch]) -> RecordBatchReader:
        """Return Arrow's own reader over batches of one schema."""

    def in_bulk(
        self, source: Generator[T, None, None], cancellation: Cancellation
    ) -> AsyncGenerator[T, None]:
        """Iterate a generator of many small items in asyncio."""

    def one_by_one(self, source: BatchReader[T]) -> AsyncIterator[T]:
        """Iterate a few large items in asyncio."""
