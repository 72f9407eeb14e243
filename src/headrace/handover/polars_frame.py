"""A snapshot as a `polars.LazyFrame`, which reads only the columns and rows that a query needs.

A schema and a function that reads rows enter; a lazy frame leaves.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from headrace.handover.polars_condition import to_sql

Read = Callable[[str | None, Sequence[str] | None, int | None], pa.RecordBatchReader]
"""Reads rows, given a condition, columns and a limit, each optional."""


def open_lazy_frame(schema: pa.Schema, read: Read) -> pl.LazyFrame:
    """Return a lazy frame over rows of a schema.

    A Polars filter prunes files and row groups as far as it can be translated to SQL, and is
    always applied to the rows.
    """

    def batches(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,  # noqa: ARG001  (a hint)
    ) -> Iterator[pl.DataFrame]:
        columns, where = with_columns, None
        if predicate is not None:
            if n_rows is None:  # a limit counts the rows before the filter
                where = to_sql(predicate, schema)
            if columns is not None:
                columns = list(dict.fromkeys((*columns, *predicate.meta.root_names())))
        with read(where, columns, n_rows) as reader:
            for batch in reader:
                frame: Any = pl.from_arrow(batch)
                if predicate is not None:
                    frame = frame.filter(predicate)
                yield frame if columns == with_columns else frame.select(with_columns)

    frame = pl.DataFrame(schema.empty_table())
    return register_io_source(batches, schema=frame.schema, is_pure=True)
