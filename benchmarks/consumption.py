"""Consume and discard what a contestant streams, with the same work for every contestant."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.question import RecordBatch


@dataclass(slots=True, kw_only=True)
class Consumption:
    """The totals of a stream of record batches."""

    rows: int = 0
    size_bytes: int = 0

    def take(self, batches: Iterator[RecordBatch]) -> None:
        """Read just enough of every batch to show that it was delivered."""
        for batch in batches:
            self.rows += batch.num_rows
            self.size_bytes += pc.sum(batch.column("size_bytes")).as_py() or 0


@dataclass(slots=True, kw_only=True)
class Audit(Consumption):
    """The totals and every file of the stream, for a run whose time does not count."""

    tally: Any
    records: int | None = None
    statistics_bytes: int | None = None

    def take(self, batches: Iterator[RecordBatch]) -> None:
        """Read every file."""
        for batch in batches:
            self.rows += batch.num_rows
            sizes = batch.column("size_bytes").to_numpy()
            self.size_bytes += int(sizes.sum())
            self.tally.add(batch.column("path").cast(pa.string()), sizes)
            if "stats" in batch.schema.names:
                lengths = pc.sum(pc.binary_length(batch.column("stats"))).as_py() or 0
                self.statistics_bytes = (self.statistics_bytes or 0) + lengths
            else:
                records = pc.sum(batch.column("num_records")).as_py() or 0
                self.records = (self.records or 0) + records
