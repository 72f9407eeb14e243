"""Encodes rows as Parquet files in memory, for writers that put whole objects."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq


def parquet_bytes(table: pa.Table, *, without: Sequence[str] = ()) -> bytes:
    """Encode a table as Parquet, without some of its columns."""
    out = pa.BufferOutputStream()
    pq.write_table(table.drop_columns(list(without)) if without else table, out)
    content: bytes = out.getvalue().to_pybytes()
    return content


def partitions_of(
    table: pa.Table, columns: Sequence[str]
) -> "list[tuple[dict[str, str | None], pa.Table]]":
    """Split a table by partition: the values as the log stores them, and the rows."""
    if not columns:
        return [({}, table)]
    texts = [table.column(name).cast(pa.string()) for name in columns]
    keys = pa.table(texts, names=list(columns)).append_column(
        "row", pa.array(range(table.num_rows), pa.int64())
    )
    grouped = keys.group_by(list(columns), use_threads=False).aggregate([("row", "list")])
    return [
        ({name: row[name] for name in columns}, table.take(pa.array(row["row_list"], pa.int64())))
        for row in grouped.to_pylist()
    ]
