"""Makes a local copy of a table, with a log of one commit, for deltalake to merge into.

The files of a local table are hard-linked. Of a table in a store, only the files that may contain a
key of a new row are downloaded: a merge changes no other file.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import msgspec
import pyarrow.compute as pc

from headrace.commit.action import AddFile, TableFormat, TableMetadata, TableProtocol, log_path
from headrace.commit.body import CommitBody
from headrace.commit.log import commit_path
from headrace.expr.node import And, Column, Compare, CompareOp, Literal, Predicate
from headrace.pipeline.output.write import OutputWrite
from headrace.pipeline.sources.vector_file import vector_uri
from headrace.protocol.deletion_vector import relative_path
from headrace.scan.live_file import LiveFile
from headrace.storage.store import PutMode
from headrace.table import Snapshot

_CHUNK_BYTES = 8 << 20
_DOWNLOADS_AT_ONCE = 8


class TableCopy(Protocol):
    """A copy that is deleted when its context ends."""

    folder: Path
    paths: dict[str, str]
    """The path of each file in the log of the table, by its name in the copy."""

    def move_out(self, path: str, target: str) -> None:
        """Move a file of the copy to a path below the table."""


@contextmanager
def open_copy(write: OutputWrite, snapshot: Snapshot) -> Iterator[TableCopy]:
    """Copy a table for a merge; the copy is deleted at the end."""
    if write.table.is_local:
        folder = write.table.path / write.staging.name / f".merge-{snapshot.version}"
        yield _LinkedCopy(write, snapshot, folder)
        rmtree(folder)
        return
    with TemporaryDirectory(prefix="headrace-merge-") as temporary:
        yield _DownloadedCopy(write, snapshot, Path(temporary))


class _LinkedCopy:
    """A copy that shares the files of a local table."""

    def __init__(self, write: OutputWrite, snapshot: Snapshot, folder: Path) -> None:
        self.folder, self._table = folder, write.table.path
        files = list(snapshot.scan())
        self.paths = _names(files)
        for name, file in zip(self.paths, files, strict=True):
            _link(Path(file.uri), folder / name)
            vector = vector_uri(snapshot.table.uri, file.deletion_vector)
            if vector is not None:
                _link(Path(vector), folder / Path(vector).relative_to(snapshot.table.uri))
        _write_log(folder, snapshot, zip(self.paths, files, strict=True))

    def move_out(self, path: str, target: str) -> None:
        """Rename the file."""
        destination = self._table / target
        destination.parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).rename(destination)


class _DownloadedCopy:
    """A download of the files of a table that may contain a key of a new row."""

    def __init__(self, write: OutputWrite, snapshot: Snapshot, folder: Path) -> None:
        self.folder, self._store = folder, write.staging.store
        key_range = between(key_bounds(write))
        files = list(snapshot.scan(where=None if key_range is None else str(key_range)))
        self.paths = _names(files)
        store = snapshot.table.data_store

        def download(uri: str, destination: Path) -> None:
            destination.parent.mkdir(parents=True, exist_ok=True)
            with destination.open("wb") as target:
                for chunk in store.read_chunks(uri, chunk_bytes=_CHUNK_BYTES):
                    target.write(chunk)

        downloads = {folder / name: file.uri for name, file in zip(self.paths, files, strict=True)}
        for file in files:
            vector = file.deletion_vector
            uri = vector_uri(snapshot.table.uri, vector)
            if vector is not None and uri is not None:
                downloads[folder / (relative_path(vector) or Path(uri).name)] = uri
        with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE) as pool:
            for _ in pool.map(download, downloads.values(), downloads):
                pass
        _write_log(folder, snapshot, zip(self.paths, files, strict=True))

    def move_out(self, path: str, target: str) -> None:
        """Upload the file."""
        content = (self.folder / path).read_bytes()
        self._store.put(target, content, mode=PutMode.OVERWRITE)


def key_bounds(write: OutputWrite) -> dict[str, tuple[Any, Any]]:
    """Return the least and greatest value of each key of the new rows."""
    keys = list(write.header.keys)
    rows = write.dataset().to_table(columns=keys)
    min_max = {key: pc.min_max(rows[key]).as_py() for key in keys}
    return {key: (bounds["min"], bounds["max"]) for key, bounds in min_max.items()}


def between(bounds: Mapping[str, tuple[Any, Any]]) -> Predicate | None:
    """Return a condition that every row with a key of a new row fulfils; None if there is none."""
    parts = [
        Compare(Column((key,)), op, Literal(value))
        for key, (least, greatest) in bounds.items()
        if type(least) in {int, str, date}
        for op, value in ((CompareOp.GE, least), (CompareOp.LE, greatest))
    ]
    return And(tuple(parts)) if parts else None


def _names(files: Iterable[LiveFile]) -> dict[str, str]:
    """Return the path of each file in the log, by a name that is unique in the copy."""
    return {
        f"{number}-{file.uri.rpartition('/')[2]}": file.path for number, file in enumerate(files)
    }


def _write_log(folder: Path, snapshot: Snapshot, files: Iterable[tuple[str, LiveFile]]) -> None:
    adds = tuple(
        AddFile(
            path=log_path(name),
            partition_values=dict(file.partition_values),
            size=file.size_bytes,
            modification_time=file.modified_ms,
            data_change=True,
            stats=file.stats,
            deletion_vector=file.deletion_vector,
        )
        for name, file in files
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
        adds=adds,
    )
    log = folder / commit_path(0)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(body.encode(""))


def _link(target: Path, link: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.exists():  # many vectors share a file
        link.hardlink_to(target)
