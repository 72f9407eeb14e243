"""File-level changes, as a user sees them."""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import aclosing
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from headrace.metrics.reporter import Reporter
from headrace.phases.changes import ChangeRequest, ListChanges
from headrace.plan.cancellation import Cancellation
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.protocol.action import DeletionVector
from headrace.scan.lazy_imports import ArrowSchema, RecordBatch, RecordBatchReader
from headrace.scan.run import Run
from headrace.storage.location import resolve


class ChangeKind(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    REMOVED = "removed"
    CDC = "cdc"
    """The file holds the changed rows of its commit; where there is one, it is complete."""


_KINDS = {"add": ChangeKind.ADDED, "remove": ChangeKind.REMOVED, "cdc": ChangeKind.CDC}


class FileChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One file that a commit added, removed, or wrote its changed rows to."""

    version: int
    kind: ChangeKind
    path: str
    """The path as the log has it."""
    size_bytes: int | None
    partition_values: dict[str, str | None] | None
    """By the columns' physical names, as the log has them."""
    deletion_vector: DeletionVector | None = None
    data_change: bool = True
    """False where rows only moved, as in a compaction."""
    root: str
    """Where the table is."""

    @property
    def uri(self) -> str:
        """The address under which one opens the file: decoded and absolute.

        Raises:
            UnsafePathError: the path leads out of the table.
        """
        return resolve(self.root, self.path)

    @property
    def dv_id(self) -> str | None:
        """The id of the deletion vector: with the path it identifies the file."""
        return None if self.deletion_vector is None else self.deletion_vector.unique_id


class ChangeParts(Protocol):
    """Arrow and asyncio, as far as changes need them."""

    def changes_schema(self) -> ArrowSchema:
        """The Arrow columns of changes."""

    def changes_batch(self, changes: Sequence[FileChange]) -> RecordBatch:
        """Changes as Arrow."""

    def reader(self, schema: ArrowSchema, batches: Iterable[RecordBatch]) -> RecordBatchReader:
        """Batches of one schema, as Arrow's own reader."""

    def in_bulk(
        self, source: Generator[FileChange, None, None], cancellation: Cancellation
    ) -> AsyncGenerator[FileChange, None]:
        """A generator of many small items, for asyncio."""


class Changes:
    """A lazy iterable of the changes of some versions, oldest first; each commit is read once.

    Iterate it (`for` or `async for`) for `FileChange` values, or hand it to a library that takes
    Arrow, as in `polars.DataFrame(changes)`.
    """

    def __init__(
        self,
        request: ChangeRequest,
        *,
        executor: Executor,
        reporter: Reporter,
        late: ChangeParts,
    ) -> None:
        """Put it together; nothing is read. Users get it from `Table.changes`."""
        self.request = request
        self._executor = executor
        self._reporter = reporter
        self._late = late

    def __repr__(self) -> str:
        return f"Changes({self.request.table!r}, start={self.start}, end={self.end})"

    @property
    def start(self) -> int:
        """The first version of the range."""
        return self.request.start

    @property
    def end(self) -> int:
        """The last version of the range; before `start` where no version lies in it."""
        return self.request.end

    def __iter__(self) -> Iterator[FileChange]:
        return (change for changes in self._by_batch(ExecutionContext()) for change in changes)

    async def __aiter__(self) -> AsyncIterator[FileChange]:
        reading = ExecutionContext()
        source = (change for changes in self._by_batch(reading) for change in changes)
        async with aclosing(self._late.in_bulk(source, reading.cancellation)) as changes:
            async for change in changes:
                yield change

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the changes to any library that takes Arrow.

        Raises:
            UnsafePathError: by the stream: a path leads out of the table.
        """
        batches = map(self._late.changes_batch, self._by_batch(ExecutionContext()))
        reader = self._late.reader(self._late.changes_schema(), batches)
        return reader.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of the changes, for libraries that take Arrow."""
        return self._late.changes_schema().__arrow_c_schema__()

    def _by_batch(self, reading: ExecutionContext) -> Generator[list[FileChange], None, None]:
        """The changes of each commit, those of a large one piece by piece."""
        if self.start > self.end:
            return
        phase = ListChanges(request=self.request)
        with Run(phase, executor=self._executor, reporter=self._reporter, context=reading) as run:
            for batch in run:
                yield [
                    self._change(action, kind, batch.source.version or 0)
                    for name, kind in _KINDS.items()
                    for action in batch.actions(name)
                ]

    def _change(self, action: Any, kind: ChangeKind, version: int) -> FileChange:
        return FileChange(
            version=version,
            kind=kind,
            path=action.path,
            size_bytes=action.size,
            partition_values=action.partition_values,
            deletion_vector=getattr(action, "deletion_vector", None),
            data_change=getattr(action, "data_change", False),
            root=self.request.table,
        )
