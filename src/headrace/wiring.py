"""Where the parts are put together.

The only module that constructs stores and engines, and the only one below the command line
that may import inside functions: so `import headrace` stays light, and a cloud client, Arrow
or a SQL parser is paid for by those who use it.
"""

import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from headrace.engines.arrow.executor import ArrowExecutor, Columnar
from headrace.errors import UnsupportedStoreError
from headrace.expr.node import Basis, BoundPredicate
from headrace.phases.scan import ScanOutcome
from headrace.plan.batch import ActionBatch
from headrace.plan.cancellation import Cancellation
from headrace.plan.context import ExecutionContext
from headrace.protocol.schema import StructType
from headrace.rows.option import RowOptions
from headrace.scan.label import ListLabel
from headrace.scan.live_file import FileContext
from headrace.scan.pipeline import Pipeline
from headrace.scan.run import Run
from headrace.scan.scan import Scan
from headrace.storage.local import LocalStore
from headrace.storage.location import local_root, scheme_of
from headrace.storage.reaching import ReachingStore
from headrace.storage.store import Store

T = TypeVar("T")

DEFAULT_CACHE_BYTES = 32 << 20
"""How much a table may remember of each, footers and listings."""


def open_store(uri: str, *, options: Mapping[str, str] | None = None) -> Store:  # noqa: ARG001
    """The store that an address belongs to, rooted there.

    Raises:
        UnsupportedStoreError: no store is known for the scheme.
    """
    if scheme_of(uri) == "file":
        return LocalStore(local_root(uri))
    raise UnsupportedStoreError(uri=uri, known=("local paths", "file://"))


def open_files(store: Store, *, options: Mapping[str, str] | None = None) -> Store:
    """The same store for what the log names: absolute addresses are opened where they are."""
    return ReachingStore(store, open_other=partial(open_store, options=options))


class ColumnarLoader:
    """Makes the columnar half of the embedded engine when it is first needed.

    The footers that it remembers are shared by all runs of one table, and stay behind when it is
    pickled.
    """

    def __init__(self, cache_bytes: int) -> None:
        """Start with nothing remembered."""
        self._cache_bytes = cache_bytes
        self._footers: Any = None

    def __call__(self, store: Store, context: ExecutionContext) -> Columnar:
        """Import the columnar half and bind it to a run."""
        from headrace.engines.arrow.columnar import ArrowColumnar  # noqa: PLC0415
        from headrace.engines.arrow.parquet_source import FooterCache  # noqa: PLC0415

        if self._footers is None:
            self._footers = FooterCache(self._cache_bytes)
        return ArrowColumnar(store, footers=self._footers, context=context)

    def __reduce__(self) -> tuple[Any, ...]:
        return ColumnarLoader, (self._cache_bytes,)

    def clear(self) -> None:
        """Forget the footers, also for the runs that have them."""
        if self._footers is not None:
            self._footers.clear()


def open_executor(store: Store, *, cache_bytes: int = DEFAULT_CACHE_BYTES) -> ArrowExecutor:
    """The default engine over a store."""
    return ArrowExecutor(store, load_columnar=ColumnarLoader(cache_bytes))


def use_lean_memory() -> None:
    """Make Arrow, in this process, use the allocator that gives memory back soonest.

    Arrow's default keeps tens of megabytes for later. The choice is the process's, so a library
    does not make it unasked. Call it before anything else imports Arrow: a part of Arrow stays
    with the allocator that it has begun with.
    """
    if sys.platform == "linux":  # elsewhere Arrow may have been built without it, and says so
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
    import pyarrow as pa  # noqa: PLC0415

    try:
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    except NotImplementedError:
        pa.set_memory_pool(pa.system_memory_pool())


def bound_predicate(
    text: str, *, schema: StructType, partition_columns: Sequence[str], basis: Basis
) -> BoundPredicate:
    """Parse the text of a `where`, and bind it to a table's columns.

    Raises:
        PredicateSyntaxError, UnknownColumnError, PredicateTypeError: it is wrong.
    """
    from headrace.expr.bind import bind  # noqa: PLC0415
    from headrace.expr.parse import parse_predicate  # noqa: PLC0415

    return bind(
        parse_predicate(text), schema=schema, partition_columns=partition_columns, basis=basis
    )


class ScanParts:
    """What scans need only when they are asked for it: imported then, and not before."""

    def files_schema(self, context: FileContext, columns: Sequence[str] | None) -> Any:
        """The `pyarrow.Schema` of live files."""
        from headrace.scan.arrow_files import files_schema  # noqa: PLC0415

        return files_schema(context, columns)

    def files_batches(
        self, batch: ActionBatch, context: FileContext, columns: Sequence[str] | None
    ) -> list[Any]:
        """`pyarrow.RecordBatch` values of live files."""
        from headrace.scan.arrow_files import arrow_batches  # noqa: PLC0415

        return arrow_batches(batch, context, columns)

    def add_fields(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The fields of an add that these Arrow columns are made of."""
        from headrace.scan.arrow_files import add_fields  # noqa: PLC0415

        return add_fields(columns)

    def bring_up_to_date(
        self, previous: Any, run: Run[ScanOutcome], context: FileContext, label: ListLabel
    ) -> Generator[Any, None, None]:
        """An older Arrow list of files and the commits since, as the newer list."""
        from headrace.scan.increment import bring_up_to_date  # noqa: PLC0415

        return bring_up_to_date(previous, run, context, label)

    def in_bulk(
        self, source: Generator[T, None, None], cancellation: Cancellation
    ) -> AsyncGenerator[T, None]:
        """A generator of many small items, for asyncio."""
        from headrace.scan.aio import in_bulk  # noqa: PLC0415

        return in_bulk(source, cancellation)

    def one_by_one(self, source: Pipeline[T]) -> AsyncIterator[T]:
        """An iterator of few large items, for asyncio."""
        from headrace.scan.aio import one_by_one  # noqa: PLC0415

        return one_by_one(source)


def row_request(  # noqa: PLR0913  (what a snapshot knows)
    schema: StructType,
    *,
    context: FileContext,
    predicate: BoundPredicate | None,
    columns: Sequence[str] | None,
    mapping_mode: str | None,
    options: RowOptions,
) -> Any:
    """A `headrace.rows.request.RowRequest`: what is asked of each data file."""
    from headrace.rows.request import RowRequest, choose_columns  # noqa: PLC0415
    from headrace.rows.resolve import MatchBy  # noqa: PLC0415

    return RowRequest(
        schema=schema,
        columns=choose_columns(schema, columns),
        partition_columns=frozenset(column.name for column in context.partition_columns),
        predicate=predicate,
        match_by=MatchBy.ID if mapping_mode == "id" else MatchBy.NAME,
        rows_per_batch=options.rows_per_batch,
    )


def open_rows(  # noqa: PLR0913  (what a snapshot knows)
    scan: Scan,
    *,
    store: Store,
    context: FileContext,
    request: Any,
    options: RowOptions,
    limit: int | None,
) -> Any:
    """A `pyarrow.RecordBatchReader` over the rows of a scan's files."""
    from headrace.rows.open import open_rows as open_reader  # noqa: PLC0415

    return open_reader(
        scan, context=context, store=store, request=request, options=options, limit=limit
    )


def arrow_schema(schema: StructType) -> Any:
    """Turn a Delta schema into a `pyarrow.Schema`."""
    from headrace.protocol.arrow_schema import arrow_schema as convert  # noqa: PLC0415

    return convert(schema)
