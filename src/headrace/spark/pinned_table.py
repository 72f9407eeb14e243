"""A table at one version, as it travels between the processes of a data source."""

import msgspec
from pyspark.sql.types import StructType

from headrace import wiring
from headrace.protocol.action import Metadata
from headrace.rows.request import RowRequest
from headrace.scan.live_file import FileContext
from headrace.spark.feed_column import with_feed
from headrace.spark.file_group import GroupReader
from headrace.spark.schema import spark_schema
from headrace.spark.source_option import SourceOptions
from headrace.table import Snapshot, Table


class PinnedTable(msgspec.Struct, frozen=True, kw_only=True):
    """What all processes must agree on. It pickles, and is small."""

    uri: str
    storage: dict[str, str]
    version: int
    metadata: Metadata
    context: FileContext
    request: RowRequest
    schema: StructType
    """The columns that Spark is promised."""

    def table(self) -> Table:
        """The table."""
        return Table(self.uri, storage_options=self.storage)

    def snapshot(self) -> Snapshot:
        """The version again."""
        return self.table().snapshot(version=self.version)

    def group_reader(self) -> GroupReader:
        """What reads its files on a worker."""
        store = wiring.open_store(self.uri, options=self.storage)
        files = wiring.open_files(store, options=self.storage)
        return GroupReader(store=files, request=self.request, schema=self.schema)


def pin_table(options: SourceOptions) -> PinnedTable:
    """Find the version that the options name; by default the newest."""
    table = Table(options.path, storage_options=options.storage)
    snapshot = table.snapshot(version=options.version, as_of=options.as_of)
    request = snapshot.row_request(where=options.where, columns=options.columns)
    columns = with_feed(request.columns) if options.read_change_feed else request.columns
    return PinnedTable(
        uri=table.uri,
        storage=options.storage,
        version=snapshot.version,
        metadata=snapshot.metadata,
        context=snapshot.scan().context,
        request=request,
        schema=spark_schema(columns, table=table.uri),
    )
