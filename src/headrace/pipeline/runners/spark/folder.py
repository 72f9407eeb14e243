"""Reads and writes folders of Parquet files through Spark's own file systems.

The storage options of a place become Hadoop settings of one read or write, not of the session.
"""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.place import Place
from headrace.spark.file_system import (
    check_file_system,
    hadoop_settings,
    remote_address,
    spark_address,
)

_WITHOUT_SUCCESS_FILE = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


def write_folder(frame: DataFrame, folder: Place, *, partition_by: Sequence[str]) -> None:
    """Write rows as files, without a `_SUCCESS` marker.

    Raises:
        FileSystemMissingError: Spark lacks the file system of the folder's store.
    """
    address = remote_address(folder.uri, folder.options)
    check_file_system(frame.sparkSession, address)
    settings = hadoop_settings(address, folder.options)
    writer = frame.write.mode("overwrite").partitionBy(*partition_by)
    writer.options(**_WITHOUT_SUCCESS_FILE, **settings).parquet(spark_address(folder.uri, address))


def read_folder(session: SparkSession, folder: Place, schema: pa.Schema) -> DataFrame:
    """Read a folder of files with the schema that they were written with."""
    address = remote_address(folder.uri, folder.options)
    reader = session.read.schema(schema_text(schema))
    reader = reader.options(**hadoop_settings(address, folder.options))
    return reader.parquet(spark_address(folder.uri, address))
