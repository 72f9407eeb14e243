"""Merging by key in this process: rows with a known key replace theirs, others are added.

deltalake merges, in a copy of the table that shares its files by hard links and has a log of one
commit. So its files, a change data feed among them, land in the staging like those of any other
write, and the commit that names them is ours.
"""

from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import SessionContext
from deltalake import DeltaTable, PostCommitHookProperties

from headrace.commit.action import (
    AddFile,
    TableFormat,
    TableMetadata,
    TableProtocol,
    log_path,
)
from headrace.commit.body import CommitBody
from headrace.commit.log import commit_path
from headrace.errors import InvalidResultError
from headrace.pipeline.output.staged import StagedFile, open_staged
from headrace.pipeline.output.staging import CHANGE_FOLDER
from headrace.pipeline.output.write import OutputWrite, Replacement
from headrace.pipeline.sources.vector_file import vector_place
from headrace.protocol.action import Add, Cdc, Remove
from headrace.table import Snapshot

NO_KEY = "no key"
SAME_KEY = "the same key as another row"


def merge_embedded(
    write: OutputWrite, snapshot: Snapshot | None, *, memory_bytes: int
) -> Replacement:
    """Work out a merge; what does not fit into memory is spilled.

    Raises:
        InvalidResultError: keys do not identify the rows.
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
    context.register_dataset("rows", _rows(write))
    columns = ", ".join(map(_quoted, keys))
    missing = " OR ".join(f"{_quoted(key)} IS NULL" for key in keys)
    without = f"SELECT {columns} FROM rows WHERE {missing} LIMIT 1"  # noqa: S608
    twice = f"SELECT {columns} FROM rows GROUP BY {columns} HAVING count(*) > 1 LIMIT 1"  # noqa: S608
    for query, problem in ((without, NO_KEY), (twice, SAME_KEY)):
        offending = context.sql(query).to_pylist()
        if offending:
            raise wrong_key(write.note.view, keys, tuple(offending[0].values()), problem)


def wrong_key(
    view: str, keys: Sequence[str], values: tuple[object, ...], problem: str
) -> InvalidResultError:
    """The error for a row whose key does not identify it."""
    reason = f"a row has {problem} ({', '.join(keys)}): {values}"
    return InvalidResultError(view=view, reason=reason)


def merge_rows(write: OutputWrite, snapshot: Snapshot, *, memory_bytes: int) -> Replacement:
    """Merge rows that have keys which identify them, in a linked copy of the table."""
    copy = write.staging.folder / f".merge-{snapshot.version}"
    linked = _link_table(snapshot, copy)
    schema, keys = write.schema, write.header.keys
    reader = pa.RecordBatchReader.from_batches(schema, _rows(write).to_batches())
    matched = " AND ".join(f"target.{_quoted(key)} = source.{_quoted(key)}" for key in keys)
    (
        DeltaTable(copy)
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
    merged = _read_merge(copy)
    folder = write.staging.folder / f"merged-{snapshot.version}"
    replacement = Replacement(
        files=[_take_over(write, copy, add, folder) for add in merged.adds],
        replaced=frozenset(linked[unquote(remove.path)] for remove in merged.removes),
        changes=[_take_over(write, copy, cdc, write.staging.change_folder) for cdc in merged.cdcs],
    )
    rmtree(copy)
    return replacement


def _link_table(snapshot: Snapshot, copy: Path) -> dict[str, str]:
    """Make a table of one commit over a snapshot's files; by name, their paths in the log."""
    linked: dict[str, str] = {}
    adds = []
    for file in snapshot.scan():
        place = Path(file.uri)
        name = f"{len(linked)}-{place.name}"
        linked[name] = file.path
        _link(place, copy / name)
        vector = vector_place(snapshot.table.uri, file.deletion_vector)
        if vector is not None:
            _link(vector, copy / vector.relative_to(snapshot.table.uri))
        adds.append(
            AddFile(
                path=log_path(name),
                partition_values=dict(file.partition_values),
                size=file.size_bytes,
                modification_time=file.modified_ms,
                data_change=True,
                stats=file.stats,
                deletion_vector=file.deletion_vector,
            )
        )
    metadata = snapshot.metadata
    body = CommitBody(
        operation="WRITE",
        protocol=msgspec.convert(msgspec.to_builtins(snapshot.protocol), TableProtocol),
        metadata=TableMetadata(
            id=metadata.id,
            schema_string=metadata.schema_string or "",
            partition_columns=metadata.partition_columns,
            configuration={name: value or "" for name, value in metadata.configuration.items()},
            format=TableFormat(provider="parquet", options={}),
        ),
        adds=tuple(adds),
    )
    log = copy / commit_path(0)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(body.encode(""))
    return linked


def _link(place: Path, link: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.exists():  # many vectors share a file
        link.hardlink_to(place)


class _Merged(msgspec.Struct, frozen=True):
    """What deltalake did in the copy."""

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


def _take_over(write: OutputWrite, copy: Path, file: Add | Cdc, folder: Path) -> StagedFile:
    """Move a file of the copy into a folder of the staging."""
    path = unquote(file.path)
    target = folder / path.removeprefix(f"{CHANGE_FOLDER}/")
    target.parent.mkdir(parents=True, exist_ok=True)
    (copy / path).rename(target)
    return StagedFile(
        path=target.relative_to(write.table).as_posix(),
        size_bytes=file.size,
        modified_ms=file.modification_time if isinstance(file, Add) else 0,
        partition_values=dict(file.partition_values),
        statistics=file.stats if isinstance(file, Add) else None,
    )


def _rows(write: OutputWrite) -> ds.Dataset:
    return open_staged(write.rows, schema=write.schema, partition_by=write.header.partition_by)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
