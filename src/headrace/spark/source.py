"""The data source `headrace`: `spark.read.format("headrace")`, for batches and streams.

Spark requests the schema, groups of files, and the rows of each group, all in separate Python
processes. The version is pinned when the schema is requested, so that the schema and the files of
one DataFrame always belong to one version.

It does not support filter pushdown: Spark keeps one reader for all queries over a DataFrame, and
would apply the filter of one to the others. Use the option `where`.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from headrace.errors import InvalidArgumentError
from headrace.spark.file_changes import (
    CHANGE_COLUMNS,
    FileChangeReader,
    FileChangeStream,
    FollowedTable,
    follow_table,
)
from headrace.spark.file_group import FILE_COLUMNS, group_files
from headrace.spark.message import message_first, messages_first
from headrace.spark.pinned_table import PinnedTable, pin_table
from headrace.spark.source_option import SourceOptions, parse_options
from headrace.spark.state_sql import register_state_functions
from headrace.spark.state_write import IndexTablesWriter
from headrace.spark.stream import TableStream
from headrace.spark.stream_offset import Offset, Part
from headrace.spark.stream_plan import StreamPlan
from headrace.spark.table_function import register_functions

NAME = "headrace"


class HeadraceSource(DataSource):
    """The Spark data source that uses Headrace's row reader."""

    @message_first
    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._pin: PinnedTable | None = None
        self._followed: FollowedTable | None = None

    @cached_property
    def _options(self) -> SourceOptions:
        """The parsed options of a read; a write has other options."""
        return parse_options(self.options)

    @classmethod
    def name(cls) -> str:
        """Return the name for `format(…)` and after `USING`."""
        return NAME

    @message_first
    def schema(self) -> StructType:
        """Return the table's columns, and pin the version; or the columns of changes of files."""
        if self._options.read_file_changes:
            self._followed_table()
            return CHANGE_COLUMNS
        return self._pinned().schema

    @message_first
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of the pinned version, or of the changes up to it."""
        if self._options.read_file_changes:
            return FileChangeReader(self._followed_table(), self._options)
        reader = ChangeReader if self._options.read_change_feed else SnapshotReader
        return reader(self._pinned_with_schema(schema), self._options)

    @message_first
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001
        """Return a writer that appends to an IndexTables table."""
        return IndexTablesWriter(self.options, schema, overwrite=overwrite)

    @message_first
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return a reader of the rows, or the changes of files, from a version on."""
        if self._options.read_file_changes:
            return FileChangeStream(self._followed_table(), self._options)
        for name, value in (("version", self._options.version), ("asOf", self._options.as_of)):
            if value is not None:
                reason = "a stream follows the table: set startingVersion or startingTimestamp"
                raise InvalidArgumentError(argument=name, reason=reason)
        return TableStream(self._pinned_with_schema(schema), self._options)

    def _followed_table(self) -> FollowedTable:
        if self._followed is None:
            self._followed = follow_table(self._options)
        return self._followed

    def _pinned(self) -> PinnedTable:
        if self._pin is None:
            self._pin = pin_table(self._options)
        return self._pin

    def _pinned_with_schema(self, schema: StructType) -> PinnedTable:
        pinned = self._pinned()
        if pinned.schema != schema:
            reason = f"it must be that of the table, {pinned.schema.simpleString()}: omit it"
            raise InvalidArgumentError(argument="schema", reason=reason)
        return pinned


class SnapshotReader(DataSourceReader):
    """Reads the rows of one version."""

    def __init__(self, pinned: PinnedTable, options: SourceOptions) -> None:
        self._pinned = pinned
        self._options = options
        self._reader = pinned.group_reader()

    @message_first
    def partitions(self) -> list[InputPartition]:
        """Return the live files in groups."""
        scan = self._pinned.snapshot().scan(where=self._pinned.where)
        files = pa.Table.from_batches(
            scan.batches(columns=FILE_COLUMNS), schema=scan.arrow_schema(columns=FILE_COLUMNS)
        )
        return list(group_files(files, partition_bytes=self._options.partition_bytes))

    @messages_first
    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the rows of one group, on a worker."""
        return self._reader.read(partition)


class ChangeReader(SnapshotReader):
    """Reads the rows that changed in a range of versions."""

    @message_first
    def partitions(self) -> list[InputPartition]:
        """Return the files with the changed rows, in groups."""
        plan = StreamPlan(self._pinned, self._options)
        start, end = plan.first_offset(self._pinned.version), self._end_offset()
        if start.part is Part.SNAPSHOT:
            reason = "a change feed needs a start: set it, or startingTimestamp"
            raise InvalidArgumentError(argument="startingVersion", reason=reason)
        if not start.version < end.version <= self._pinned.version + 1:
            reason = f"it must be from {start.version} to {self._pinned.version}"
            raise InvalidArgumentError(argument="endingVersion", reason=reason)
        files = plan.files(start, end)
        if not files:
            return []
        size = self._options.partition_bytes
        return list(group_files(pa.concat_tables(files), partition_bytes=size))

    def _end_offset(self) -> Offset:
        last = self._options.ending_version
        return Offset(
            table=self._pinned.metadata.id,
            version=(self._pinned.version if last is None else last) + 1,
        )


def register(spark: SparkSession) -> None:
    """Register the data source `headrace` and the SQL functions in a session."""
    spark.dataSource.register(HeadraceSource)
    register_functions(spark)
    register_state_functions(spark)
