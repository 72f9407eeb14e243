"""The files that versions add and remove, for the option `readFileChanges` of the data source.

The options of a read enter; the rows of `Table.changes` leave, for a range of versions or in
micro-batches of whole versions. No data file is read, so IndexTables tables can be followed, too.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from headrace.errors import InvalidArgumentError, TableReplacedError, VersionNotFoundError
from headrace.scan.arrow_changes import SCHEMA
from headrace.spark.message import message_first, messages_first
from headrace.spark.source_option import LATEST, SourceOptions, Tolerance
from headrace.spark.stream_offset import Offset, Part, parse_offset
from headrace.storage.option import HiddenOptions
from headrace.table import Table

CHANGE_COLUMNS: StructType = from_arrow_schema(SCHEMA)
"""The columns of a change, as Spark's types."""
VERSIONS_PER_TRIGGER = 1000
_VERSIONS_PER_TASK = 100


class FollowedTable(msgspec.Struct, frozen=True, kw_only=True):
    """The table whose changes are read, the same in all processes. It can be pickled."""

    uri: str
    storage: HiddenOptions
    id: str
    newest: int
    """The newest version when the schema was requested."""

    def table(self) -> Table:
        """Return the table."""
        return Table(self.uri, storage_options=self.storage)

    def newest_version(self) -> int:
        """Return the newest version now.

        Raises:
            TableReplacedError: the table has been replaced.
        """
        snapshot = self.table().snapshot()
        self.check(snapshot.metadata.id)
        return snapshot.version

    def check(self, table_id: str) -> None:
        """Raise `TableReplacedError` if this is the id of another table."""
        if table_id != self.id:
            raise TableReplacedError(table=self.uri, expected=self.id, found=table_id)

    def read(self, versions: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the changes of a range of versions, on a worker.

        Raises:
            TableReplacedError: the table has been replaced.
        """
        if not isinstance(versions, VersionRange):
            return  # Spark passes a partition of its own if there are no ranges
        table = self.table()
        self.check(table.snapshot().metadata.id)
        expected = to_arrow_schema(CHANGE_COLUMNS, timezone="UTC")
        for batch in pa.RecordBatchReader.from_stream(table.changes(*versions.value)):
            yield batch.cast(expected)


class VersionRange(InputPartition):
    """The first and the last of the versions that one task reads."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__((first, last))


def follow_table(options: SourceOptions) -> FollowedTable:
    """Return the table that the options name.

    Raises:
        InvalidArgumentError: an option does not apply to changes of files.
    """
    tolerance = options.stream.tolerance
    inapplicable = {
        "version": options.version,
        "asOf": options.as_of,
        "where": options.where,
        "columns": options.columns,
        "readChangeFeed": options.read_change_feed or None,
        "timeZone": options.time_zone,
        "maxBytesPerTrigger": options.stream.limits.size_bytes,
        tolerance.value: None if tolerance is Tolerance.REFUSE else True,
    }
    for name, value in inapplicable.items():
        if value is not None:
            reason = "it does not apply to readFileChanges, which returns files: omit it"
            raise InvalidArgumentError(argument=name, reason=reason)
    table = Table(options.path, storage_options=options.storage)
    snapshot = table.snapshot()
    return FollowedTable(
        uri=table.uri, storage=options.storage, id=snapshot.metadata.id, newest=snapshot.version
    )


def version_ranges(first: int, last: int) -> list[InputPartition]:
    """Divide a range of versions among tasks."""
    return [
        VersionRange(start, min(start + _VERSIONS_PER_TASK - 1, last))
        for start in range(first, last + 1, _VERSIONS_PER_TASK)
    ]


def first_version(followed: FollowedTable, options: SourceOptions, *, newest: int) -> int:
    """Return the first version to read, according to the options; by default 0.

    Raises:
        VersionNotFoundError: it lies beyond the next version.
        TimestampNotFoundError: commits since the requested time may have been cleaned up.
    """
    stream = options.stream
    if stream.starting_timestamp is not None:
        return followed.table().changes(stream.starting_timestamp, newest).start
    if stream.starting_version == LATEST:
        return newest + 1
    first = stream.starting_version or 0
    if first > newest + 1:
        raise VersionNotFoundError(table=followed.uri, version=first, newest=newest)
    return first


class FileChangeReader(DataSourceReader):
    """Reads the changes of a range of versions."""

    def __init__(self, followed: FollowedTable, options: SourceOptions) -> None:
        self._followed = followed
        self._options = options

    @message_first
    def partitions(self) -> list[InputPartition]:
        """Return the versions, in ranges."""
        newest, last = self._followed.newest, self._options.ending_version
        first = first_version(self._followed, self._options, newest=newest)
        if last is not None and not first <= last <= newest:
            reason = f"it must be from {first} to {newest}"
            raise InvalidArgumentError(argument="endingVersion", reason=reason)
        return version_ranges(first, newest if last is None else last)

    @messages_first
    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the changes of some versions, on a worker."""
        return self._followed.read(partition)


class FileChangeStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Streams the changes of each version. It can be pickled.

    An offset is a version. Two offsets always return the same changes, so a sink with a checkpoint
    contains each of them once.
    """

    def __init__(self, followed: FollowedTable, options: SourceOptions) -> None:
        self._followed = followed
        self._options = options
        self._versions = options.stream.limits.versions or VERSIONS_PER_TRIGGER
        self._last_version: int | None = None

    @message_first
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return where a stream without a checkpoint starts."""
        return Offset(table=self._followed.id, version=0, part=Part.BEGINNING).as_dict()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit that Spark passes back, unless a trigger requests everything."""
        return ReadMaxFiles(self._versions)

    @message_first
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the newest version that the stream reads."""
        self._last_version = self._followed.newest_version()

    @message_first
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return the end of the next micro-batch: a number of whole versions."""
        offset = parse_offset(start)
        self._followed.check(offset.table)
        newest = self._last_version
        if newest is None:
            newest = self._followed.newest_version()
        is_beginning = offset.part is Part.BEGINNING
        first = offset.version
        if is_beginning:
            first = first_version(self._followed, self._options, newest=newest)
        end = newest + 1
        if not isinstance(limit, ReadAllAvailable):
            end = min(end, first + self._versions)
        began = Offset(table=self._followed.id, version=first) if is_beginning else None
        return Offset(table=self._followed.id, version=max(first, end), first=began).as_dict()

    @message_first
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the versions between two offsets, in ranges."""
        first, last = parse_offset(start), parse_offset(end)
        self._followed.check(last.table)
        if first.part is Part.BEGINNING:
            if last.first is None:
                reason = "its first micro-batch does not say where the stream began: use a new one"
                raise InvalidArgumentError(argument="checkpoint", reason=reason)
            first = last.first
        return version_ranges(first.version, last.version - 1)

    @messages_first
    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the changes of some versions, on a worker."""
        return self._followed.read(partition)
