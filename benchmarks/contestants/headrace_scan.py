"""Headrace: everything that the benchmarks use of it."""

from collections.abc import Iterator
from typing import Any

import headrace
from benchmarks.question import Question, RecordBatch

ONE_THREAD: dict[str, Any] = {"leaf_parallelism": 1, "batch_rows": 4096}
"""Options for a scan that uses little memory: one thread, small batches."""
COLUMNS = ("path", "partition_values", "size_bytes", "modified_ms", "stats")
"""The columns that the peers return for each file; the default returns more."""


class Contestant:
    """Uses the public interface as a user would."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self._metered: list[Any] = []
        if question.threads == 1:
            headrace.use_lean_memory()

    def limit(self) -> list[str]:
        return [file.path for file in self._scan(limit=self.question.limit)]

    def partition(self) -> list[str]:
        where = f"date = '{self.question.date}' AND region = '{self.question.region}'"
        batches = self._scan(where=where).batches(columns=("path",))
        return [path for batch in batches for path in batch.column("path").to_pylist()]

    def count(self) -> int:
        return self._scan().count()

    def paths(self) -> Iterator[str]:
        batches = self._scan().batches(columns=("path",))
        return (path for batch in batches for path in batch.column("path").to_pylist())

    def batches(self) -> Iterator[RecordBatch]:
        return iter(self._scan().batches(columns=COLUMNS))

    def predicate(self) -> int:
        return self._scan(where=f"id < {self.question.below}").count()

    def bytes_read(self) -> int | None:
        metrics = [getattr(metered, "metrics", None) for metered in self._metered]
        return (
            sum(scan_metrics.counts.bytes_read for scan_metrics in metrics if scan_metrics) or None
        )

    def _scan(self, **options: Any) -> headrace.Scan:
        snapshot = headrace.Table(self.question.table).snapshot()
        if self.question.threads == 1:
            options |= ONE_THREAD
        scan = snapshot.scan(**options)
        self._metered = [snapshot, scan]
        return scan
