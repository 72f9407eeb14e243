"""Computes the digests of results of Spark, in the driver or on the workers.

A folder or a DataFrame enters; the digest leaves. Small results are read in the driver, since
starting workers takes longer.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.pipeline.arrow_ddl import spark_schema
from headrace.pipeline.output.staged import open_staged, parquet_files
from headrace.pipeline.place import Place
from headrace.pipeline.project.header import Tier
from headrace.pipeline.runners.spark.folder import read_folder
from headrace.pipeline.runs.row_digest import RowDigest, digest_batches, merge_digests

_DRIVER_BYTES = 256 << 20
"""Up to this size, reading the files in the driver is faster than starting workers."""


def digest_written(  # noqa: PLR0913  (the written files, and how to digest them)
    session: SparkSession,
    folder: Place,
    *,
    schema: pa.Schema,
    partition_by: Sequence[str],
    tier: Tier,
    driver_bytes: int = _DRIVER_BYTES,
) -> RowDigest:
    """Return the digest of the files in a folder.

    A result above `driver_bytes` is digested by workers, without its order. If the order matters,
    it is read in the driver, batch by batch, whatever its size.
    """
    size_bytes = sum(file.size_bytes for file in parquet_files(folder.open(), ""))
    if size_bytes > driver_bytes and tier is not Tier.CANONICAL:
        return digest_frame(read_folder(session, folder, schema), schema)
    rows = open_staged(folder, schema=schema, partition_by=partition_by)
    return digest_batches(schema, rows.to_batches(use_threads=False))


def digest_frame(frame: DataFrame, schema: pa.Schema) -> RowDigest:
    """Return the digest of a DataFrame, computed on the workers, without its order."""
    parts = frame.mapInArrow(partial(_digest_partition, schema=schema), "digest STRING").collect()
    empty = digest_batches(schema, [])
    decoded = [msgspec.json.decode(row[0], type=RowDigest) for row in parts]
    return merge_digests([empty, *decoded])


def _digest_partition(batches: Iterable[Any], *, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    plain = (batch.cast(schema) if batch.schema != schema else batch for batch in batches)
    digest = digest_batches(spark_schema(schema), plain)
    encoded = msgspec.json.encode(digest).decode()
    yield pa.RecordBatch.from_pydict({"digest": [encoded]})
