"""Estimates how much of the end of a Parquet file to read to get its footer in one request."""

import threading
from functools import partial
from typing import Any

from headrace.storage.store import Tail

_MIN_BYTES = 64 << 10
_MAX_BYTES = 8 << 20
_WHOLE_BYTES = 256 << 10
"""A file up to this size is read whole: that takes less time than another request."""
_FILE_SHARE = 2048
"""A footer grows with its file: at most about one byte per this many bytes of the file."""
METADATA_BYTES = 256 << 10
"""The end of a checkpoint that has the columns of protocol and metadata, if they are in the last
row group. Before its footer, delta-rs writes an index of the pages, of 150 KB for a million files.
"""
_METADATA_SHARE = 512
"""It grows with the number of files: at most about one byte per this many bytes."""
_LENGTH_AND_MAGIC = 8
"""The bytes after a footer: its length and the magic number."""
_SPARE = 1.25
"""The next footer may be a little larger."""


class TailSize:
    """Learns from the footers of a table's files. Threads may share it. It is pickled empty."""

    def __init__(self, *, metadata_bytes: int = 0) -> None:
        """Start with a guess.

        Args:
            metadata_bytes: How many bytes at the end of a large file are wanted besides its footer.
        """
        self._metadata_bytes = metadata_bytes
        self._lock = threading.Lock()
        self._share = 1 / _FILE_SHARE
        self._least_bytes = _MIN_BYTES

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(TailSize, metadata_bytes=self._metadata_bytes), ()

    def guess(self, file_bytes: int) -> int:
        """Return how many bytes to read from the end of a file of this size (0: unknown)."""
        if 0 < file_bytes <= _WHOLE_BYTES:
            return file_bytes
        size_bytes = max(
            self._least_bytes,
            int(file_bytes * self._share),
            min(file_bytes // _METADATA_SHARE, self._metadata_bytes),
        )
        size_bytes = min(size_bytes, _MAX_BYTES)
        return min(size_bytes, file_bytes) if file_bytes else size_bytes

    def learn_from(self, tail: Tail) -> None:
        """Learn the size of the footer from the end of a Parquet file, which records it."""
        footer_bytes = int.from_bytes(tail.content[-8:-4], "little") + _LENGTH_AND_MAGIC
        self.learn(footer_bytes, file_bytes=tail.object_size)

    def learn(self, footer_bytes: int, *, file_bytes: int) -> None:
        """Learn the size of a footer, so that guesses for similar files are large enough."""
        with self._lock:
            if footer_bytes > self.guess(file_bytes):
                self._share = max(self._share, footer_bytes * _SPARE / max(file_bytes, 1))
                if footer_bytes * _SPARE <= _MAX_BYTES:
                    self._least_bytes = max(self._least_bytes, int(footer_bytes * _SPARE))
