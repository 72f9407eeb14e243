"""Upkeep of the artifact store: its tables stay small and fast, whatever the number of runs.

After a number of commits, the small files of a table are merged, a checkpoint is written, and log
files that an old checkpoint covers are deleted with the data files that they removed. Files are
merged as in a log-structured merge tree: several files of about the same size become one, so each
row is rewritten only a few times in total.
"""

import math
import time
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.commit.log import NO_VERSION, commit_path
from headrace.log.name import LOG_DIRECTORY, CheckpointName, CommitName, parse_name
from headrace.pipeline.runs.history_table import HistoryTable
from headrace.scan.live_file import LiveFile
from headrace.storage.store import ObjectMeta

_COMMITS_BETWEEN = 32
_FILES_TO_MERGE = 8
_MAX_MERGED_BYTES = 64 << 20
GRACE_MS = 60 * 60 * 1000
"""How long an unneeded file is kept: a reader may have opened the table just before."""


class _Statistics(msgspec.Struct, frozen=True):
    rows: int = msgspec.field(default=1, name="numRecords")


class _Removed(msgspec.Struct, frozen=True):
    path: str


class _Line(msgspec.Struct, frozen=True):
    remove: _Removed | None = None


_LINES = msgspec.json.Decoder(_Line)


def keep_up(table: HistoryTable, *, now_ms: int | None = None) -> None:
    """Merge, checkpoint and clean up a table, if enough commits follow its last checkpoint.

    Raises:
        HeadraceError, DeltaError: a step failed; the table is still valid.
    """
    log = _list_log(table)
    if _newest_version(log, CommitName) - _newest_version(log, CheckpointName) < _COMMITS_BETWEEN:
        return
    table.unpartition()
    merge_small_files(table)
    table.write_checkpoint()
    delete_expired(table, now_ms=time.time_ns() // 1_000_000 if now_ms is None else now_ms)


def merge_small_files(table: HistoryTable) -> None:
    """Merge files of about the same size until there are few of each size."""
    while True:
        snapshot = table.snapshot()
        if snapshot is None:
            return
        group = _group_to_merge(list(snapshot.scan()))
        if not group:
            return
        rows = pa.concat_tables(
            [_read_rows(table, file) for file in group], promote_options="default"
        )
        if table.replace_files(snapshot, group, rows) is None:
            return  # another writer committed first; the next upkeep tries again


def delete_expired(table: HistoryTable, *, now_ms: int) -> None:
    """Delete the log files that an old checkpoint covers, and the data files that they removed.

    The checkpoint itself must be old: a current reader may have listed the log before it existed.
    """
    before_ms = now_ms - GRACE_MS
    log = _list_log(table)
    checkpoint_version = _newest_version(
        [e for e in log if e.modified_ms <= before_ms], CheckpointName
    )
    snapshot = table.snapshot()
    if checkpoint_version == NO_VERSION or snapshot is None:
        return
    expired = [e for e in log if _version(e) < checkpoint_version and e.modified_ms <= before_ms]
    live = {unquote(file.path) for file in snapshot.scan()}
    removed = {path for entry in expired for path in _removed_by(table, entry)} - live
    # Log files name the data files to delete, so they must be deleted last.
    table.store.delete(sorted(removed))
    table.store.delete(entry.path for entry in expired)
    table.forget()


def _group_to_merge(files: Sequence[LiveFile]) -> list[LiveFile]:
    """Return the files of the smallest size class that has enough to merge, oldest first."""
    by_size_class: dict[int, list[LiveFile]] = {}
    for file in files:
        if file.deletion_vector is None and file.size_bytes < _MAX_MERGED_BYTES:
            by_size_class.setdefault(_size_class(file), []).append(file)
    groups = [
        by_size_class[size_class]
        for size_class in sorted(by_size_class)
        if len(by_size_class[size_class]) >= _FILES_TO_MERGE
    ]
    return sorted(groups[0], key=lambda file: file.modified_ms) if groups else []


def _size_class(file: LiveFile) -> int:
    rows = msgspec.json.decode(file.stats, type=_Statistics).rows if file.stats else 1
    return int(math.log(max(1, rows), _FILES_TO_MERGE) + 1e-9)


def _read_rows(table: HistoryTable, file: LiveFile) -> pa.Table:
    with table.store.open(file.path) as opened:
        return pq.ParquetFile(opened).read(use_threads=False)


def _list_log(table: HistoryTable) -> list[ObjectMeta]:
    return list(table.store.list(LOG_DIRECTORY))


def _newest_version(log: Sequence[ObjectMeta], kind: type[CommitName | CheckpointName]) -> int:
    """Return the newest version that has a file of a kind in the log."""
    names = (parse_name(entry.path.rpartition("/")[2]) for entry in log)
    return max((name.version for name in names if isinstance(name, kind)), default=NO_VERSION)


def _version(entry: ObjectMeta) -> float:
    """Return the version of a commit or checkpoint; infinity for a file that never expires."""
    name = parse_name(entry.path.rpartition("/")[2])
    return name.version if isinstance(name, CommitName | CheckpointName) else math.inf


def _removed_by(table: HistoryTable, entry: ObjectMeta) -> Iterator[str]:
    """Yield the data files that a commit removed, if they are below the table."""
    version = _version(entry)
    if entry.path != commit_path(int(version)):
        return
    for line in table.store.read(entry.path).splitlines():
        removed = _LINES.decode(line).remove
        if removed is not None and _is_below(removed.path):
            yield unquote(removed.path)


def _is_below(path: str) -> bool:
    return not path.startswith("/") and ":" not in path and ".." not in path.split("/")
