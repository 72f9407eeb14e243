"""Reads tables through Spark Connect: the server reads files by path and joins all other data.

The client has no access to a JVM, so it cannot pass a pinned file list to Spark. The kernel plans
and prunes; the server gets the paths; partition values and deleted rows are small tables that are
joined by path and row. This is slower than the native scan, and files are pruned only by the
condition of `read`, not by filters that are added later.

A path has several spellings, and a join on the wrong one would match nothing. So no row is ever
dropped for lack of a match: an unknown path raises an error inside the query.
"""

import re
from contextlib import suppress
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its name everywhere)
from pyspark.sql.types import StructType

from headrace.errors import (
    CorruptDataFileError,
    FilesNotSeenError,
    ObjectNotFoundError,
    RequestError,
    SessionError,
)
from headrace.expr.reference import evaluated_columns
from headrace.protocol.action import DeletionVector
from headrace.protocol.schema import PrimitiveType
from headrace.rows.deletion_vector import read_deletion_vector
from headrace.rows.resolve import MatchBy
from headrace.spark.column import ScanColumns, quoted
from headrace.spark.file_system import remote_address, spark_addresses
from headrace.spark.pin import FILE_COLUMNS, READ_OPTIONS
from headrace.storage.store import RequestCost
from headrace.table import Snapshot

_PATH = "__headrace_path"
_FILE = "__headrace_file"
_ROW_BITS = 40
"""The bits of a row key that are the position in the file; the others are the file number."""

_BY_FIELD_ID = "spark.sql.parquet.fieldId.read.enabled"
_ZONES_LIKE_UTC = ("UTC", "Etc/UTC", "Z", "GMT", "+00:00")
_ESCAPED = re.compile(r"[^A-Za-z0-9_\-!.~'()*,;:$&+=@/\u0080-\U0010ffff]")
"""The characters that Java escapes in the path of a URI."""
_PATTERN = re.compile(r"[\\*?\[\]{}]")
_TIMES = tuple(map(PrimitiveType, ("date", "timestamp", "timestamp_ntz")))


def read_by_path(spark: SparkSession, snapshot: Snapshot, *, where: str | None) -> DataFrame:
    """Return a snapshot as a DataFrame, in a session of Spark Connect.

    Raises:
        FilesNotSeenError: the server sees other files than the log names.
        SessionError: columns are matched by id, and the session does not allow it.
    """
    columns = ScanColumns.of(snapshot)
    if columns.match_by is MatchBy.ID and spark.conf.get(_BY_FIELD_ID, "false") != "true":
        reason = f"the table matches columns by id: set {_BY_FIELD_ID}=true in the session"
        raise SessionError(reason=reason)
    scan = snapshot.scan(where=_kernel_condition(spark, snapshot, where))
    batches = list(scan.batches(columns=FILE_COLUMNS))
    files = pa.Table.from_batches(batches, scan.arrow_schema(columns=FILE_COLUMNS))
    files = files.append_column(_FILE, pa.array(range(files.num_rows), pa.int64()))
    has_vector = files["dv_id"].is_valid()
    rows = _Files(spark, snapshot, columns, files.filter(pc.invert(has_vector))).rows()
    if pc.any(has_vector, min_count=0).as_py():
        with_vectors = _Files(spark, snapshot, columns, files.filter(has_vector))
        rows = rows.unionAll(with_vectors.rows_not_deleted())
    return rows if where is None else rows.where(where)


def _kernel_condition(spark: SparkSession, snapshot: Snapshot, where: str | None) -> str | None:
    """Return the condition if the kernel and the session agree on its meaning."""
    if where is None:
        return None
    try:
        predicate = snapshot.scan(where=where).request.predicate
    except RequestError:  # Spark may understand it, and reports an error if not
        return None
    assert predicate is not None
    zone = spark.conf.get("spark.sql.session.timeZone")
    if zone not in _ZONES_LIKE_UTC and any(c.type in _TIMES for c in evaluated_columns(predicate)):
        return None
    return where


