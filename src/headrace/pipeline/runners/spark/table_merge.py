"""Merges by key on Spark: rows with a known key are replaced, others are added.

Spark finds the files of the table that contain a key of a new row, and rewrites their other rows
next to the new ones; one commit adds the new files and removes the old ones. The driver handles
file names, never rows.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as PySpark calls it)

from headrace.expr.node import And, Column, Compare, CompareOp, Literal, Predicate
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.output.merge import NO_KEY, SAME_KEY, merge_rows, wrong_key
from headrace.pipeline.output.write import OutputWrite, Replacement
from headrace.spark.column import quoted
from headrace.spark.native import read_kept
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
    rows = session.read.schema(schema_text(write.schema)).parquet(str(write.rows))
    bounds = _check_keys(rows, write) if write.has_rows else {}
    if snapshot is None:
        return Replacement(files=write.files())
    if not write.has_rows:
        return Replacement(files=[])
    if write.header.change_feed:
        return merge_rows(write, snapshot, memory_bytes=memory_bytes)
    return _rewrite(session, write, snapshot, rows, bounds)


def write_parquet(frame: DataFrame, folder: str, *, mode: str, partition_by: Sequence[str]) -> None:
    """Write rows as Parquet files, without a `_SUCCESS` file."""
    writer = frame.write.mode(mode).partitionBy(*partition_by)
    writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(folder)


def _check_keys(rows: DataFrame, write: OutputWrite) -> dict[str, tuple[Any, Any]]:
    """Return the least and greatest value of each key.

    Raises:
        InvalidResultError: a key is null, or two rows have the same key.
    """
    view, keys = write.note.view, write.header.keys
    columns = [F.col(quoted(key)) for key in keys]
    nulls = rows.where(_any_null(keys)).select(*columns).limit(1).collect()
    if nulls:
        raise wrong_key(view, keys, tuple(nulls[0]), NO_KEY)
    counted = rows.groupBy(*columns).agg(F.count(F.lit(1)).alias(_COUNT))
    twice = counted.where(F.col(_COUNT) > 1).select(*columns).limit(1).collect()
    if twice:
        raise wrong_key(view, keys, tuple(twice[0]), SAME_KEY)
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
    kept_by = _between(bounds)
    target = read_kept(session, snapshot, kept_by=None if kept_by is None else str(kept_by))
    target = target.select("*", F.col("_metadata.file_path").alias(_FILE))
    keys = list(write.header.keys)
    new_keys = rows.select(*map(quoted, keys))
    hit = target.join(new_keys, keys, "left_semi").select(_FILE).distinct().collect()
    if not hit:
        return Replacement(files=write.files())
    named = session.createDataFrame(hit, f"{_FILE} STRING")
    survivors = target.join(F.broadcast(named), _FILE, "left_semi").join(
        new_keys, keys, "left_anti"
    )
    folder = write.staging.folder / f"survivors-{snapshot.version}"
    write_parquet(
        survivors.select(*map(quoted, write.schema.names)),
        str(folder),
        mode="overwrite",
        partition_by=write.header.partition_by,
    )
    places = {unquote(urlsplit(row[0]).path) for row in hit}
    replaced = frozenset(file.path for file in snapshot.scan() if file.uri in places)
    assert len(replaced) == len(places), "a file that Spark has read is not one of the table"
    return Replacement(files=[*write.files(), *write.files(folder)], replaced=replaced)


def _between(bounds: Mapping[str, tuple[Any, Any]]) -> Predicate | None:
    """Return the condition that table rows with a key of a new row fulfil."""
    parts = [
        Compare(Column((key,)), op, Literal(value))
        for key, (least, greatest) in bounds.items()
        if type(least) in {int, str, date}
        for op, value in ((CompareOp.GE, least), (CompareOp.LE, greatest))
    ]
    return And(tuple(parts)) if parts else None
