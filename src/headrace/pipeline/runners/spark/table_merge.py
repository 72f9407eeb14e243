"""Merges by key on Spark: a row replaces the row with the same key, or is added.

Spark finds the files of the table that contain a key of a new row, and rewrites their other rows
next to the new ones; one commit adds the new files and removes the old ones. The driver handles
file names, never rows.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as PySpark calls it)

from headrace.pipeline.output.merge import NO_KEY, SAME_KEY, merge_rows, wrong_key
from headrace.pipeline.output.table_copy import between
from headrace.pipeline.output.write import OutputWrite, Replacement
from headrace.pipeline.runners.spark.folder import read_folder, write_folder
from headrace.spark.column import quoted
from headrace.spark.file_system import remote_address, spark_address
from headrace.spark.native import read_pruned
from headrace.table import Snapshot

_FILE = "__headrace_file"
_COUNT = "__headrace_count"


def merge_on_spark(
    session: SparkSession, write: OutputWrite, snapshot: Snapshot | None, *, memory_bytes: int
) -> Replacement:
    """Compute a merge.

    A table with a change data feed is merged in the driver, within `memory_bytes`: the changed rows
    must be written, too, which only deltalake's merge does.

    Raises:
        InvalidResultError: the keys do not identify rows.
    """
    rows = read_folder(session, write.table / write.rows, write.schema)
    bounds = _check_keys(rows, write) if write.has_rows else {}
    if snapshot is None:
        return Replacement(files=write.files())
    if not write.has_rows:
        return Replacement(files=[])
    if write.header.change_feed:
        return merge_rows(write, snapshot, memory_bytes=memory_bytes)
    return _rewrite(session, write, snapshot, rows, bounds)


def _check_keys(rows: DataFrame, write: OutputWrite) -> dict[str, tuple[Any, Any]]:
    """Return the least and greatest value of each key.

    Raises:
        InvalidResultError: a key is null, or two rows have the same key.
    """
    view, keys = write.note.view, write.header.keys
    columns = [F.col(quoted(key)) for key in keys]
    null_keys = rows.where(_any_null(keys)).select(*columns).limit(1).collect()
    if null_keys:
        raise wrong_key(view, keys, tuple(null_keys[0]), NO_KEY)
    key_counts = rows.groupBy(*columns).agg(F.count(F.lit(1)).alias(_COUNT))
    repeated_keys = key_counts.where(F.col(_COUNT) > 1).select(*columns).limit(1).collect()
    if repeated_keys:
        raise wrong_key(view, keys, tuple(repeated_keys[0]), SAME_KEY)
    rows_of_bounds = rows.agg(
        *(bound(column) for column in columns for bound in (F.min, F.max))
    ).collect()
    bounds = zip(rows_of_bounds[0][::2], rows_of_bounds[0][1::2], strict=True)
    return dict(zip(keys, bounds, strict=True))


def _any_null(keys: Sequence[str]) -> Any:
    return reduce(or_, (F.col(quoted(key)).isNull() for key in keys))


def _rewrite(
    session: SparkSession,
    write: OutputWrite,
    snapshot: Snapshot,
    rows: DataFrame,
    bounds: Mapping[str, tuple[Any, Any]],
) -> Replacement:
    """Write the surviving rows of files that contain replaced ones."""
    key_range = between(bounds)
    target = read_pruned(session, snapshot, prune_by=key_range)
    target = target.select("*", F.col("_metadata.file_path").alias(_FILE))
    keys = list(write.header.keys)
    new_keys = rows.select(*map(quoted, keys))
    file_rows = target.join(new_keys, keys, "left_semi").select(_FILE).distinct().collect()
    if not file_rows:
        return Replacement(files=write.files())
    files_hit = session.createDataFrame(file_rows, f"{_FILE} STRING")
    survivors = target.join(F.broadcast(files_hit), _FILE, "left_semi").join(
        new_keys, keys, "left_anti"
    )
    folder = f"{write.staging.name}/survivors-{snapshot.version}"
    write_folder(
        survivors.select(*map(quoted, write.schema.names)),
        write.table / folder,
        partition_by=write.header.partition_by,
    )
    address = remote_address(write.table.uri, write.table.options)
    paths_hit = {unquote(row[0] if address else urlsplit(row[0]).path) for row in file_rows}
    live = snapshot.scan()
    replaced = frozenset(
        file.path for file in live if spark_address(file.uri, address) in paths_hit
    )
    assert len(replaced) == len(paths_hit), "a file that Spark has read is not one of the table"
    return Replacement(files=[*write.files(), *write.files(folder)], replaced=replaced)
