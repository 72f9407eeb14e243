"""Tables that are absent, unsupported, expired, or changed under a running stream."""

from collections.abc import Sequence
from datetime import UTC, datetime

from headrace.errors.root import HeadraceError, versions


class TableError(HeadraceError):
    """The table is absent, unsupported, or has changed."""


class TableNotFoundError(TableError):
    """There is no Delta log at the table's address."""

    code = "TABLE_NOT_FOUND"

    def __init__(self, *, table: str) -> None:
        self.table = table
        super().__init__(
            f"{table}: no Delta table here (no commit or checkpoint in _delta_log); "
            "check the path: it must be the folder that contains _delta_log"
        )


class InvalidTableError(TableError):
    """The log violates a rule of the Delta protocol."""

    code = "INVALID_TABLE"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(f"{table}: {reason}; its writer has to repair the table")


class UnsupportedFeatureError(TableError):
    """The table needs reader features that Headrace does not implement."""

    code = "UNSUPPORTED_FEATURE"

    def __init__(self, *, table: str, features: Sequence[str]) -> None:
        self.table, self.features = table, tuple(features)
        super().__init__(
            f"{table}: reading needs {', '.join(self.features)}, which this version of Headrace "
            "does not implement; upgrade Headrace, or drop the feature from the table"
        )


class UnsupportedFileError(TableError):
    """A data file is valid, but uses a type, an encoding or a codec that is not supported."""

    code = "UNSUPPORTED_FILE"

    def __init__(self, *, path: str, reason: str, column: str | None, writer: str | None) -> None:
        self.path, self.reason, self.column, self.writer = path, reason, column, writer
        where = "" if column is None else f"column {column}: "
        by = f" (written by {writer})" if writer else ""
        super().__init__(
            f"{path}: {where}{reason}{by}; the file is not damaged, but this version of Headrace "
            "cannot read it: have it rewritten with other settings, or upgrade pyarrow"
        )


class UnsupportedStateError(TableError):
    """A state is healthy, but has a format version or a codec that is not supported."""

    code = "UNSUPPORTED_STATE"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: {reason}; upgrade Headrace, or rewrite the state")


class CatalogManagedError(TableError):
    """Only a catalog knows which commits of this table are ratified."""

    code = "CATALOG_MANAGED"

    def __init__(self, *, table: str) -> None:
        self.table = table
        super().__init__(
            f"{table}: the table is managed by a catalog, and its log alone does not show which "
            "commits are ratified; ask the catalog and pass them as log_tail=[...]"
        )


class VersionNotFoundError(TableError):
    """The requested version does not exist, or can no longer be reconstructed."""

    code = "VERSION_NOT_FOUND"

    def __init__(
        self, *, table: str, version: int, newest: int, available: Sequence[range] = ()
    ) -> None:
        self.table, self.version, self.newest = table, version, newest
        self.available = tuple(available)
        readable = versions(self.available)
        next_step = f"ask for one of {readable}" if readable else f"the newest is {newest}"
        super().__init__(f"{table}: version {version} does not exist; {next_step}")


class TimestampNotFoundError(TableError):
    """The requested time is before the oldest commit that still exists."""

    code = "TIMESTAMP_NOT_FOUND"

    def __init__(self, *, table: str, timestamp_ms: int, oldest_ms: int | None) -> None:
        self.table, self.timestamp_ms, self.oldest_ms = table, timestamp_ms, oldest_ms
        next_step = (
            "no remaining commit has a time: ask for a version"
            if oldest_ms is None
            else f"the oldest readable one is from {_time(oldest_ms)}: ask for that time or later"
        )
        super().__init__(f"{table}: no commit at or before {_time(timestamp_ms)}; {next_step}")


