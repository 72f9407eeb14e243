"""Construct stores and engines, and import optional libraries on demand.

This is the only module that constructs stores and engines. It is also the only one below the
command line that may import inside functions. So `import headrace` stays light, and a cloud
client, Arrow or a SQL parser is loaded only when it is used.

It is longer than other modules because imports on demand are kept in one place.
"""

import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import chain
from threading import Lock
from typing import Any, TypeVar

from headrace.engines.arrow.arrow_part import Checkpoints, Columnar
from headrace.engines.arrow.executor import ArrowExecutor
from headrace.engines.log_bytes import LogBytes, LogCache
from headrace.errors import MissingExtraError, UnsupportedStoreError
from headrace.expr.node import Basis, BoundPredicate, Predicate
from headrace.phases.changes import ChangeRequest
from headrace.phases.scan_request import ScanOutcome
from headrace.plan.batch import ActionBatch
from headrace.plan.cancellation import Cancellation
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.protocol.column_mapping import MappingMode
from headrace.protocol.schema import StructType
from headrace.protocol.state import StateManifest
from headrace.rows.option import RowOptions
from headrace.rows.row_count import RowCount
from headrace.scan.changes import FileChange
from headrace.scan.label import ListLabel
from headrace.scan.live_file import FileContext
from headrace.scan.reader import BatchReader
from headrace.scan.run import Run
from headrace.scan.scan import Scan
from headrace.storage.address import SCHEMES, Address, Service, parse_address
from headrace.storage.local import LocalStore
from headrace.storage.location import local_root, scheme_of, without_secrets
from headrace.storage.option import HiddenOptions, check_local_options, full_address, parse_options
from headrace.storage.retrying_write import RetryingWritableStore
from headrace.storage.routing import RoutingStore
from headrace.storage.store import Store, WritableStore

T = TypeVar("T")

_READERS = (
    *("headrace.avro.state_file", "headrace.engines.arrow.columnar", "headrace.expr.bind"),
    *("headrace.expr.parse", "headrace.rows.open", "headrace.scan.arrow_files"),
)
_ADDRESSES = ("s3://", "az://", "abfss://", "gs://", "https://")

DEFAULT_CACHE_BYTES = 32 << 20
"""The size limit of each cache of a table: that of footers, and that of file lists."""


def open_store(uri: str, *, options: Mapping[str, Any] | None = None) -> Store:
    """Open the store whose root is the given address.

    Raises:
        UnsupportedStoreError: no store supports the scheme.
        MissingExtraError: the store is remote, and its client is not installed.
        UnknownStorageOptionError, InvalidArgumentError: the address or an option is wrong.
    """
    if scheme_of(uri) == "file":
        check_local_options(options)
        return LocalStore(local_root(uri))
    return _open_remote(uri, options)


def open_writable_store(uri: str, *, options: Mapping[str, Any] | None = None) -> WritableStore:
    """Open a store for reading and writing; transient failures are retried.

    Raises:
        UnsupportedStoreError, MissingExtraError, UnknownStorageOptionError, InvalidArgumentError:
            as for `open_store`.
    """
    if scheme_of(uri) == "file":
        check_local_options(options)
        return LocalStore(local_root(uri))
    return RetryingWritableStore(_open_remote(uri, options))


def _open_remote(uri: str, options: Mapping[str, Any] | None) -> WritableStore:
    """Open S3, Azure, Google Cloud Storage or a web server."""
    if scheme_of(uri) not in SCHEMES:
        known = ("local paths", "file://", *_ADDRESSES)
        raise UnsupportedStoreError(uri=without_secrets(uri), known=known)
    address = full_address(uri, options)
    store_options = parse_options(address.service, options)
    require("obstore", extra="cloud")
    from headrace.storage.cloud import CloudStore  # noqa: PLC0415
    from headrace.storage.web import WebStore  # noqa: PLC0415

    kind = WebStore if address.service is Service.HTTP else CloudStore
    return kind(address, store_options)


def open_files(store: Store, *, options: Mapping[str, Any] | None = None) -> Store:
    """Wrap a store so that it also opens files that the log names by absolute addresses."""
    is_remote = scheme_of(store.root) in SCHEMES
    home = full_address(store.root, options) if is_remote else None
    options = None if options is None else HiddenOptions(options)
    return RoutingStore(store, open_other=partial(_open_other, home=home, options=options))


