"""The streaming part of the data source: reads what is added to a table, in micro-batches.

Spark stores the offsets and requests the files between two of them, again after a failure. The same
two offsets always return the same files, so a file sink with a checkpoint contains every row once,
wherever a process was killed.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from headrace.spark.file_group import group_files
from headrace.spark.message import message_first, messages_first
from headrace.spark.pinned_table import PinnedTable
from headrace.spark.source_option import FILES_PER_TRIGGER, UNLIMITED, SourceOptions
from headrace.spark.stream_offset import Offset, parse_offset
from headrace.spark.stream_plan import StreamPlan


class TableStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Streams what each version adds. It can be pickled, without its plans."""

    def __init__(self, pinned: PinnedTable, options: SourceOptions) -> None:
        self._pinned = pinned
        self._options = options
        self._reader = pinned.group_reader()
        self._plan = StreamPlan(pinned, options)
        self._last_version: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return TableStream, (self._pinned, self._options)

    @message_first
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return where a stream without a checkpoint starts."""
        return self._plan.beginning().as_dict()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit that Spark passes back, unless a trigger requests everything."""
        return ReadMaxFiles(self._options.stream.limits.files or FILES_PER_TRIGGER)

    @message_first
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the newest version that the stream reads."""
        self._last_version = self._plan.newest_version()

    @message_first
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return the end of the next micro-batch."""
        limits = self._options.stream.limits
        if isinstance(limit, ReadAllAvailable):
            limits = UNLIMITED
        last = self._last_version
        end = self._plan.advance(
            parse_offset(start),
            limits=limits,
            last_version=self._plan.newest_version() if last is None else last,
        )
        return end.as_dict()

    @message_first
    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the newest possible offset, for progress reports."""
        newest = self._plan.newest_version()
        return Offset(table=self._pinned.metadata.id, version=newest + 1).as_dict()

    @message_first
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the files between two offsets, in groups."""
        chunks = self._plan.files(parse_offset(start), parse_offset(end))
        if not chunks:
            return []
        files = pa.concat_tables(chunks)
        return list(group_files(files, partition_bytes=self._options.partition_bytes))

    @messages_first
    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the rows of one group, on a worker."""
        return self._reader.read(partition)
