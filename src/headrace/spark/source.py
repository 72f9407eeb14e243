"""The data source `headrace`: tables by `spark.read.format("headrace")`, as batch and as stream.

Spark asks for the schema, for groups of files, and for the rows of each group, all in Python
processes of its own. The version is pinned when the schema is asked for, so that the schema and
the files of one DataFrame are always those of one version.

It never offers to take filters: Spark keeps one reader for all queries over a DataFrame, and
would apply the filter of one to the others. Use the option `where`.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from headrace.errors import InvalidArgumentError
from headrace.spark.file_group import FILE_COLUMNS, group_files
from headrace.spark.pinned_table import PinnedTable, pin_table
from headrace.spark.source_option import SourceOptions, parse_options

NAME = "headrace"


class HeadraceSource(DataSource):
    """Spark's door to Headrace's own row reader."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._options = parse_options(options)
        self._pin: PinnedTable | None = None

    @classmethod
    def name(cls) -> str:
        """What stands in `format(…)` and behind `USING`."""
        return NAME

    def schema(self) -> StructType:
        """The table's columns at the version that is pinned by this."""
        return self._pinned().schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the pinned version."""
        return SnapshotReader(self._checked(schema), self._options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """A reader of what is added from some version on."""
        raise NotImplementedError

    def _pinned(self) -> PinnedTable:
        if self._pin is None:
            self._pin = pin_table(self._options)
        return self._pin

    def _checked(self, schema: StructType) -> PinnedTable:
        pinned = self._pinned()
        if pinned.schema != schema:
            reason = f"it must be that of the table, {pinned.schema.simpleString()}: leave it out"
            raise InvalidArgumentError(argument="schema", reason=reason)
        return pinned


class SnapshotReader(DataSourceReader):
    """The rows of one version."""

    def __init__(self, pinned: PinnedTable, options: SourceOptions) -> None:
        self._pinned = pinned
        self._options = options
        self._reader = pinned.group_reader()

    def partitions(self) -> list[InputPartition]:
        """The live files in groups."""
        scan = self._pinned.snapshot().scan(where=self._options.where)
        files = pa.Table.from_batches(
            scan.batches(columns=FILE_COLUMNS), schema=scan.arrow_schema(columns=FILE_COLUMNS)
        )
        return list(group_files(files, partition_bytes=self._options.partition_bytes))

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The rows of one group, on a worker."""
        return self._reader.read(partition)


def register(spark: SparkSession) -> None:
    """Make the data source `headrace` known to a session."""
    spark.dataSource.register(HeadraceSource)
