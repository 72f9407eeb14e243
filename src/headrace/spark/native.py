"""The native way: a Spark relation of its own kind over exactly the files that the kernel gives.

Spark sees what it sees for any Parquet table: a vectorised scan with partition pruning, filters
pushed down, metadata columns. Only where its files come from is ours.
"""

import logging
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

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
from headrace.spark.pruning import NOT_UNDERSTOOD, KeptFiles, VectorReader
from headrace.table import Snapshot

_LOGGER = logging.getLogger("headrace.spark")


def read_native(spark: SparkSession, snapshot: Snapshot, *, where: str | None) -> DataFrame:
    """A snapshot as a DataFrame, in a session that has its driver in this process."""
    table = _NativeTable(spark, snapshot)
    if where is None:
        return table.frame(snapshot.scan())
    return table.frame(table.pruned_scan(where)).where(where)


def read_kept(spark: SparkSession, snapshot: Snapshot, *, kept_by: str | None) -> DataFrame:
    """All rows of the files that a condition of the kernel leaves; no row is filtered."""
    return _NativeTable(spark, snapshot).frame(snapshot.scan(where=kept_by))


class _NativeTable:
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
        """The rows of the files of a scan, under logical names."""
        columns = self._columns
        root = spark_address(self._snapshot.table.uri, self._address)
        with tempfile.TemporaryDirectory(prefix="headrace-") as folder:
            stream = Path(folder) / "files.arrow"
            found = write_files(scan, stream, address=self._address)
            partitions = java_type(self._spark, columns.partition_schema())
            files = self._java.files(str(stream), partitions, len(found.vectors) > 0)
        index = self._java.index(
            found.pin.identity,
            str(found.pin),
            root,
            files,
            KeptFiles(self._snapshot, columns, self._address),
            VectorReader(found, self._snapshot.table.data_store),
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
        """The files that may hold a row for which a condition is true, as Spark understands it.

        Spark resolves names, types and time zones. It is shown the table without files, and what
        it would push into the scan is what the kernel is asked.
        """
        probe = self.frame(self._snapshot.scan(limit=0)).where(where)
        pushed = self._java.pushedPredicate(probe._jdf)  # noqa: SLF001  (the JVM's own)
        try:
            if pushed is not None:
                return self._snapshot.scan(where=decode_predicate(pushed, self._columns))
        except NOT_UNDERSTOOD as error:
            _LOGGER.info("no files are skipped for %s: %r", where, error)
        return self._snapshot.scan()
