"""The native scan: a Spark relation over exactly the files that the kernel lists.

A session and a snapshot enter; a DataFrame leaves. Spark plans it like any Parquet table: a
vectorised scan with partition pruning, filter pushdown and metadata columns. Only the file list
comes from Headrace.
"""

import logging
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from headrace.expr.node import Predicate
from headrace.rows.resolve import MatchBy
from headrace.scan.scan import Scan
from headrace.spark.column import ScanColumns
from headrace.spark.file_system import (
    check_file_system,
    hadoop_settings,
    remote_address,
    spark_address,
)
from headrace.spark.jvm import java_session, java_type, load_frames
from headrace.spark.pin import READ_OPTIONS, write_files
from headrace.spark.predicate import decode_predicate
from headrace.spark.pruning import NOT_UNDERSTOOD, MatchingFiles, VectorReader
from headrace.table import Snapshot

_LOGGER = logging.getLogger("headrace.spark")


def read_native(spark: SparkSession, snapshot: Snapshot, *, where: str | None) -> DataFrame:
    """Return a snapshot as a DataFrame, in a session whose driver runs in this process."""
    table = _NativeTable(spark, snapshot)
    if where is None:
        return table.frame(snapshot.scan())
    return table.frame(table.pruned_scan(where)).where(where)


def read_pruned(
    spark: SparkSession, snapshot: Snapshot, *, prune_by: str | Predicate | None
) -> DataFrame:
    """Return all rows of the files that a condition does not prune; no row is filtered."""
    return _NativeTable(spark, snapshot).frame(snapshot.scan(where=prune_by))


class _NativeTable:
    """A table in a classic session, with the Java objects and settings that its scans need."""

    def __init__(self, spark: SparkSession, snapshot: Snapshot) -> None:
        self._spark = spark
        self._snapshot = snapshot
        self._columns = ScanColumns.of(snapshot)
        self._java = load_frames(spark)
        table = snapshot.table
        self._address = remote_address(table.uri, table.storage_options)
        check_file_system(spark, self._address)
        self._options = READ_OPTIONS | hadoop_settings(self._address, table.storage_options)

    def frame(self, scan: Scan) -> DataFrame:
        """Return the rows of the files of a scan, with logical names."""
        columns = self._columns
        root = spark_address(self._snapshot.table.uri, self._address)
        with tempfile.TemporaryDirectory(prefix="headrace-") as folder:
            stream = Path(folder) / "files.arrow"
            pinned_files = write_files(scan, stream, address=self._address)
            partitions = java_type(self._spark, columns.partition_schema())
            files = self._java.files(str(stream), partitions, len(pinned_files.vectors) > 0)
        index = self._java.index(
            pinned_files.pin.identity,
            str(pinned_files.pin),
            root,
            files,
            MatchingFiles(self._snapshot, columns, self._address),
            VectorReader(pinned_files, self._snapshot.table.data_store),
        )
        rows = self._java.scan(
            java_session(self._spark),
            index,
            java_type(self._spark, columns.data_schema()),
            columns.match_by is MatchBy.ID,
            self._options,
        )
        return DataFrame(rows, self._spark).select(columns.projection())

    def pruned_scan(self, where: str) -> Scan:
        """Return a scan of the files that may contain a row that matches a condition.

        Spark resolves names, types and time zones: it plans a query over the table without files,
        and the filters that it would push into the scan are passed to the kernel.
        """
        probe = self.frame(self._snapshot.scan(limit=0)).where(where)
        pushed = self._java.pushedPredicate(probe._jdf)  # noqa: SLF001  (the JVM's own)
        try:
            if pushed is not None:
                return self._snapshot.scan(where=decode_predicate(pushed, self._columns))
        except NOT_UNDERSTOOD as error:
            _LOGGER.info("no files are skipped for %s: %r", where, error)
        return self._snapshot.scan()
