"""Hashes of whole files, each computed once for as long as the file does not change.

A file is known by its path, size, inode and times of change. Only the hash goes into a key, so
that a copy of a project has the same keys; what a file is known by stays on its machine.
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
"""A file that changed less than this ago may change again within one tick of the clock by which
file systems tell changes apart: its hash is not kept."""
_TABLE = """
CREATE TABLE IF NOT EXISTS content (
    path TEXT PRIMARY KEY, size INTEGER, inode INTEGER, modified_ns INTEGER, changed_ns INTEGER,
    hash TEXT
) WITHOUT ROWID
"""

_Signs: TypeAlias = tuple[int, int, int, int]
"""Size, inode, time of modification, time of change: while they stay, so does the content."""


class ContentCache:
    """The hashes of files that have not changed since they were computed."""

    def __init__(self, file: Path | None) -> None:
        """Take the file that hashes are kept in; without one nothing is kept."""
        self._file = file

    def hashes(self, files: Sequence[Path]) -> list[str]:
        """The hash of each file's content, in their order.

        Raises:
            DataFileNotFoundError: a file is gone.
        """
        known = self._read()

        def look(file: Path) -> tuple[str, _Signs | None]:
            return _hash(file, known.get(str(file)))

        with ThreadPoolExecutor(_THREADS) as pool:
            looked_at = list(pool.map(look, files))
        self._write(
            [
                (str(file), *signs, content)
                for file, (content, signs) in zip(files, looked_at, strict=True)
                if signs is not None
            ]
        )
        return [content for content, _ in looked_at]

    def _read(self) -> dict[str, tuple[_Signs, str]]:
        if self._file is None or not self._file.is_file():
            return {}
        try:
            with closing(sqlite3.connect(self._file)) as store:
                rows = store.execute("SELECT * FROM content").fetchall()
        except sqlite3.Error:
            return {}  # it is only a cache: files are read again
        return {path: ((size, inode, m, c), content) for path, size, inode, m, c, content in rows}

    def _write(self, rows: Sequence[tuple[object, ...]]) -> None:
        if self._file is None or not rows:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._file)) as store, store:
                store.execute(_TABLE)
                store.executemany("INSERT OR REPLACE INTO content VALUES (?,?,?,?,?,?)", rows)
        except (sqlite3.Error, OSError):
            return  # it is only a cache: a folder that cannot be written costs time, nothing else


def _hash(file: Path, known: tuple[_Signs, str] | None) -> tuple[str, _Signs | None]:
    """The hash, and, if it was computed and may be kept, the signs that it holds for."""
    try:
        signs = _signs(file)
        if known is not None and known[0] == signs:
            return known[1], None
        with file.open("rb") as opened:
            content = file_digest(opened, lambda: blake2b(digest_size=20)).hexdigest()
        is_settled = time.time_ns() - max(signs[2:]) > _SETTLED_NS
        return content, signs if is_settled and _signs(file) == signs else None
    except FileNotFoundError as error:
        raise DataFileNotFoundError(path=str(file)) from error


def _signs(file: Path) -> _Signs:
    status = file.stat()
    return status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns
