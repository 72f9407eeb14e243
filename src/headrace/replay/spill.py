"""Keys on disk: the seen set spills here when it exceeds its memory limit.

A spill is a private SQLite database that is deleted with the last set that uses it. One set
writes it, in numbered rounds; other sets may share it, each with a view of the earlier rounds.
"""

import shutil
import sqlite3
import tempfile
import threading
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from headrace.errors import SpillFailedError
from headrace.replay.bloom import BloomFilter

_SETTINGS = (
    "page_size = 8192",
    # Nothing is ever rolled back or recovered: a spill that fails is closed and discarded.
    "journal_mode = OFF",
    "synchronous = OFF",
    "locking_mode = EXCLUSIVE",
    "temp_store = MEMORY",
    "cache_size = -2048",
)
_PROBE_KEYS = 256
_SCAN_KEYS = 2048


class Spill:
    """Keys on disk, each with the number of the round that wrote it. Safe for several threads."""

    def __init__(self, *, filter_bytes: int) -> None:
        self._filter = BloomFilter(filter_bytes)
        self._lock = threading.Lock()
        self._round_lengths: list[int] = []
        self._folder = "the temporary folder"
        with self._as_headrace_errors():
            self._folder = tempfile.mkdtemp(prefix="headrace-")
            try:
                self._connection = sqlite3.connect(
                    f"{self._folder}/keys", isolation_level=None, check_same_thread=False
                )
            except BaseException:
                shutil.rmtree(self._folder, ignore_errors=True)
                raise
            self.close = weakref.finalize(self, _discard, self._connection, self._folder)
            self._create()

    def _create(self) -> None:
        try:
            for setting in _SETTINGS:
                self._connection.execute(f"PRAGMA {setting}")
            self._connection.execute(
                "CREATE TABLE seen (key BLOB PRIMARY KEY, round INTEGER NOT NULL) WITHOUT ROWID"
            )
            (journal,) = self._connection.execute("PRAGMA journal_mode").fetchone()
        except BaseException:
            self.close()
            raise
        if journal == "off":
            # SQLite needs no second file. Where the system allows deleting an open file, nothing
            # remains on disk even if the process is killed.
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def filter_bytes(self) -> int:
        """The memory of the filter in front of the disk."""
        return self._filter.size_bytes

    @property
    def rounds(self) -> int:
        """The number of rounds written so far, which is the number of the next round."""
        return len(self._round_lengths)

    def length(self, rounds: Iterable[int]) -> int:
        """Return the number of keys in the given rounds."""
        return sum(self._round_lengths[number] for number in rounds)

    def add(self, keys: Collection[bytes]) -> int:
        """Write new keys as one round, and return its number.

        If writing fails or is interrupted, the spill is closed and raises from then on.
        """
        number = self.rounds
        with self._lock, self._as_headrace_errors():
            try:
                self._connection.execute("BEGIN")
                self._connection.executemany(
                    "INSERT INTO seen VALUES (?, ?)", ((key, number) for key in sorted(keys))
                )
                self._connection.execute("COMMIT")
                self._filter.add(keys)
                self._round_lengths.append(len(keys))
            except BaseException:
                self.close()
                raise
        return number

    def find(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Return the given keys that were spilled, each with its round."""
        # Sorted like the table, so that neighbouring keys share a page.
        candidates = sorted(self._filter.candidates(keys))
        rounds: dict[bytes, int] = {}
        for start in range(0, len(candidates), _PROBE_KEYS):
            some = candidates[start : start + _PROBE_KEYS]
            marks = ",".join("?" * len(some))
            # Only question marks enter the text of the statement.
            query = f"SELECT key, round FROM seen WHERE key IN ({marks})"  # noqa: S608
            rounds.update(self._fetch(query, some))
        return rounds

    def scan(self) -> Iterator[tuple[bytes, int]]:
        """Yield every key with its round; the writer may continue meanwhile."""
        rows = self._fetch("SELECT key, round FROM seen ORDER BY key LIMIT ?", [_SCAN_KEYS])
        while rows:
            yield from rows
            last, _ = rows[-1]
            rows = self._fetch(
                "SELECT key, round FROM seen WHERE key > ? ORDER BY key LIMIT ?",
                [last, _SCAN_KEYS],
            )

    def _fetch(self, query: str, values: Sequence[bytes | int]) -> list[tuple[bytes, int]]:
        with self._lock, self._as_headrace_errors():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _as_headrace_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise SpillFailedError(folder=self._folder, reason=str(error)) from error


def _discard(connection: sqlite3.Connection, folder: str) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)
