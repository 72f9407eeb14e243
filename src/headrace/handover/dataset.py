"""A snapshot as a `pyarrow.dataset.Dataset`: exact for every table, and lazy.

Arrow reads a Parquet file directly if that yields the table's rows: the file has no deletion
vector, and each column is stored under its own name in the table's type. The row reader serves all
other files as Arrow IPC files, created when a scanner opens them.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs, types

from headrace.handover.row_files import RowFiles
from headrace.rows.calendar import Calendar
from headrace.rows.data_file import DataFile
from headrace.rows.parquet_file import check_chunks, data_file_errors
from headrace.rows.request import RowRequest
from headrace.storage.local_file import find_local_file
from headrace.storage.store import Store

_READERS = 8
"""The number of footers read in parallel."""


def open_dataset(
    files: Iterator[DataFile],
    *,
    request: RowRequest,
    store: Store,
    read: Callable[[DataFile], Iterator[pa.RecordBatch]],
) -> ds.Dataset:
    """Open a dataset of the rows of these files; checks the footers of files Arrow may read.

    Args:
        files: The live files.
        request: All columns of the table; with a predicate, the row reader serves every file.
        store: The store that holds the files.
        read: Reads the rows of a file.

    Raises:
        DataFileNotFoundError, CorruptDataFileError: a footer cannot be read.
    """
    schema = request.output_schema
    row_files = RowFiles(schema, read)
    native_format, row_format = ds.ParquetFileFormat(), ds.IpcFileFormat()
    local, served_by = fs.LocalFileSystem(), fs.PyFileSystem(row_files)

    def fragment(file: DataFile) -> tuple[bool, ds.Fragment]:
        guarantee = _guarantee(file.partition)
        is_whole = file.deletion_vector is None and request.predicate is None
        local_file = find_local_file(store, file.uri) if is_whole else None
        if local_file is not None and guarantee is not None:
            with data_file_errors(file.uri):
                parquet_fragment = native_format.make_fragment(
                    local_file.path, local, partition_expression=guarantee
                )
                with local_file.open() as opened:
                    check_chunks(opened)
                if _is_native(parquet_fragment, file, request):
                    return True, parquet_fragment
        name = row_files.add(file)
        return False, row_format.make_fragment(name, served_by, partition_expression=guarantee)

    with ThreadPoolExecutor(_READERS) as pool:
        fragments_by_kind = list(pool.map(fragment, files))
    parts = [
        ds.FileSystemDataset(fragments, schema, format, filesystem)
        for format, filesystem, fragments in (  # noqa: A001  (as the dataset calls it)
            (native_format, local, [part for is_native, part in fragments_by_kind if is_native]),
            (
                row_format,
                served_by,
                [part for is_native, part in fragments_by_kind if not is_native],
            ),
        )
        if fragments
    ]
    match parts:
        case []:
            return ds.FileSystemDataset([], schema, native_format, local)
        case [single]:
            return single
        case _:
            return ds.UnionDataset(schema, parts)


def _guarantee(partition: Mapping[str, pa.Scalar]) -> ds.Expression | None:
    """Return a condition that holds for all rows of a file; None if a value may be NaN."""
    if any(types.is_floating(value.type) for value in partition.values()):
        return None
    conditions = (
        ds.field(name) == value if value.is_valid else ds.field(name).is_null()
        for name, value in partition.items()
    )
    return reduce(and_, conditions, ds.scalar(True))


def _is_native(fragment: ds.ParquetFileFragment, file: DataFile, request: RowRequest) -> bool:
    """Whether Arrow's reader returns the table's rows for a file."""
    stored: Any = fragment.physical_schema
    by_name = {field.name: field.type for field in stored}
    lowered = {name.lower() for name in by_name}
    if len(lowered) < len(by_name):
        return False
    calendar = Calendar.of(file.uri, fragment.metadata.metadata)
    if calendar.has_old_dates or calendar.has_old_int96:
        return False
    for field in request.stored_columns:
        kind = by_name.get(field.name)
        if field.physical_name != field.name or (kind is None and field.name.lower() in lowered):
            return False
        if kind is not None and kind != request.output_schema.field(field.name).type:
            return False
    return True
