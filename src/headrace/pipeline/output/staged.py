"""Files that a runner has written below a table, and that no version of it has yet."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from headrace.commit.definition import schema_string
from headrace.errors import InvalidResultError, PartitionValueError
from headrace.pipeline.parquet_statistics import read_statistics
from headrace.protocol.schema import parse_schema
from headrace.protocol.value import typed_value

_NULL = "__HIVE_DEFAULT_PARTITION__"


class StagedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file, with what the log will say of it."""

    path: str
    """Below the table, as it is on disk."""
    size_bytes: int
    modified_ms: int
    partition_values: dict[str, str | None]
    statistics: str | None


def list_staged(
    table: Path, folder: Path, *, schema: pa.Schema, partition_by: Sequence[str]
) -> list[StagedFile]:
    """The files of a folder below a table, in the order in which rows were written."""
    physical = pa.schema([field for field in schema if field.name not in partition_by])
    staged = []
    for file in parquet_files(folder):
        metadata = pq.read_metadata(file)
        if not metadata.num_rows:
            continue
        status = file.stat()
        staged.append(
            StagedFile(
                path=file.relative_to(table).as_posix(),
                size_bytes=status.st_size,
                modified_ms=status.st_mtime_ns // 1_000_000,
                partition_values=_partition_values(file.relative_to(folder), partition_by),
                statistics=read_statistics(metadata, physical),
            )
        )
    return staged


def open_staged(folder: Path, *, schema: pa.Schema, partition_by: Sequence[str] = ()) -> ds.Dataset:
    """The rows of a folder of files, partition columns among them, in the order of their names."""
    files = [str(file) for file in parquet_files(folder)]
    partitioning = ds.partitioning(
        pa.schema([schema.field(name) for name in partition_by]), flavor="hive"
    )
    return ds.dataset(
        files,
        schema=schema,
        format="parquet",
        partitioning=partitioning,
        partition_base_dir=str(folder),
    )


def check_partition_values(view: str, files: Iterable[StagedFile], schema: pa.Schema) -> None:
    """Make sure that the partition values of files can be read back as what they are.

    Raises:
        InvalidResultError: a value is beyond what its type can hold, or null where the column
            may have no nulls. An empty text is null as a partition value.
    """
    columns = {field.name: field for field in parse_schema(schema_string(schema)).fields}
    values = {pair for file in files for pair in file.partition_values.items()}
    for name, text in sorted(values, key=str):
        column = columns[name]
        try:
            value = typed_value(text, column.type, column=name)
        except PartitionValueError as error:
            reason = f"it is to be partitioned by {name}, and cannot be: {error}"
            raise InvalidResultError(view=view, reason=reason) from error
        if value is None and not column.nullable:
            reason = (
                f"partition column {name} is promised to be NOT NULL and has a null, or an empty "
                "text, which Delta stores as null: filter these rows out, or replace the value"
            )
            raise InvalidResultError(view=view, reason=reason)


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files below a folder, sorted; a partition's folder may be called like one."""
    files = (file for file in folder.rglob("*.parquet") if file.is_file())
    return sorted(file for file in files if not file.name.startswith("."))


def _partition_values(path: Path, partition_by: Sequence[str]) -> dict[str, str | None]:
    values: dict[str, str | None] = {}
    for segment in path.parent.parts:
        name, _, text = segment.partition("=")
        values[unquote(name)] = None if text == _NULL else unquote(text)
    return {name: values[name] for name in partition_by}
