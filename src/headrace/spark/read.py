"""Reads a table at one version as a DataFrame: natively, or by path through Spark Connect.

A session and a table, address or snapshot enter; a DataFrame over pinned files leaves.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from os import PathLike
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.engines.spark.any_session import is_connect
from headrace.errors import InvalidArgumentError
from headrace.rows.request import choose_columns
from headrace.spark.column import quoted
from headrace.spark.connect import read_by_path
from headrace.spark.native import read_native
from headrace.spark.session import attach
from headrace.spark.table_argument import resolve_table
from headrace.table import Snapshot, Table


def read(  # noqa: PLR0913  (the table, the version, and the rows and columns)
    spark: SparkSession,
    table: str | PathLike[str] | Table | Snapshot,
    *,
    version: int | None = None,
    as_of: datetime | date | str | None = None,
    where: str | None = None,
    columns: Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Return a table at one version as a DataFrame; later commits do not change it.

    Args:
        spark: A session of either kind.
        table: The table's address, a `Table`, or a `Snapshot`.
        version: The version to read; by default the newest, pinned immediately.
        as_of: The time to read the table as of, as for `Table.snapshot`.
        where: An SQL condition on rows, as for `DataFrame.where`. Files that cannot contain a
            matching row are not listed. Filters that are added to the DataFrame later prune files,
            too, when Spark plans the query.
        columns: The names of the columns to return; by default all, in the table's order.
        storage_options: Options of the table's store, as for `Table`. Spark reads data files
            through its own file systems, which get them as settings of this DataFrame.

    Raises:
        TableError: the table or version does not exist, or cannot be read.
        UnknownColumnError: a column does not exist.
        FileSystemMissingError: Spark lacks the file system of the table's store.
        FilesNotSeenError, SessionError: under Spark Connect, the server cannot read the table.
    """
    snapshot = _snapshot(table, storage_options, version=version, as_of=as_of)
    fields = choose_columns(snapshot.logical_schema, columns)
    read_rows = read_by_path if is_connect(attach(spark)) else read_native
    rows = read_rows(spark, snapshot, where=where)
    return rows if columns is None else rows.select([quoted(name) for name in fields.names])


def _snapshot(
    table: str | PathLike[str] | Table | Snapshot,
    storage_options: Mapping[str, Any] | None,
    *,
    version: int | None,
    as_of: datetime | date | str | None,
) -> Snapshot:
    if isinstance(table, Snapshot):
        if version is not None or as_of is not None or storage_options is not None:
            reason = "a Snapshot has a version and options already: pass its Table instead"
            raise InvalidArgumentError(argument="version", reason=reason)
        return table
    return resolve_table(table, storage_options).snapshot(version=version, as_of=as_of)
