"""Write a Parquet file of adds, and read it with the compiled loop and with Arrow."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.engines.arrow.checkpoint import add_batches
from headrace.engines.arrow.checkpoint.add_batches import AddReader, AddSelection
from headrace.engines.arrow.checkpoint.parquet_source import FooterCache, ParquetSource
from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.errors import CorruptCheckpointError
from headrace.metrics.meter import Meter
from headrace.protocol.log_file import LogFile
from headrace.storage.local import LocalStore
from tests.engines.source import log_bytes

ADD = pa.struct(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("partitionValues", pa.map_(pa.string(), pa.string())),
        ("stats", pa.string()),
    ]
)
TEXTS = ("add.path", "add.stats")
COLUMNS = (*TEXTS, "add.size", "add.partitionValues")


def opened(path: Path) -> tuple[ParquetSource, LogFile]:
    source = ParquetSource(
        log_bytes(LocalStore(str(path.parent))), footers=FooterCache(0), meter=Meter()
    )
    return source, LogFile(path=path.name, size_bytes=path.stat().st_size, modified_ms=0)


def written(path: Path, adds: list[Any], kind: pa.DataType = ADD, **options: Any) -> Path:
    pq.write_table(pa.table({"add": pa.array(adds, kind)}), path, **options)
    return path


def quick(path: Path, columns: tuple[str, ...] = COLUMNS, *, batch_rows: int = 3) -> pa.Table:
    source, file = opened(path)
    with AddReader.open(source, file, codes=(), batch_rows=batch_rows) as reader:
        groups = range(reader.opened.parquet.metadata.num_row_groups)
        return joined(batch for group in groups for batch in all_of(reader, group, columns))


def all_of(
    reader: AddReader, group: int, columns: tuple[str, ...] = COLUMNS
) -> Iterator[pa.RecordBatch]:
    """Yield all rows of a group; their statistics are read late."""
    for batch in selected(reader, group, AddSelection(columns=columns, late=("add.stats",))):
        yield batch.columns


def selected(
    reader: AddReader,
    group: int,
    selection: AddSelection,
    select: Callable[[ColumnBatch], ColumnBatch] = lambda rows: rows,
) -> Iterator[ColumnBatch]:
    """Yield the selected rows of a group, as a leaf reads them."""
    for piece, may_decline in reader.rows_of(group, selection):
        try:
            batch = piece.complete(select(ColumnBatch(reader.file, piece.take())))
        except add_batches.UNUSUAL:
            if not may_decline:
                raise
            piece.decline()
        else:
            yield batch


def by_arrow(path: Path, columns: tuple[str, ...] = COLUMNS) -> pa.Table:
    source, file = opened(path)
    with source.open(file) as own:
        groups = range(own.parquet.metadata.num_row_groups)
        return joined(
            batch
            for group in groups
            for batch in source.batches(own, group, columns=columns, batch_rows=3)
        )


def joined(batches: Iterator[pa.RecordBatch]) -> pa.Table:
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    return pa.concat_tables(tables).combine_chunks() if tables else pa.table({})


def many(count: int, **changed: Any) -> list[Any]:
    return [
        {"path": f"part-{n:05}", "size": n, "partitionValues": [], "stats": "{}" * (n % 40)}
        | changed
        for n in range(count)
    ]


def outcome(
    read: Any, path: Path, columns: tuple[str, ...] = TEXTS, **options: Any
) -> pa.Table | type[Exception]:
    try:
        result = read(path, columns, **options)
        result.validate(full=True)
    except (CorruptCheckpointError, pa.ArrowInvalid) as error:
        return type(error)
    return result
