"""Caches content hashes of files, so that an unchanged file is hashed once.

An entry is valid while the file's path, size, inode and timestamps are the same. Only the hash
goes into a key, so that a copy of a project has the same keys.
"""

import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import TypeAlias

from headrace.errors import DataFileNotFoundError

_THREADS = 4
_SETTLED_NS = 2_000_000_000
"""The hash of a file that was modified more recently than this is not cached: the file can change
again without a different timestamp."""
_TABLE = """
CREATE TABLE IF NOT EXISTS content (
    path TEXT PRIMARY KEY, size INTEGER, inode INTEGER, modified_ns INTEGER, changed_ns INTEGER,
    hash TEXT
) WITHOUT ROWID
"""

_FileState: TypeAlias = tuple[int, int, int, int]
"""Size, inode, modification time and change time; while they are the same, so is the content."""


class ContentCache:
    """A persistent cache of content hashes."""

    def __init__(self, file: Path | None) -> None:
        """Open the cache in a file; None caches nothing."""
        self._file = file

    def hashes(self, files: Sequence[Path]) -> list[str]:
        """Return the content hash of each file, in order.

        Raises:
            DataFileNotFoundError: a file is gone.
        """
        cached = self._read()

        def hash_of(file: Path) -> tuple[str, _FileState | None]:
            return _hash(file, cached.get(str(file)))

        with ThreadPoolExecutor(_THREADS) as pool:
            hashed = list(pool.map(hash_of, files))
        self._write(
            [
                (str(file), *state, content)
                for file, (content, state) in zip(files, hashed, strict=True)
                if state is not None
            ]
        )
        return [content for content, _ in hashed]

    def _read(self) -> dict[str, tuple[_FileState, str]]:
        """Return the state and the hash of each cached file, by path."""
        if self._file is None or not self._file.is_file():
            return {}
        try:
            with closing(sqlite3.connect(self._file)) as database:
                rows = database.execute("SELECT * FROM content").fetchall()
        except sqlite3.Error:
            return {}  # the cache is damaged: files are hashed again
        return {path: ((size, inode, m, c), content) for path, size, inode, m, c, content in rows}

    def _write(self, rows: Sequence[tuple[object, ...]]) -> None:
        if self._file is None or not rows:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._file)) as database, database:
                database.execute(_TABLE)
                database.executemany("INSERT OR REPLACE INTO content VALUES (?,?,?,?,?,?)", rows)
        except (sqlite3.Error, OSError):
            return  # without a cache, the next plan hashes the files again


def _hash(file: Path, cached: tuple[_FileState, str] | None) -> tuple[str, _FileState | None]:
    """Return a file's hash and, if it is new and may be cached, the file state it is valid for."""
    try:
        state = _state(file)
        if cached is not None and cached[0] == state:
            return cached[1], None
        with file.open("rb") as opened:
            content = file_digest(opened, lambda: blake2b(digest_size=20)).hexdigest()
        is_settled = time.time_ns() - max(state[2:]) > _SETTLED_NS
        return content, state if is_settled and _state(file) == state else None
    except FileNotFoundError as error:
        raise DataFileNotFoundError(path=str(file)) from error


def _state(file: Path) -> _FileState:
    status = file.stat()
    return status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns
