"""Staged files: written below a table by a runner, and not yet referenced by any version.

A folder enters; its files leave with the partition values and statistics that the log needs, or its
rows leave as an Arrow dataset.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from headrace.commit.definition import schema_string
from headrace.errors import InvalidResultError, PartitionValueError
from headrace.pipeline.output.file_system import arrow_file_system
from headrace.pipeline.parquet_statistics import read_statistics
from headrace.pipeline.place import Place
from headrace.protocol.schema import parse_schema
from headrace.protocol.value import typed_value
from headrace.storage.store import ObjectMeta, RequestCost, Store

_NULL = "__HIVE_DEFAULT_PARTITION__"
_FOOTERS_AT_ONCE = 16


class StagedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A staged file, with the facts that the log needs."""

    path: str
    """The path below the table, not percent-encoded."""
    size_bytes: int
    modified_ms: int
    partition_values: dict[str, str | None]
    statistics: str | None


def list_staged(
    store: Store, folder: str, *, schema: pa.Schema, partition_by: Sequence[str]
) -> list[StagedFile]:
    """Return the non-empty files of a folder, in the order in which rows were written."""
    physical = pa.schema([field for field in schema if field.name not in partition_by])
    files = parquet_files(store, folder)
    staged = []
    for file, metadata in zip(files, _read_footers(store, files), strict=True):
        if not metadata.num_rows:
            continue
        values = _partition_values(file.path.removeprefix(f"{folder}/"), partition_by)
        staged.append(
            StagedFile(
                path=file.path,
                size_bytes=file.size_bytes,
                modified_ms=file.modified_ms,
                partition_values=values,
                statistics=read_statistics(metadata, physical),
            )
        )
    return staged


def _read_footers(store: Store, files: Sequence[ObjectMeta]) -> list[pq.FileMetaData]:
    def read_footer(file: ObjectMeta) -> pq.FileMetaData:
        with store.open(file.path, size_bytes=file.size_bytes) as opened:
            return pq.read_metadata(opened)

    if store.request_cost is RequestCost.LOCAL:
        return [read_footer(file) for file in files]
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        return list(pool.map(read_footer, files))


def open_staged(
    folder: Place, *, schema: pa.Schema, partition_by: Sequence[str] = ()
) -> ds.Dataset:
    """Return the rows of a folder, including partition columns, file by file in order of path."""
    files = [file.path for file in parquet_files(folder.open(), "")]
    base = f"{folder.path}/" if folder.is_local else ""
    partitioning = ds.partitioning(
        pa.schema([schema.field(name) for name in partition_by]), flavor="hive"
    )
    return ds.dataset(
        [f"{base}{file}" for file in files],
        schema=schema,
        format="parquet",
        filesystem=arrow_file_system(folder),
        partitioning=partitioning,
        partition_base_dir=base or None,
    )


def check_partition_values(view: str, files: Iterable[StagedFile], schema: pa.Schema) -> None:
    """Check that the partition values of files can be read back unchanged.

    Raises:
        InvalidResultError: a value is out of range for its type, or null in a column without
            nulls. An empty string is null as a partition value.
    """
    columns = {field.name: field for field in parse_schema(schema_string(schema)).fields}
    values = {pair for file in files for pair in file.partition_values.items()}
    for name, text in sorted(values, key=str):
        column = columns[name]
        try:
            value = typed_value(text, column.type, column=name)
        except PartitionValueError as error:
            reason = f"it cannot be partitioned by {name}: {error}"
            raise InvalidResultError(view=view, reason=reason) from error
        if value is None and not column.nullable:
            reason = (
                f"partition column {name} is NOT NULL in the contract, but has a null or an empty "
                "string, which Delta stores as null: filter out these rows, or replace the value"
            )
            raise InvalidResultError(view=view, reason=reason)


def parquet_files(store: Store, folder: str) -> list[ObjectMeta]:
    """Return the Parquet files below a folder, in order of path."""
    files = (
        entry
        for entry in store.list_tree(folder)
        if entry.path.endswith(".parquet") and not entry.path.rpartition("/")[2].startswith(".")
    )
    return sorted(files, key=lambda file: file.path.split("/"))


def _partition_values(path: str, partition_by: Sequence[str]) -> dict[str, str | None]:
    values: dict[str, str | None] = {}
    for segment in path.split("/")[:-1]:
        name, _, text = segment.partition("=")
        values[unquote(name)] = None if text == _NULL else unquote(text)
    return {name: values[name] for name in partition_by}
