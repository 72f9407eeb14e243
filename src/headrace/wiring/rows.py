"""Open the rows of files and of changes, and hand them over to other libraries.

A scan or a range of commits enters, with the store of its files; a reader of rows, a number of rows
or another library's table leaves.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from headrace.expr.node import BoundPredicate
from headrace.phases.changes import ChangeRequest
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.protocol.column_mapping import MappingMode
from headrace.protocol.schema import StructType
from headrace.rows.option import RowOptions
from headrace.rows.row_count import RowCount
from headrace.scan.live_file import FileContext
from headrace.scan.scan import Scan
from headrace.storage.store import Store
from headrace.wiring.store import require


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
