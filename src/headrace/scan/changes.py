"""File-level changes, as a user sees them."""

from collections.abc import Generator, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from headrace.metrics.reporter import Reporter
from headrace.phases.changes import ChangeRequest, ListChanges
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.protocol.action import DeletionVector
from headrace.scan.run import Run
from headrace.storage.location import resolve


class ChangeKind(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    REMOVED = "removed"
    CDC = "cdc"
    """The file holds the changed rows of its commit; where there is one, it tells it all."""


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


class Changes:
    """A lazy iterable of the changes of some versions, oldest first; each commit is read once."""

    def __init__(self, request: ChangeRequest, *, executor: Executor, reporter: Reporter) -> None:
        """Put it together; nothing is read. Users get it from `Table.changes`."""
        self.request = request
        self._executor = executor
        self._reporter = reporter

    def __iter__(self) -> Iterator[FileChange]:
        return self._changes()

    def _changes(self) -> Generator[FileChange, None, None]:
        phase = ListChanges(request=self.request)
        reading = ExecutionContext()
        with Run(phase, executor=self._executor, reporter=self._reporter, context=reading) as run:
            for batch in run:
                for name, kind in _KINDS.items():
                    for action in batch.actions(name):
                        yield self._change(action, kind, batch.source.version or 0)

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
