"""The questions to contestants, in a form that fits on a command line.

Workers import this module while the cold-start clock runs, so it must stay light.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, Self, TypeAlias

RecordBatch: TypeAlias = Any
"""A `pyarrow.RecordBatch`, named so that this module does not import Arrow."""


class Ask(StrEnum):
    """The kind of question; also the name of the contestant's method that answers it."""

    LIMIT = "limit"
    PARTITION = "partition"
    COUNT = "count"
    PATHS = "paths"
    BATCHES = "batches"
    PREDICATE = "predicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question about one table."""

    ask: Ask
    table: str
    limit: int
    """For `LIMIT`: any `limit` live files."""
    date: str
    region: str
    """For `PARTITION`: all live files of this region."""
    below: int
    """For `PREDICATE`: how many live files may hold an `id` below this."""
    threads: int
    """The maximum number of threads; 0 lets the contestant decide."""

    def to_words(self) -> list[str]:
        """Return the question as command line arguments."""
        partition = (self.date, self.region)
        return [*map(str, (self.ask, self.table, self.limit, *partition, self.below, self.threads))]

    @classmethod
    def of_words(cls, words: list[str]) -> Self:
        """Parse the question from command line arguments."""
        ask, table, limit, date, region, below, threads = words
        return cls(
            ask=Ask(ask),
            table=table,
            limit=int(limit),
            date=date,
            region=region,
            below=int(below),
            threads=int(threads),
        )


class Contestant(Protocol):
    """Answers questions, but not all. Paths are relative to the table, or absolute below it."""

    def __init__(self, question: Question) -> None:
        """Take the question, without reading anything."""

    def limit(self) -> list[str]:
        """Return the paths of `limit` live files."""

    def partition(self) -> list[str]:
        """Return the paths of a partition's live files."""

    def count(self) -> int:
        """Return the number of live files."""

    def paths(self) -> Iterator[str]:
        """Yield the path of each live file."""

    def batches(self) -> Iterator[RecordBatch]:
        """Yield each live file with at least `path`, `size_bytes`, and `stats` or `num_records`."""

    def predicate(self) -> int:
        """Return the number of live files that may match the predicate."""

    def bytes_read(self) -> int | None:
        """Return the bytes that it reports to have read, or None if it does not report them."""