def _open_other(uri: str, *, home: Address | None, options: Mapping[str, Any] | None) -> Store:
    """Open a store named in a log; another service, account or server gets no options."""
    is_remote = scheme_of(uri) in SCHEMES
    if home is not None and not (is_remote and home.lends_options_to(parse_address(uri))):
        options = None
    return open_store(uri, options=options)


class ColumnarLoader:
    """Loads the parts of the embedded engine that need Arrow on first use, Parquet by itself.

    All executions on one table share the footer cache. The cache is not pickled.
    """

    def __init__(self, cache_bytes: int) -> None:
        """Start with an empty footer cache of at most `cache_bytes`."""
        self._cache_bytes = cache_bytes
        self._footers: Any = None
        self._creating = Lock()

    def __call__(self, log: LogBytes, context: ExecutionContext) -> Columnar:
        """Import the columnar part and bind it to an execution."""
        from headrace.engines.arrow.columnar import ArrowColumnar  # noqa: PLC0415

        return ArrowColumnar(log.store, context=context)

    def checkpoints(
        self, log: LogBytes, context: ExecutionContext, columnar: Columnar
    ) -> Checkpoints:
        """Import the part that reads Parquet and bind it to an execution."""
        from headrace.engines.arrow.checkpoint.parquet_source import FooterCache  # noqa: PLC0415
        from headrace.engines.arrow.checkpoint.reader import ParquetCheckpoints  # noqa: PLC0415

        with self._creating:
            if self._footers is None:
                self._footers = FooterCache(self._cache_bytes)
        return ParquetCheckpoints(
            log, footers=self._footers, context=context, judged=columnar.judged
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return ColumnarLoader, (self._cache_bytes,)

    def decode_state(self, content: bytes, *, path: str) -> StateManifest:
        """Decode the state in a file.

        Raises:
            CorruptStateError, UnsupportedStateError: the state cannot be read.
        """
        from headrace.avro.state_file import decode_state  # noqa: PLC0415

        return decode_state(content, path=path)

    def clear(self) -> None:
        """Clear the footer cache, including for current executions."""
        if self._footers is not None:
            self._footers.clear()


def open_executor(store: Store, *, cache_bytes: int = DEFAULT_CACHE_BYTES) -> ArrowExecutor:
    """Return the default engine for a store."""
    return ArrowExecutor(
        store, load_columnar=ColumnarLoader(cache_bytes), cache=LogCache(cache_bytes)
    )


def use_lean_memory() -> None:
    """Make Arrow use the allocator that returns memory to the system soonest.

    Arrow's default allocator retains tens of megabytes. The choice affects the whole process, so
    a library does not make it unasked. Call this before anything else imports Arrow: a part of
    Arrow keeps the allocator that it started with.
    """
    if sys.platform == "linux":  # other builds of Arrow may lack jemalloc and would warn
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
    import pyarrow as pa  # noqa: PLC0415

    try:
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    except NotImplementedError:
        pa.set_memory_pool(pa.system_memory_pool())


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


def row_request(  # noqa: PLR0913  (what a snapshot knows)
    schema: StructType,
    *,
    context: FileContext,
    predicate: BoundPredicate | None,
    columns: Sequence[str] | None,
    mapping_mode: MappingMode,
    options: RowOptions,
) -> Any:
    """Return the `headrace.rows.request.RowRequest` to apply to each data file."""
    from headrace.rows.request import RowRequest, choose_columns  # noqa: PLC0415
    from headrace.rows.resolve import MatchBy  # noqa: PLC0415

    return RowRequest(
        schema=schema,
        columns=choose_columns(schema, columns),
        partition_columns=frozenset(column.name for column in context.partition_columns),
        predicate=predicate,
        match_by=MatchBy.ID if mapping_mode is MappingMode.ID else MatchBy.NAME,
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
    """Open a `pyarrow.RecordBatchReader` over the rows of a scan's files."""
    from headrace.rows.open import open_rows as open_reader  # noqa: PLC0415

    return open_reader(
        scan, context=context, store=store, request=request, options=options, limit=limit
    )


def count_rows(scan: Scan, *, store: Store, request: Any, options: RowOptions) -> RowCount:
    """Count the matching rows of a scan's files."""
    from headrace.rows.count import count_rows as count  # noqa: PLC0415

    return count(scan, store=store, request=request, options=options)


def arrow_schema(schema: StructType) -> Any:
    """Convert a Delta schema to a `pyarrow.Schema`."""
    from headrace.protocol.arrow_schema import arrow_schema as convert  # noqa: PLC0415

    return convert(schema)


def open_change_rows(  # noqa: PLR0913  (a range, and how it is read)
    request: ChangeRequest,
    *,
    before: Any,
    last: Any,
    executor: Executor,
    store: Store,
    row_request: Any,
    options: RowOptions,
) -> Any:
    """Open a `pyarrow.RecordBatchReader` over the rows changed by a range of commits.

    `before` is the pinned version before the range, and `last` the one at its end.
    """
    from headrace.rows.change_rows import ChangePlan  # noqa: PLC0415
    from headrace.rows.change_rows import open_change_rows as open_reader  # noqa: PLC0415
    from headrace.scan.commit import Commit, read_commits  # noqa: PLC0415
    from headrace.scan.compatibility import PinnedSchema  # noqa: PLC0415

    plan = ChangePlan(
        commits=read_commits(request, executor),
        before=Commit(version=last.version, protocol=before.protocol, metadata=before.metadata),
        pinned=PinnedSchema(
            table=request.table,
            version=last.version,
            protocol=last.protocol,
            metadata=last.metadata,
            schema=row_request.schema,
        ),
        context=last.context,
    )
    return open_reader(plan, store=store, request=row_request, options=options)


def require(module: str, *, extra: str | None = None) -> Any:
    """Import an optional library.

    Raises:
        MissingExtraError: the library is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(module=module, extra=extra or module) from error


def import_readers() -> None:
    """Import what scans and reads of rows import on first use."""
    for module in _READERS:
        import_module(module)


def open_dataset(scan: Scan, *, store: Store, context: FileContext, request: Any) -> Any:
    """Open a `pyarrow.dataset.Dataset` over the rows of a scan's files."""
    from headrace.handover.dataset import open_dataset as open_files_as_dataset  # noqa: PLC0415
    from headrace.rows.live_source import data_files  # noqa: PLC0415
    from headrace.rows.open import open_source  # noqa: PLC0415

    execution = ExecutionContext(settings=scan.options)
    source = open_source(store, request=request, context=execution)
    files = chain.from_iterable(data_files(scan, context, request, execution.cancellation))
    return open_files_as_dataset(files, request=request, store=store, read=source.batches)


def open_lazy_frame(source: Any, where: str | None) -> Any:
    """Open a `polars.LazyFrame` over the rows of a snapshot that satisfy a condition."""
    require("polars")
    from headrace.handover.polars_frame import open_lazy_frame as open_frame  # noqa: PLC0415

    def read(condition: str | None, columns: Sequence[str] | None, limit: int | None) -> Any:
        conditions = [f"({part})" for part in (where, condition) if part is not None]
        return source.rows(" AND ".join(conditions) or None, columns=columns, limit=limit)

    return open_frame(source.schema, read)


def open_relation(dataset: Any, connection: Any) -> Any:
    """Open a DuckDB relation over a dataset."""
    duckdb = require("duckdb")
    return duckdb.from_arrow(dataset, connection=connection or duckdb.default_connection())


def open_state_keeper(table: Any, *, settings: Any = None) -> Any:
    """Open the `headrace.maintain.keeper.StateKeeper` of a table."""
    from headrace.maintain.delta_sync import DeltaVersion  # noqa: PLC0415
    from headrace.maintain.home import DELTA_HOME, Home, HomeKind  # noqa: PLC0415
    from headrace.maintain.keeper import StateKeeper  # noqa: PLC0415
    from headrace.maintain.live_version import delta_version  # noqa: PLC0415

    def newest() -> DeltaVersion:
        return delta_version(table.snapshot())

    place: str = getattr(table, "state_root", None) or ""
    folder, _, name = place.rpartition("/")
    options = table.storage_options
    if folder:  # the states are stored outside the table
        home = Home(kind=HomeKind.DELTA, root=name)
        store = open_writable_store(folder, options=options)
    else:
        is_writable = hasattr(table.store, "put")
        home = DELTA_HOME
        store = table.store if is_writable else open_writable_store(table.uri, options=options)
    return StateKeeper(
        table.store,
        store,
        delta_home=home,
        newest=newest,
        settings=settings,
        reporter=table.reporter,
    )


def run_state_sql(
    text: str, *, settings: Any = None, options: Mapping[str, Any] | None = None
) -> Any:
    """Run a state statement and return its `ResultTable`; None for any other statement."""
    from headrace.maintain.command import run_statement  # noqa: PLC0415
    from headrace.maintain.statement import parse_statement  # noqa: PLC0415

    statement = parse_statement(text)
    if statement is None:
        return None
    return run_statement(
        statement, open_store=partial(open_writable_store, options=options), settings=settings
    )
