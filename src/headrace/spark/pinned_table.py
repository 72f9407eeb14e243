"""A table pinned at one version, for all processes of a data source.

The options of a read enter; a small value leaves that planning and workers share, so that all of
them read the same version.
"""

import msgspec
from pyspark.sql.types import StructType

from headrace import wiring
from headrace.errors import TableReplacedError
from headrace.expr.node import Predicate
from headrace.protocol.action import Metadata, Protocol
from headrace.rows.feed_column import with_feed
from headrace.rows.request import RowRequest
from headrace.scan.live_file import FileContext
from headrace.spark.file_group import FileGroupReader
from headrace.spark.schema import spark_schema
from headrace.spark.source_option import SourceOptions
from headrace.spark.time_zone import ZonedCondition
from headrace.storage.option import HiddenOptions
from headrace.table import Snapshot, Table


class PinnedTable(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that all processes must agree on. It is small and can be pickled."""

    uri: str
    storage: HiddenOptions
    version: int
    protocol: Protocol
    metadata: Metadata
    context: FileContext
    request: RowRequest
    schema: StructType
    """The columns that were promised to Spark."""
    where: Predicate | None
    """The condition that prunes files."""
    late_condition: ZonedCondition | None
    """The condition that filters rows, if it depends on the session's time zone."""

    def table(self) -> Table:
        """Return the table."""
        return Table(self.uri, storage_options=self.storage)

    def snapshot(self) -> Snapshot:
        """Return the pinned version.

        Raises:
            TableReplacedError: the table has been replaced.
        """
        snapshot = self.table().snapshot(version=self.version)
        if snapshot.metadata.id != self.metadata.id:
            raise TableReplacedError(
                table=self.uri, expected=self.metadata.id, found=snapshot.metadata.id
            )
        return snapshot

    def group_reader(self) -> FileGroupReader:
        """Return the reader of its files, for workers."""
        store = wiring.open_store(self.uri, options=self.storage)
        files = wiring.open_files(store, options=self.storage)
        return FileGroupReader(
            store=files,
            request=self.request,
            schema=self.schema,
            late_condition=self.late_condition,
        )


def pin_table(options: SourceOptions) -> PinnedTable:
    """Pin the version that the options name; by default the newest."""
    table = Table(options.path, storage_options=options.storage)
    snapshot = table.snapshot(version=options.version, as_of=options.as_of)
    condition = _condition(options, snapshot)
    where = None if condition is None else condition.planned()
    is_late = condition is not None and condition.waits_for_zone
    request = snapshot.row_request(where=None if is_late else where, columns=options.columns)
    columns = with_feed(request.columns) if options.read_change_feed else request.columns
    return PinnedTable(
        uri=table.uri,
        storage=options.storage,
        version=snapshot.version,
        protocol=snapshot.protocol,
        metadata=snapshot.metadata,
        context=snapshot.scan().context,
        request=request,
        schema=spark_schema(columns, table=table.uri),
        where=where,
        late_condition=condition if is_late else None,
    )


def _condition(options: SourceOptions, snapshot: Snapshot) -> ZonedCondition | None:
    if options.where is None:
        return None
    return ZonedCondition(
        text=options.where,
        schema=snapshot.logical_schema,
        partition_columns=snapshot.partition_columns,
        time_zone=options.time_zone,
    )
