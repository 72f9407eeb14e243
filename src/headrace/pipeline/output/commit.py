"""Commits the rows of a view as the next version of its table.

Staged files enter; the committed version leaves. The newest version is read, the change to it is
planned, and the next version is put into the log. If another writer has created that version first,
all of this is repeated over the new version.
"""

import random
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import msgspec
import pyarrow.compute as pc

from headrace.commit.action import AddFile, ChangeFile, RemoveFile, log_path
from headrace.commit.body import CommitBody
from headrace.commit.staged import Committed
from headrace.errors import CommitConflictError
from headrace.pipeline.output.note import find_same_append
from headrace.pipeline.output.staged import StagedFile, check_partition_values
from headrace.pipeline.output.target import Target, open_target
from headrace.pipeline.output.write import OutputWrite, Replacement
from headrace.pipeline.project.header import WriteMode
from headrace.pipeline.runs.run_record import OutputVersion
from headrace.scan.live_file import LiveFile
from headrace.table import Snapshot

_ATTEMPTS = 100
"""How often other writers may commit first before the commit fails."""
_LONGEST_PAUSE_S = 0.5

Merge: TypeAlias = Callable[[OutputWrite, Snapshot | None], Replacement]
"""Computes how a merge changes a snapshot of the table; None if there is no table yet."""


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a commit adds and removes."""

    operation: str
    added: list[StagedFile]
    removed: list[LiveFile]
    changes: list[StagedFile]

    @property
    def paths(self) -> tuple[str, ...]:
        """The staged files that the commit references."""
        return (*(file.path for file in self.added), *(file.path for file in self.changes))


def commit_output(write: OutputWrite, mode: WriteMode, *, merge: Merge) -> OutputVersion:
    """Commit the rows of a view to its table, and return the new version.

    If another run has appended the same result since the staging was opened, that version is
    returned, and nothing is committed.

    Raises:
        InvalidResultError: the rows do not fit the table.
        UnwritableTableError: the table requires a writer feature that Headrace lacks.
        CommitConflictError: other writers kept committing first.
        StorageError: the store failed; `Journal.open` keeps or deletes the files.
    """
    for attempt in range(_ATTEMPTS):
        target = open_target(write)
        if mode is WriteMode.APPEND and (other := _find_same_append(write)) is not None:
            return other
        change = _plan_change(write, target, mode, merge)
        target.check_writable(removes_files=bool(change.removed))
        check_partition_values(write.note.view, change.added, write.schema)
        protocol, metadata = target.definition()
        body = CommitBody(
            operation=change.operation,
            note=msgspec.to_builtins(write.note),
            protocol=protocol,
            metadata=metadata,
            transaction=write.note.transaction,
            adds=tuple(map(_add_action, change.added)),
            removes=tuple(_remove_actions(change.removed)),
            changes=tuple(map(_change_action, change.changes)),
        )
        totals = _totals(target, change)
        staged = write.staging.stage(change.paths)
        outcome = staged.commit(body, version=target.next_version)
        if isinstance(outcome, Committed):
            return OutputVersion(
                uri=str(write.table),
                version=outcome.version,
                files=totals[0],
                size_bytes=totals[1],
                change_feed=write.header.change_feed,
                commit_id=outcome.commit_id,
                transaction=write.note.started_ms,
            )
        # Writers that conflict would conflict again if they all waited for the same time.
        time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, 0.01 * 2**attempt)))  # noqa: S311
    raise CommitConflictError(table=str(write.table), attempts=_ATTEMPTS)


def _find_same_append(write: OutputWrite) -> OutputVersion | None:
    base_version = write.staging.intent.base_version
    same = find_same_append(write.table, write.note, after=base_version)
    return None if same is None else same.as_output(write.table)


def _plan_change(write: OutputWrite, target: Target, mode: WriteMode, merge: Merge) -> _Change:
    snapshot = target.snapshot
    if mode is WriteMode.MERGE:
        target.refuse_other_columns()
        replacement = merge(write, snapshot)
        replaced = replacement.replaced
        live = snapshot.scan() if snapshot is not None and replaced else ()
        return _Change(
            operation="MERGE",
            added=replacement.files,
            removed=[file for file in live if file.path in replaced],
            changes=replacement.changes,
        )
    added = write.files()
    if mode is WriteMode.OVERWRITE or snapshot is None:
        removed = [] if snapshot is None else [*snapshot.scan()]
        return _Change(operation="WRITE", added=added, removed=removed, changes=[])
    target.refuse_other_columns()
    if mode is WriteMode.APPEND:
        return _Change(operation="WRITE", added=added, removed=[], changes=[])
    partitions = {_partition_key(file.partition_values) for file in added}
    live = snapshot.scan()
    removed = [file for file in live if _partition_key(file.partition_values) in partitions]
    return _Change(operation="WRITE", added=added, removed=removed, changes=[])


def _totals(target: Target, change: _Change) -> tuple[int, int]:
    """Return the number of files of the table after a change, and their total size in bytes."""
    files = len(change.added) - len(change.removed)
    size_bytes = sum(file.size_bytes for file in change.added)
    size_bytes -= sum(file.size_bytes for file in change.removed)
    if target.snapshot is not None:
        for batch in target.snapshot.scan().batches(columns=["size_bytes"]):
            files += batch.num_rows
            size_bytes += pc.sum(batch["size_bytes"]).as_py() or 0
    return files, size_bytes


def _add_action(file: StagedFile) -> AddFile:
    return AddFile(
        path=log_path(file.path),
        partition_values=file.partition_values,
        size=file.size_bytes,
        modification_time=file.modified_ms,
        data_change=True,
        stats=file.statistics,
    )


def _change_action(file: StagedFile) -> ChangeFile:
    return ChangeFile(
        path=log_path(file.path),
        partition_values=file.partition_values,
        size=file.size_bytes,
        data_change=False,
    )


def _remove_actions(files: Iterable[LiveFile]) -> Iterable[RemoveFile]:
    now_ms = time.time_ns() // 1_000_000
    for file in files:
        yield RemoveFile(
            path=file.path,
            deletion_timestamp=now_ms,
            data_change=True,
            partition_values=dict(file.partition_values),
            size=file.size_bytes,
            extended_file_metadata=True,
            deletion_vector=file.deletion_vector,
        )


def _partition_key(values: Mapping[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(values.items()))
