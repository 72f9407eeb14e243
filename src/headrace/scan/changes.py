"""File-level changes of a range of versions, as users iterate them.

A range of versions enters; `FileChange` values leave, oldest commit first.
"""

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
    """The file holds changed rows of its commit; such files have all changes of the commit."""


_KINDS = {"add": ChangeKind.ADDED, "remove": ChangeKind.REMOVED, "cdc": ChangeKind.CDC}


class FileChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One file that a commit added, removed, or wrote its changed rows to."""

    version: int
    kind: ChangeKind
    path: str
    """The path as stored in the log."""
    size_bytes: int | None
    partition_values: dict[str, str | None] | None
    """The partition values as stored in the log, by physical column name."""
    deletion_vector: DeletionVector | None = None
    data_change: bool = True
    """False if rows only moved, as in a compaction."""
    root: str
    """The address of the table."""

    @property
    def uri(self) -> str:
        """The decoded, absolute address of the file.

        Raises:
            UnsafePathError: the path leads outside the table.
        """
        return resolve(self.root, self.path)

    @property
    def dv_id(self) -> str | None:
        """The id of the deletion vector; together with the path it identifies the file."""
        return None if self.deletion_vector is None else self.deletion_vector.unique_id


class ChangeParts(Protocol):
    """The parts of Arrow and asyncio that changes need."""

    def changes_schema(self) -> ArrowSchema:
        """Return the Arrow schema of changes."""

    def changes_batch(self, changes: Sequence[FileChange]) -> RecordBatch:
        """Return changes as an Arrow batch."""

    def reader(self, schema: ArrowSchema, batches: Iterable[RecordBatch]) -> RecordBatchReader:
        """Return Arrow's own reader over batches of one schema."""

    def in_bulk(
        self, source: Generator[FileChange, None, None], cancellation: Cancellation
    ) -> AsyncGenerator[FileChange, None]:
        """Iterate a generator of many small items in asyncio."""


class Changes:
    """A lazy iterable of the changes of some versions, oldest first; each commit is read once.

    Iterate it (`for` or `async for`) for `FileChange` values, or pass it to a library that reads
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
        """Prepare the changes; nothing is read. Users get them from `Table.changes`."""
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
        """The last version of the range; before `start` if the range is empty."""
        return self.request.end

    def __iter__(self) -> Iterator[FileChange]:
        return (change for changes in self._by_batch(ExecutionContext()) for change in changes)

    async def __aiter__(self) -> AsyncIterator[FileChange]:
        execution = ExecutionContext()
        source = (change for changes in self._by_batch(execution) for change in changes)
        async with aclosing(self._late.in_bulk(source, execution.cancellation)) as changes:
            async for change in changes:
                yield change

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the changes to any library that reads Arrow.

        Raises:
            UnsafePathError: from the stream: a path leads outside the table.
        """
        batches = map(self._late.changes_batch, self._by_batch(ExecutionContext()))
        reader = self._late.reader(self._late.changes_schema(), batches)
        return reader.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Export the schema of the changes to libraries that read Arrow."""
        return self._late.changes_schema().__arrow_c_schema__()

    def _by_batch(self, execution: ExecutionContext) -> Generator[list[FileChange], None, None]:
        """Yield the changes of each commit; those of a large commit in several lists."""
        if self.start > self.end:
            return
        phase = ListChanges(request=self.request)
        with Run(phase, executor=self._executor, reporter=self._reporter, context=execution) as run:
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
