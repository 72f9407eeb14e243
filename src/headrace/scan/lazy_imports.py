"""What a scan imports when it is first needed: Arrow and asyncio.

The scan knows this protocol; `headrace.wiring` passes in the module that imports the rest.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from headrace.phases.scan import ScanOutcome
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
"""A `pyarrow.Table`, or anything else that is or gives record batches, likewise."""
ArrowSchema: TypeAlias = Any
"""A `pyarrow.Schema`, likewise."""
RecordBatchReader: TypeAlias = Any
"""A `pyarrow.RecordBatchReader`, likewise."""


class LazyImports(Protocol):
    """Arrow and asyncio, as far as a scan needs them."""

    def files_schema(self, context: FileContext, columns: Sequence[str] | None) -> ArrowSchema:
        """The Arrow columns of live files."""

    def files_batches(
        self, batch: ActionBatch, context: FileContext, columns: Sequence[str] | None
    ) -> Sequence[RecordBatch]:
        """The adds of a batch as Arrow."""

    def add_fields(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The fields of an add that these Arrow columns are made of."""

    def bring_up_to_date(
        self,
        previous: ArrowBatches,
        run: Run[ScanOutcome],
        context: FileContext,
        label: ListLabel,
    ) -> Generator[RecordBatch, None, None]:
        """An older list of files and the commits since, as the newer list."""

    def reader(self, schema: ArrowSchema, batches: Iterable[RecordBatch]) -> RecordBatchReader:
        """Batches of one schema, as Arrow's own reader."""

    def in_bulk(
        self, source: Generator[T, None, None], cancellation: Cancellation
    ) -> AsyncGenerator[T, None]:
        """A generator of many small items, for asyncio."""

    def one_by_one(self, source: BatchReader[T]) -> AsyncIterator[T]:
        """An iterator of few large items, for asyncio."""
