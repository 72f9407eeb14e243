"""What a contestant is asked, in a form that a command line can carry.

Workers import this before their clock of a cold start has stopped: it stays light.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, Self, TypeAlias

RecordBatch: TypeAlias = Any
"""A `pyarrow.RecordBatch`, named so that this module does not import Arrow."""


class Ask(StrEnum):
    """What is asked; also the name of the contestant's method that answers it."""

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
    """For `LIMIT`: so many live files, whichever."""
    date: str
    region: str
    """For `PARTITION`: all live files of this one."""
    below: int
    """For `PREDICATE`: how many live files may hold an `id` below this."""
    threads: int
    """At most so many threads; 0: as many as the contestant likes."""

    def to_words(self) -> list[str]:
        """The question as words of a command line."""
        partition = (self.date, self.region)
        return [*map(str, (self.ask, self.table, self.limit, *partition, self.below, self.threads))]

    @classmethod
    def of_words(cls, words: list[str]) -> Self:
        """The question again."""
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
    """Who answers. Nobody answers everything; a path may be relative or below the table."""

    def __init__(self, question: Question) -> None:
        """Take the question; nothing is read yet."""

    def limit(self) -> list[str]:
        """So many paths of live files."""

    def partition(self) -> list[str]:
        """The paths of the live files of a partition."""

    def count(self) -> int:
        """How many live files there are."""

    def paths(self) -> Iterator[str]:
        """The path of each live file."""

    def batches(self) -> Iterator[RecordBatch]:
        """Each live file, with `path`, `size_bytes`, and `stats` or `num_records`, at least."""

    def predicate(self) -> int:
        """How many live files may match the predicate."""

    def bytes_read(self) -> int | None:
        """How much it says that it has read; None: it does not say."""


class Floor(Protocol):
    """Who does only what nobody who answers can do without."""

    def floor(self) -> int:
        """How many rows of the checkpoint have passed by."""
