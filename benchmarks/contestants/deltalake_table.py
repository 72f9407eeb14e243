"""deltalake (delta-rs), with the fastest of its interfaces for each answer."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from benchmarks.question import Question, RecordBatch


class Contestant:
    """Opens the table, which replays the log, and then queries it."""

    def __init__(self, question: Question) -> None:
        self.question = question

    def limit(self) -> list[str]:
        # Listing all addresses takes longer than building the table of all files.
        actions = pa.table(self._open().get_add_actions())
        paths: list[str] = actions["path"].slice(0, self.question.limit).to_pylist()
        return paths

    def partition(self) -> list[str]:
        filters = [("date", "=", self.question.date), ("region", "=", self.question.region)]
        return self._open().file_uris(file_pruning_predicate=filters)

    def count(self) -> int:
        return self._open().get_add_actions().num_rows

    def paths(self) -> Iterator[str]:
        paths = pa.table(self._open().get_add_actions())["path"]
        return (path for chunk in paths.chunks for path in chunk.to_pylist())

    def batches(self) -> Iterator[RecordBatch]:
        return iter(pa.table(self._open().get_add_actions()).to_batches())

    def predicate(self) -> int:
        # Comparing the column is faster than `file_uris` with the same predicate.
        least = pa.table(self._open().get_add_actions(flatten=True))["min.id"]
        possible = pc.fill_null(pc.less(least, self.question.below), True)
        count: int = pc.sum(possible).as_py()
        return count

    def bytes_read(self) -> int | None:
        return None

    def _open(self) -> DeltaTable:
        return DeltaTable(self.question.table)
