"""Writes rows as Parquet files, in the layout that Spark uses.

A schema and record batches enter; files in a local or remote folder leave, partitioned Hive style.
"""

import resource
from collections.abc import Iterable, Sequence
from os import PathLike
from uuid import uuid4

import pyarrow as pa
import pyarrow.dataset as ds

from headrace.pipeline.output.file_system import arrow_file_system
from headrace.pipeline.place import Place

_ROWS_PER_FILE = 5_000_000
_ROWS_PER_GROUP = 1 << 17
_MAX_PARTITIONS = (1 << 31) - 1
"""Effectively unlimited: Spark has no limit either."""
_MAX_OPEN_FILES = 512


def write_rows(
    folder: Place | PathLike[str],
    schema: pa.Schema,
    rows: Iterable[pa.RecordBatch],
    *,
    partition_by: Sequence[str],
) -> None:
    """Write rows in order; partition column values are stored only in the folder names."""
    folder = Place.of(folder)
    if folder.is_local:
        folder.path.mkdir(parents=True, exist_ok=True)
    partitioning = ds.partitioning(
        pa.schema([schema.field(name) for name in partition_by]), flavor="hive"
    )
    ds.write_dataset(
        rows,
        folder.path if folder.is_local else "",
        schema=schema,
        format="parquet",
        filesystem=arrow_file_system(folder),
        create_dir=folder.is_local,
        partitioning=partitioning,
        basename_template=f"part-{uuid4()}-{{i}}.parquet",
        max_rows_per_file=_ROWS_PER_FILE,
        max_rows_per_group=_ROWS_PER_GROUP,
        preserve_order=True,
        max_partitions=_MAX_PARTITIONS,
        max_open_files=_max_open_files(),
        existing_data_behavior="overwrite_or_ignore",
    )


def _max_open_files() -> int:
    """Return how many files may be open at once: at most a quarter of the process limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    is_limited = soft != resource.RLIM_INFINITY
    return max(1, min(_MAX_OPEN_FILES, soft // 4)) if is_limited else _MAX_OPEN_FILES