class SnapshotExpiredError(TableError):
    """A file of the log was deleted or replaced after the snapshot was taken."""

    code = "SNAPSHOT_EXPIRED"

    def __init__(self, *, table: str, version: int, path: str, replaced: bool = False) -> None:
        self.table, self.version, self.path, self.replaced = table, version, path, replaced
        change = "was replaced" if replaced else "is gone"
        cause = "the table was created again" if replaced else "the log was cleaned up"
        super().__init__(
            f"{table}: {path} {change}, so version {version} can no longer be read completely; "
            f"{cause} since the snapshot was taken: take a new one"
        )


class SchemaChangedError(TableError):
    """A commit changed the schema in a way that a running stream cannot follow."""

    code = "SCHEMA_CHANGED"

    def __init__(self, *, table: str, version: int, difference: str) -> None:
        self.table, self.version, self.difference = table, version, difference
        super().__init__(
            f"{table}: the schema of version {version} differs from the stream's: {difference}; "
            "restart the stream, with the same checkpoint if a column was added, otherwise with a "
            "new one"
        )


class TableReplacedError(TableError):
    """The table at a stream's address was replaced by another one."""

    code = "TABLE_REPLACED"

    def __init__(self, *, table: str, expected: str, found: str) -> None:
        self.table, self.expected, self.found = table, expected, found
        super().__init__(
            f"{table}: the stream was reading table {expected}, but the address now holds table "
            f"{found}; start a stream with a new checkpoint"
        )


class UnstreamableChangeError(TableError):
    """A commit deleted or updated rows, which a stream of appended rows cannot express."""

    code = "UNSTREAMABLE_CHANGE"

    def __init__(self, *, table: str, version: int, path: str, options: Sequence[str]) -> None:
        self.table, self.version, self.path, self.options = table, version, path, tuple(options)
        super().__init__(
            f"{table}: version {version} deletes or updates rows (it removes {path}), which a "
            f"stream of appended rows cannot express; set {' or '.join(self.options)}, or read "
            "the change feed"
        )


class ChangeDataMissingError(TableError):
    """The rows that a commit changed cannot be determined."""

    code = "CHANGE_DATA_MISSING"

    def __init__(self, *, table: str, version: int, reason: str) -> None:
        self.table, self.version, self.reason = table, version, reason
        super().__init__(
            f"{table}: the changed rows of version {version} are unknown: {reason}; start after "
            "this version, or compare snapshots"
        )


def _time(timestamp_ms: int) -> str:
    """Format a time; one outside the calendar stays a number."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms"
    return moment.isoformat(timespec="milliseconds")


class UnwritableTableError(TableError):
    """The table requires writer features that Headrace does not implement."""

    code = "UNWRITABLE_TABLE"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(
            f"{table}: cannot write to this table: {reason}; drop the feature from the table, or "
            "write to another table"
        )


class CleanupRefusedError(TableError):
    """Clean-up cannot prove that what it would delete is unused, so it deletes nothing."""

    code = "CLEANUP_REFUSED"

    def __init__(self, *, table: str, path: str, reason: str) -> None:
        self.table, self.path, self.reason = table, path, reason
        super().__init__(
            f"{table}: {path}: {reason}, so nothing was deleted; repair or remove that file by "
            "hand, then clean up again"
        )


class DowngradeRefusedError(TableError):
    """The log cannot go back to JSON without losing something."""

    code = "DOWNGRADE_REFUSED"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(
            f"{table}: {reason}, so the states stay; keep reading with a reader of Avro states"
        )


class NotIndexTablesError(TableError):
    """A command for IndexTables logs or states was used on a table without them."""

    code = "NOT_INDEXTABLES"

    def __init__(self, *, table: str, has_delta_log: bool = False) -> None:
        self.table = table
        reason = (
            "there is no _transaction_log here; name the folder of an IndexTables table. "
            "For the states of a Delta table, use `headrace state`"
        )
        if has_delta_log:
            reason = "this Delta table has no state; write one with `headrace state sync`"
        super().__init__(f"{table}: {reason}")
