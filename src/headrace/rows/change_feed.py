"""Which rows a commit changed: the files that contain them, and the type of change.

A writer may write changed rows as change data files, which then contain all changes. Otherwise,
rows of added files were inserted and rows of removed files deleted; of a file with a new deletion
vector, only the rows in which the two vectors differ changed.
"""

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa

from headrace.errors import ChangeDataMissingError
from headrace.plan.batch import AddBatch
from headrace.protocol.action import Add, Cdc, DeletionVector, Metadata, Remove
from headrace.protocol.key import canonical_path
from headrace.protocol.log_file import LogFile
from headrace.protocol.timestamp import in_commit_timestamps
from headrace.rows.feed_column import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION
from headrace.scan.arrow_files import arrow_files
from headrace.scan.commit import Commit
from headrace.scan.live_file import FileContext

INSERT, DELETE = "insert", "delete"
_ENABLED = "delta.enableChangeDataFeed"
_TIME = pa.timestamp("us", "UTC")


class _Changed(msgspec.Struct, frozen=True, kw_only=True):
    file: Add
    only: DeletionVector | None = None
    change_type: str | None
    """The type of change of all rows; None if each row has its own."""


def has_change_feed(metadata: Metadata) -> bool:
    """Whether the table has a change feed enabled."""
    return (metadata.configuration.get(_ENABLED) or "").lower() == "true"


def changed_files(
    commit: Commit, *, columns: Sequence[str], context: FileContext, timestamp_ms: int
) -> pa.Table:
    """Return the files that contain the changed rows of a commit, with these columns of live files.

    Raises:
        ChangeDataMissingError: the log lacks what is needed to read one of them.
    """
    changes = list(_changed(commit, context=context))
    files = AddBatch(LogFile(path=""), [changed.file for changed in changes])
    vectors = AddBatch(
        LogFile(path=""), [_with_vector(changed.file, changed.only) for changed in changes]
    )
    change_types = pa.array([changed.change_type for changed in changes], pa.string())
    table = pa.Table.from_batches([arrow_files(files, context, columns)])
    only = arrow_files(vectors, context, ["deletion_vector"]).column(0)
    return with_changes(
        table.append_column("only_vector", only),
        change_types,
        version=commit.version,
        timestamp_ms=timestamp_ms,
    )


def inserted_files(files: pa.Table, *, version: int, timestamp_ms: int) -> pa.Table:
    """Return the files of a snapshot as inserts, for a feed that starts with it."""
    nothing = pa.nulls(files.num_rows, files.schema.field("deletion_vector").type)
    return with_changes(
        files.append_column("only_vector", nothing),
        pa.repeat(INSERT, files.num_rows),
        version=version,
        timestamp_ms=timestamp_ms,
    )


def with_changes(
    files: pa.Table, change_types: pa.StringArray, *, version: int, timestamp_ms: int
) -> pa.Table:
    """Add the columns of a change feed to files."""
    time = pa.scalar(timestamp_ms * 1000, pa.int64()).cast(_TIME)
    files = files.append_column(CHANGE_TYPE.name, change_types)
    files = files.append_column(COMMIT_VERSION.name, pa.repeat(version, len(files)))
    return files.append_column(COMMIT_TIMESTAMP.name, pa.repeat(time, len(files)))


def committed_ms(commit: Commit, *, metadata: Metadata, table: str) -> int:
    """Return the in-commit timestamp of a commit if the table has them, else its file's time."""
    carried = in_commit_timestamps(metadata, table=table)
    in_commit_ms = None if commit.info is None else commit.info.in_commit_timestamp
    if carried is not None and commit.version >= carried.since_version and in_commit_ms is not None:
        return in_commit_ms
    return commit.modified_ms


def _changed(commit: Commit, *, context: FileContext) -> Iterator[_Changed]:
    if commit.cdcs:
        for cdc in commit.cdcs:
            yield _Changed(file=_as_add(cdc, commit, context), change_type=None)
        return
    removes = {canonical_path(r.path): r for r in commit.removes if r.data_change}
    for add in commit.adds:
        if add.data_change:
            removed = removes.pop(canonical_path(add.path), None)
            if removed is None:
                yield _Changed(file=add, change_type=INSERT)
            else:
                yield from _differences(add, removed.deletion_vector)
    for remove in removes.values():
        yield _Changed(file=_as_add(remove, commit, context), change_type=DELETE)


def _differences(add: Add, before: DeletionVector | None) -> Iterator[_Changed]:
    """Return the rows in which the old and the new deletion vector of a file differ."""
    after = add.deletion_vector
    if after is not None:
        yield _Changed(file=_with_vector(add, before), only=after, change_type=DELETE)
    if before is not None:
        yield _Changed(file=add, only=before, change_type=INSERT)


def _as_add(action: Cdc | Remove, commit: Commit, context: FileContext) -> Add:
    values = action.partition_values
    if values is None and context.partition_columns:
        reason = f"it removes {action.path} without its partition values"
        raise ChangeDataMissingError(table=context.root, version=commit.version, reason=reason)
    return Add(
        path=action.path,
        size=action.size or 0,
        partition_values=values or {},
        deletion_vector=getattr(action, "deletion_vector", None),
    )


def _with_vector(add: Add, vector: DeletionVector | None) -> Add:
    return msgspec.structs.replace(add, deletion_vector=vector)
