"""What a table is, or is not: absent, unreadable, expired, or changed under a stream."""

from collections.abc import Sequence
from datetime import UTC, datetime

from headrace.errors.root import HeadraceError, versions


class TableError(HeadraceError):
    """What the table is, or is not."""


class TableNotFoundError(TableError):
    """There is no Delta log where the table should be."""

    code = "TABLE_NOT_FOUND"

    def __init__(self, *, table: str) -> None:
        self.table = table
        super().__init__(
            f"{table}: no Delta table here (no commit or checkpoint in _delta_log); "
            "check the path, which must name the folder that holds _delta_log"
        )


class InvalidTableError(TableError):
    """The log breaks a rule that every table must keep."""

    code = "INVALID_TABLE"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(f"{table}: {reason}; the table must be repaired by its writer")


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
    """A data file is healthy, but has a type, an encoding or a codec that is not read here."""

    code = "UNSUPPORTED_FILE"

    def __init__(self, *, path: str, reason: str, column: str | None, writer: str | None) -> None:
        self.path, self.reason, self.column, self.writer = path, reason, column, writer
        where = "" if column is None else f"column {column}: "
        by = f" (written by {writer})" if writer else ""
        super().__init__(
            f"{path}: {where}{reason}{by}; the file is not damaged, but this version of Headrace "
            "does not read it: have it written anew with other settings, or upgrade pyarrow"
        )


class CatalogManagedError(TableError):
    """Only a catalog knows which commits of this table are ratified."""

    code = "CATALOG_MANAGED"

    def __init__(self, *, table: str) -> None:
        self.table = table
        super().__init__(
            f"{table}: the table is managed by a catalog, and the files in its log do not tell "
            "which commits are ratified; ask the catalog and pass them as log_tail=[...]"
        )


class VersionNotFoundError(TableError):
    """The requested version does not exist, or can no longer be rebuilt."""

    code = "VERSION_NOT_FOUND"

    def __init__(
        self, *, table: str, version: int, newest: int, available: Sequence[range] = ()
    ) -> None:
        self.table, self.version, self.newest = table, version, newest
        self.available = tuple(available)
        runs = versions(self.available)
        next_step = f"ask for one of {runs}" if runs else f"the newest is {newest}"
        super().__init__(f"{table}: version {version} is not there; {next_step}")


class TimestampNotFoundError(TableError):
    """The requested time lies before the first commit that is still there."""

    code = "TIMESTAMP_NOT_FOUND"

    def __init__(self, *, table: str, timestamp_ms: int, oldest_ms: int | None) -> None:
        self.table, self.timestamp_ms, self.oldest_ms = table, timestamp_ms, oldest_ms
        next_step = (
            "no commit is left that tells its time: ask for a version"
            if oldest_ms is None
            else f"the oldest that can be read is of {_time(oldest_ms)}: ask for that time or later"
        )
        super().__init__(f"{table}: no commit at or before {_time(timestamp_ms)}; {next_step}")


class SnapshotExpiredError(TableError):
    """A file of the log vanished, or another took its place, after the snapshot was taken."""

    code = "SNAPSHOT_EXPIRED"

    def __init__(self, *, table: str, version: int, path: str, replaced: bool = False) -> None:
        self.table, self.version, self.path, self.replaced = table, version, path, replaced
        change = "is another file now" if replaced else "is gone"
        cause = "the table was made anew" if replaced else "the log was cleaned up"
        super().__init__(
            f"{table}: {path} {change}, so version {version} can no longer be read whole; {cause} "
            "meanwhile: take a new snapshot"
        )


class SchemaChangedError(TableError):
    """A commit changed the schema in a way that a running stream cannot follow."""

    code = "SCHEMA_CHANGED"

    def __init__(self, *, table: str, version: int, difference: str) -> None:
        self.table, self.version, self.difference = table, version, difference
        super().__init__(
            f"{table}: version {version} has another schema than the stream: {difference}; start "
            "the stream again, with the same checkpoint if a column was added, else with a new one"
        )


class TableReplacedError(TableError):
    """There is another table now where a stream has read one."""

    code = "TABLE_REPLACED"

    def __init__(self, *, table: str, expected: str, found: str) -> None:
        self.table, self.expected, self.found = table, expected, found
        super().__init__(
            f"{table}: the stream has read table {expected}, and here is now table {found}; start "
            "a stream with a new checkpoint"
        )


class UnstreamableChangeError(TableError):
    """A commit took rows away, which a stream of appended rows cannot tell."""

    code = "UNSTREAMABLE_CHANGE"

    def __init__(self, *, table: str, version: int, path: str, options: Sequence[str]) -> None:
        self.table, self.version, self.path, self.options = table, version, path, tuple(options)
        super().__init__(
            f"{table}: version {version} deletes or updates rows (it removes {path}), which a "
            f"stream of appended rows cannot tell; set {' or '.join(self.options)}, or read the "
            "change feed"
        )


class ChangeDataMissingError(TableError):
    """The log does not tell which rows a commit changed."""

    code = "CHANGE_DATA_MISSING"

    def __init__(self, *, table: str, version: int, reason: str) -> None:
        self.table, self.version, self.reason = table, version, reason
        super().__init__(
            f"{table}: the changed rows of version {version} are not known: {reason}; start after "
            "this version, or compare snapshots"
        )


def _time(timestamp_ms: int) -> str:
    """Write a time for people; one that no calendar has stays a number."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms"
    return moment.isoformat(timespec="milliseconds")


class UnwritableTableError(TableError):
    """A table asks of its writers what Headrace does not do."""

    code = "UNWRITABLE_TABLE"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(
            f"{table}: it cannot be written to: {reason}; drop the feature from the table, or let "
            "the view write to another one"
        )
