"""Keys on disk: where the seen set goes when its memory is used up.

A spill is a private database that nobody else opens and nothing outlives. One set writes it, in
rounds; other sets may share it, each seeing the rounds that had been written when they parted.
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
    # Nothing is ever rolled back or recovered: what fails half-way is closed, and gone.
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
            # No second file will be asked for. Where the system lets an open file lose its name,
            # not even a kill leaves anything behind.
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def filter_bytes(self) -> int:
        """How much memory the filter in front of the disk takes."""
        return self._filter.size_bytes

    @property
    def rounds(self) -> int:
        """How many rounds have been written: the number of the next one."""
        return len(self._round_lengths)

    def length(self, rounds: Iterable[int]) -> int:
        """How many keys those rounds have."""
        return sum(self._round_lengths[number] for number in rounds)

    def add(self, keys: Collection[bytes]) -> int:
        """Write keys that are not there yet, and tell the number of their round.

        If that fails, or is interrupted, the spill is closed: from then on it answers nothing.
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
        """Those of the keys that are there, each with its round."""
        # In the order of the table, neighbours share a page.
        asked = sorted(self._filter.candidates(keys))
        found: dict[bytes, int] = {}
        for start in range(0, len(asked), _PROBE_KEYS):
            some = asked[start : start + _PROBE_KEYS]
            marks = ",".join("?" * len(some))
            # Only question marks enter the text of the statement.
            query = f"SELECT key, round FROM seen WHERE key IN ({marks})"  # noqa: S608
            found.update(self._fetch(query, some))
        return found

    def scan(self) -> Iterator[tuple[bytes, int]]:
        """Every key with its round. The writer may go on meanwhile."""
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
