"""The rows that a range of commits inserted, deleted and updated, as a reader.

Commits with change data, and commits of a table with a change feed, are exact. Without a feed,
changes are derived where a commit only adds rows, only removes rows, or does both in different
partitions. A commit that rewrites files does not record which of their rows changed, and is
refused.
"""

from collections.abc import Generator, Sequence
from typing import Any

import msgspec

from headrace.errors import ChangeDataMissingError, SchemaChangedError, TableReplacedError
from headrace.plan.context import ExecutionContext
from headrace.protocol.action import Add, Remove
from headrace.protocol.arrow_schema import arrow_schema
from headrace.protocol.key import canonical_path
from headrace.protocol.value import typed_value
from headrace.rows.change_feed import changed_files, committed_ms, has_change_feed
from headrace.rows.change_source import ChangedFile, ChangeSource, changed_files_of
from headrace.rows.feed_column import with_feed
from headrace.rows.metrics import ChangeMetrics
from headrace.rows.option import RowOptions
from headrace.rows.reader import RowReader
from headrace.rows.request import RowRequest
from headrace.rows.stream import stream_batches
from headrace.scan.commit import Commit
from headrace.scan.compatibility import PinnedSchema, check_readable_by
from headrace.scan.live_file import FileContext, PartitionColumn
from headrace.storage.store import Store

_COLUMNS = ("uri", "deletion_vector", "typed_partition_values")


class ChangePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The commits whose changes to read, and the schema to read them with."""

    commits: Generator[Commit, None, None]
    """Oldest first."""
    before: Commit
    """The protocol and metadata in force before the first commit."""
    pinned: PinnedSchema
    """The protocol and metadata in force after the last commit; rows have its columns."""
    context: FileContext


def open_change_rows(
    plan: ChangePlan, *, store: Store, request: RowRequest, options: RowOptions
) -> RowReader:
    """Return a reader of the changed rows, oldest commit first; it reads on demand.

    Raises:
        ChangeDataMissingError: by the reader: the changed rows of a commit are unknown.
    """
    execution = ExecutionContext(settings=options)
    source = ChangeSource.open(store, request=request, context=execution)
    stream = stream_batches(
        _changed_files(plan),
        source.batches,
        options=options,
        cancellation=execution.cancellation,
        release=source.close,
    )
    schema = arrow_schema(with_feed(request.columns))
    return RowReader(schema, stream, metrics=ChangeMetrics(execution.meter))


def _changed_files(plan: ChangePlan) -> Generator[ChangedFile, None, None]:
    table, metadata = plan.context.root, plan.before.metadata
    assert metadata is not None
    _check(plan.before, plan)
    for commit in plan.commits:
        _check(commit, plan)
        metadata = commit.metadata or metadata
        if not commit.cdcs and not has_change_feed(metadata):
            _check_derivable(commit, plan.context)
        timestamp_ms = committed_ms(commit, metadata=metadata, table=table)
        files = changed_files(
            commit, columns=_COLUMNS, context=plan.context, timestamp_ms=timestamp_ms
        )
        for batch in files.to_batches():
            yield from changed_files_of(batch)


def _check(commit: Commit, plan: ChangePlan) -> None:
    """Check that the rows of a commit can be read with the pinned schema."""
    try:
        check_readable_by(commit, pinned=plan.pinned)
    except (SchemaChangedError, TableReplacedError) as error:
        difference = getattr(error, "difference", "the table was replaced")
        reason = f"its rows do not fit the schema of version {plan.pinned.version} ({difference})"
        raise ChangeDataMissingError(
            table=plan.context.root, version=commit.version, reason=reason
        ) from error


def _check_derivable(commit: Commit, context: FileContext) -> None:
    """Check that no row can be both inserted and deleted by a commit.

    Raises:
        ChangeDataMissingError: files were rewritten, so some of their rows may be unchanged.
    """
    adds = {canonical_path(add.path): add for add in commit.adds if add.data_change}
    removes = {canonical_path(file.path): file for file in commit.removes if file.data_change}
    both = adds.keys() & removes.keys()
    inserted = [add for path, add in adds.items() if path not in both]
    inserted += [adds[path] for path in both if adds[path].deletion_vector is None]
    deleted: list[Add | Remove] = [file for path, file in removes.items() if path not in both]
    deleted += [adds[path] for path in both if adds[path].deletion_vector is not None]
    columns = context.partition_columns
    shared = {_partition(f, columns) for f in inserted} & {_partition(f, columns) for f in deleted}
    if shared:
        example = next(file for file in deleted if _partition(file, columns) in shared)
        reason = (
            f"it rewrites {example.path}, and delta.enableChangeDataFeed was not set, so the log "
            "does not record which of the rows changed"
        )
        raise ChangeDataMissingError(table=context.root, version=commit.version, reason=reason)


def _partition(file: Add | Remove, columns: Sequence[PartitionColumn]) -> tuple[Any, ...]:
    """Return the typed partition values: a value may have several text forms."""
    values = file.partition_values or {}
    typed = [typed_value(values.get(c.physical_name), c.type, column=c.name) for c in columns]
    return tuple("NaN" if value != value else value for value in typed)  # noqa: PLR0124
