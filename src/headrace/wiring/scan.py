"""Give scans the functions that need Arrow or a SQL parser, imported when they are called."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Sequence
from typing import Any, TypeVar

from headrace.expr.node import Basis, BoundPredicate, Predicate
from headrace.phases.scan_request import ScanOutcome
from headrace.plan.batch import ActionBatch
from headrace.plan.cancellation import Cancellation
from headrace.protocol.schema import StructType
from headrace.scan.changes import FileChange
from headrace.scan.label import ListLabel
from headrace.scan.live_file import FileContext
from headrace.scan.reader import BatchReader
from headrace.scan.run import Run

T = TypeVar("T")


def bound_predicate(
    where: str | Predicate, *, schema: StructType, partition_columns: Sequence[str], basis: Basis
) -> BoundPredicate:
    """Bind a predicate to a table's columns; text is parsed first.

    Raises:
        PredicateSyntaxError, UnknownColumnError, PredicateTypeError: the predicate is invalid.
    """
    from headrace.expr.bind import bind  # noqa: PLC0415

    if isinstance(where, str):
        from headrace.expr.parse import parse_predicate  # noqa: PLC0415

        where = parse_predicate(where)
    return bind(where, schema=schema, partition_columns=partition_columns, basis=basis)


class ScanImports:
    """Functions of scans whose modules are imported only when they are called."""

    def files_schema(self, context: FileContext, columns: Sequence[str] | None) -> Any:
        """Return the `pyarrow.Schema` of live files."""
        from headrace.scan.arrow_files import files_schema  # noqa: PLC0415

        return files_schema(context, columns)

    def files_batches(
        self, batch: ActionBatch, context: FileContext, columns: Sequence[str] | None
    ) -> list[Any]:
        """Return the live files of a batch as `pyarrow.RecordBatch` values."""
        from headrace.scan.arrow_files import arrow_batches  # noqa: PLC0415

        return arrow_batches(batch, context, columns)

    def add_fields(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the fields of an add from which these Arrow columns are built."""
        from headrace.scan.arrow_files import add_fields  # noqa: PLC0415

        return add_fields(columns)

    def bring_up_to_date(
        self, previous: Any, run: Run[ScanOutcome], context: FileContext, label: ListLabel
    ) -> Generator[Any, None, None]:
        """Update an older Arrow list of files with the commits since."""
        from headrace.scan.increment import bring_up_to_date  # noqa: PLC0415

        return bring_up_to_date(previous, run, context, label)

    def changes_schema(self) -> Any:
        """Return the `pyarrow.Schema` of file changes."""
        from headrace.scan.arrow_changes import SCHEMA  # noqa: PLC0415

        return SCHEMA

    def changes_batch(self, changes: Sequence[FileChange]) -> Any:
        """Return file changes as a `pyarrow.RecordBatch`."""
        from headrace.scan.arrow_changes import changes_batch  # noqa: PLC0415

        return changes_batch(changes)

    def reader(self, schema: Any, batches: Iterable[Any]) -> Any:
        """Return a `pyarrow.RecordBatchReader` over batches of one schema."""
        import pyarrow as pa  # noqa: PLC0415

        return pa.RecordBatchReader.from_batches(schema, batches)

    def in_bulk(
        self, source: Generator[T, None, None], cancellation: Cancellation
    ) -> AsyncGenerator[T, None]:
        """Adapt a generator of many small items to asyncio."""
        from headrace.scan.aio import in_bulk  # noqa: PLC0415

        return in_bulk(source, cancellation)

    def one_by_one(self, source: BatchReader[T]) -> AsyncIterator[T]:
        """Adapt an iterator of few large items to asyncio."""
        from headrace.scan.aio import one_by_one  # noqa: PLC0415

        return one_by_one(source)