class _Files:
    """Some files of a snapshot, as described to the server."""

    def __init__(
        self, spark: SparkSession, snapshot: Snapshot, columns: ScanColumns, files: pa.Table
    ) -> None:
        self._spark = spark
        self._snapshot = snapshot
        self._columns = columns
        # The server reads them with its own file systems and settings.
        table = snapshot.table
        address = remote_address(table.uri, table.storage_options)
        self._files = files.set_column(
            files.column_names.index("uri"), "uri", spark_addresses(files["uri"], address)
        )

    def rows(self) -> DataFrame:
        """Return the rows with logical names."""
        if not self._files.num_rows:
            schema = [*self._columns.data_schema(), *self._columns.partition_schema()]
            rows = self._spark.createDataFrame([], StructType(schema))
        else:
            rows = self._joined() if self._columns.partition_columns else self._scanned()
        return rows.select(self._columns.projection())

    def rows_not_deleted(self) -> DataFrame:
        """Return the rows without deleted ones."""
        key = F.shiftleft(F.col(_FILE), _ROW_BITS).bitwiseOR(F.col("_metadata.row_index"))
        deleted = F.broadcast(self._spark.createDataFrame(self._deleted()))
        rows = self._joined().withColumn("__headrace_row", key)
        return rows.join(deleted, "__headrace_row", "left_anti").select(self._columns.projection())

    def _joined(self) -> DataFrame:
        """Return the stored rows, with partition values and the number of the file."""
        path = F.col("_metadata.file_path")
        file_table = F.broadcast(self._spark.createDataFrame(self._file_table()))
        joined = self._scanned().join(file_table, path == F.col(_PATH), "left")
        unknown_path = F.raise_error(
            F.concat(F.lit("headrace: no file of the pin has the path "), path)
        )
        names = [_FILE, *self._columns.partition_schema().names]
        return joined.withColumns(
            {
                name: F.when(F.col(_PATH).isNull(), unknown_path).otherwise(F.col(quoted(name)))
                for name in names
            }
        )

    def _scanned(self) -> DataFrame:
        """Return the stored rows."""
        paths = self._files["uri"].to_pylist()
        self._check_not_empty(paths)
        reader = self._spark.read.schema(self._columns.data_schema()).options(**READ_OPTIONS)
        rows = reader.options(recursiveFileLookup="true").parquet(*map(_literal, paths))
        files_seen = len(set(rows.inputFiles()))
        if files_seen != len(paths):
            table = self._snapshot.table.uri
            raise FilesNotSeenError(table=table, expected=len(paths), seen=files_seen)
        return rows

    def _check_not_empty(self, paths: list[str]) -> None:
        """Check that local files are not empty, since Spark ignores empty files."""
        store = self._snapshot.table.data_store
        if store.request_cost is not RequestCost.LOCAL:
            return
        for path in paths:
            with suppress(ObjectNotFoundError):  # which the server reports
                if not store.head(path).size_bytes:
                    raise CorruptDataFileError(path=path, reason="it is empty")

    def _file_table(self) -> pa.Table:
        """Return number and partition values of each file, by both spellings of its path."""
        partitions = self._columns.partition_schema().names
        values = self._files["typed_partition_values"].combine_chunks()
        numbered = [self._files[_FILE], *values.flatten()]
        spellings = zip(*map(_spellings, self._files["uri"].to_pylist()), strict=True)
        names = [_PATH, _FILE, *partitions]
        return pa.concat_tables(
            pa.table([pa.array(paths, pa.string()), *numbered], names=names) for paths in spellings
        )

    def _deleted(self) -> pa.Table:
        """Return the keys of all deleted rows."""
        store = self._snapshot.table.data_store
        keys = []
        numbered = zip(self._files[_FILE], self._files["deletion_vector"], strict=True)
        for number, vector in numbered:
            deleted = read_deletion_vector(store, DeletionVector(**vector.as_py()))
            rows = pa.array(deleted.indexes(), pa.uint64()).cast(pa.int64())
            keys.append(pc.bit_wise_or(rows, number.as_py() << _ROW_BITS))
        return pa.table({"__headrace_row": pa.chunked_array(keys, pa.int64())})


def _spellings(path: str) -> tuple[str, ...]:
    """Return a path as Spark writes it: escaped, and with one or three slashes if local."""
    encoded = _ESCAPED.sub(lambda match: quote(match[0], safe=""), path)
    return (f"file:{encoded}", f"file://{encoded}") if path.startswith("/") else (encoded,)


def _literal(path: str) -> str:
    """Return a path with pattern characters escaped."""
    return _PATTERN.sub(r"\\\g<0>", path)
