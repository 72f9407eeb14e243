"""Column chunks of Parquet files, as the compiled loop decodes them."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.compiled.memory import Memory
from headrace.rows.chunk_layout import chunk_layout
from headrace.rows.column_chunk import ColumnChunk


def written(table: pa.Table, **options: Any) -> bytes:
    """Return a table as a Parquet file in memory."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def open_chunk(content: bytes, leaf: int, *, group: int = 0) -> ColumnChunk | None:
    """Return a column's chunk, or None if the loop does not support its type."""
    parquet = pq.ParquetFile(io.BytesIO(content))
    layout = chunk_layout(parquet.schema_arrow.field(leaf).type, parquet.schema.column(leaf))
    if layout is None:
        return None

    def read_into(offset: int, memory: memoryview) -> None:
        memory[:] = content[offset : offset + len(memory)]

    metadata = parquet.metadata.row_group(group).column(leaf)
    return ColumnChunk(metadata, layout, read_into=read_into, memory=Memory())


def decoded(chunk: ColumnChunk, keep: list[bool], sizes: list[int]) -> Iterator[pa.Array]:
    """Yield the kept rows in batches of the given sizes, skipping batches without any."""
    row = 0
    for size in sizes:
        chosen = np.flatnonzero(keep[row : row + size]).astype(np.uint32)
        row += size
        if len(chosen) == 0:
            chunk.skip(size)
        elif len(chosen) == size:
            yield chunk.take(size)
        else:
            yield chunk.take(size, chosen)
