"""Files of this machine, which a reader may open without going through their store.

A store and a path enter; a `LocalFile` leaves, or None if the object is not a file here. This is
the only module that asks a store for a local path. Reads of a local file bypass the store, so the
reader counts them itself.
"""

import os
from typing import BinaryIO

import msgspec

from headrace.storage.regular_file import check_regular, open_descriptor, open_regular
from headrace.storage.store import Store


class LocalFile(msgspec.Struct, frozen=True):
    """A file of this machine."""

    path: str
    """The path."""

    def checked_path(self) -> str:
        """Return the path, for a library that opens the file by itself.

        Raises:
            OSError: it does not exist, or is not a regular file.
        """
        check_regular(self.path)
        return self.path

    def open(self) -> BinaryIO:
        """Open the file without a buffer.

        Raises:
            OSError: it cannot be opened.
        """
        return open_regular(self.path)

    def read_small(self, *, most_bytes: int) -> bytes | None:
        """Read the whole file with one call; None if it is larger.

        Raises:
            OSError: it cannot be read.
        """
        descriptor = open_descriptor(self.path)
        try:
            content = os.read(descriptor, most_bytes + 1)
        finally:
            os.close(descriptor)
        return None if len(content) > most_bytes else content

    def size_and_time(self) -> tuple[int, int]:
        """Return the size in bytes, and the modification time in milliseconds.

        Raises:
            OSError: it does not exist.
        """
        status = os.stat(self.path)  # noqa: PTH116  (a Path for every file takes longer)
        return status.st_size, status.st_mtime_ns // 1_000_000


def find_local_file(store: Store, path: str) -> LocalFile | None:
    """Return the file that holds an object; None if it is not on this machine."""
    local = store.local_path(path)
    return None if local is None else LocalFile(local)
