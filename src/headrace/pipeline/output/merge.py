"""Merges by key in this process: a row replaces the row with the same key, or is added.

deltalake merges into a copy of the table, whose log has one commit. The files that it writes,
including those of a change data feed, are then staged like those of any other write, and Headrace
commits them.
"""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pyarrow as pa
from datafusion import SessionContext
from deltalake import DeltaTable, PostCommitHookProperties

from headrace.commit.log import commit_path
from headrace.errors import InvalidResultError
from headrace.pipeline.output.staged import StagedFile
from headrace.pipeline.output.staging import CHANGE_FOLDER
from headrace.pipeline.output.table_copy import TableCopy, open_copy
from headrace.pipeline.output.write import OutputWrite, Replacement
from headrace.protocol.action import Add, Cdc, Remove
from headrace.table import Snapshot

NO_KEY = "no key"
SAME_KEY = "the same key as another row"


def merge_embedded(
    write: OutputWrite, snapshot: Snapshot | None, *, memory_bytes: int
) -> Replacement:
    """Compute a merge; rows that exceed the memory limit are spilled to disk.

    Raises:
        InvalidResultError: the keys do not identify the rows.
    """
    _check_keys(write)
    if snapshot is None:
        return Replacement(files=write.files())
    if not write.has_rows:
        return Replacement(files=[])
    return merge_rows(write, snapshot, memory_bytes=memory_bytes)


def _check_keys(write: OutputWrite) -> None:
    keys = write.header.keys
    context = SessionContext()
    context.register_dataset("rows", write.dataset())
    columns = ", ".join(map(_quoted, keys))
    missing = " OR ".join(f"{_quoted(key)} IS NULL" for key in keys)
    rows_without_key = f"SELECT {columns} FROM rows WHERE {missing} LIMIT 1"  # noqa: S608
    repeated_keys = f"SELECT {columns} FROM rows GROUP BY {columns} HAVING count(*) > 1 LIMIT 1"  # noqa: S608
    for query, problem in ((rows_without_key, NO_KEY), (repeated_keys, SAME_KEY)):
        offending = context.sql(query).to_pylist()
        if offending:
            raise wrong_key(write.note.view, keys, tuple(offending[0].values()), problem)


def wrong_key(
    view: str, keys: Sequence[str], values: tuple[object, ...], problem: str
) -> InvalidResultError:
    """Return the error for a row that its key does not identify."""
    reason = f"a row has {problem} ({', '.join(keys)}): {values}"
    return InvalidResultError(view=view, reason=reason)


def merge_rows(write: OutputWrite, snapshot: Snapshot, *, memory_bytes: int) -> Replacement:
    """Merge rows whose keys identify them, in a copy of the table."""
    name = f"merged-{snapshot.version}"
    with open_copy(write, snapshot) as copy:
        schema, keys = write.schema, write.header.keys
        reader = pa.RecordBatchReader.from_batches(schema, write.dataset().to_batches())
        matched = " AND ".join(f"target.{_quoted(key)} = source.{_quoted(key)}" for key in keys)
        (
            DeltaTable(copy.folder)
            .merge(
                reader,
                matched,
                source_alias="source",
                target_alias="target",
                max_spill_size=memory_bytes,
                post_commithook_properties=PostCommitHookProperties(create_checkpoint=False),
            )
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .execute()
        )
        merged = _read_merge(copy.folder)
        rows, changes = f"{write.staging.name}/{name}", write.staging.change_folder
        return Replacement(
            files=[_move_to_staging(copy, add, rows) for add in merged.adds],
            replaced=frozenset(copy.paths[unquote(remove.path)] for remove in merged.removes),
            changes=[_move_to_staging(copy, cdc, changes) for cdc in merged.cdcs],
        )


class _Merged(msgspec.Struct, frozen=True):
    """The actions of deltalake's commit to the copy."""

    adds: list[Add]
    removes: list[Remove]
    cdcs: list[Cdc]


class _Line(msgspec.Struct, frozen=True):
    add: Add | None = None
    remove: Remove | None = None
    cdc: Cdc | None = None


def _read_merge(copy: Path) -> _Merged:
    body = (copy / commit_path(1)).read_bytes()
    lines = [msgspec.json.decode(line, type=_Line) for line in body.splitlines()]
    return _Merged(
        adds=[line.add for line in lines if line.add],
        removes=[line.remove for line in lines if line.remove],
        cdcs=[line.cdc for line in lines if line.cdc],
    )


def _move_to_staging(copy: TableCopy, file: Add | Cdc, folder: str) -> StagedFile:
    """Move a file of the copy into a folder of the staging, and return it as staged."""
    path = unquote(file.path)
    target = f"{folder}/{path.removeprefix(f'{CHANGE_FOLDER}/')}"
    copy.move_out(path, target)
    return StagedFile(
        path=target,
        size_bytes=file.size,
        modified_ms=file.modification_time if isinstance(file, Add) else 0,
        partition_values=dict(file.partition_values),
        statistics=file.stats if isinstance(file, Add) else None,
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
