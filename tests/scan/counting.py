"""A store that records its requests and hides its local files, so that no reader bypasses it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from headrace import wiring
from headrace.plan.executor import Executor
from headrace.storage.local import LocalStore
from headrace.storage.ranged import RangedFile, as_binary
from headrace.storage.store import ObjectMeta, Store


class CountingLocalStore(Store):
    """A folder that behaves like a remote store: every access goes through this class."""

    def __init__(self, root: Path) -> None:
        self._inner = LocalStore(str(root))
        self.opened: list[str] = []
        self.listings = 0
        self.ranges: list[range] = []
        """The byte ranges read from files opened for seeking."""

    @property
    def root(self) -> str:
        return self._inner.root

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        self.listings += 1
        return self._inner.list(directory, start_from=start_from)

    def read(self, path: str) -> bytes:
        self.opened.append(path)
        return self._inner.read(path)

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        self.opened.append(path)
        return self._inner.read_chunks(path, chunk_bytes=chunk_bytes)

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:  # noqa: ARG002
        self.opened.append(path)
        return as_binary(_RememberingFile(self._inner.open(path), self.ranges))


class _RememberingFile(RangedFile):
    """An open file that records which bytes were read."""

    def __init__(self, file: BinaryIO, ranges: list[range]) -> None:
        super().__init__()
        self._file = file
        self._ranges = ranges

    def read_at(self, position: int, size: int) -> bytes:
        self._file.seek(position)
        data = self._file.read(size)
        self._ranges.append(range(position, position + len(data)))
        return data

    def size_bytes(self) -> int:
        return self._file.seek(0, os.SEEK_END)

    def release(self) -> None:
        self._file.close()


def counting_executor(root: Path) -> tuple[Executor, list[str]]:
    """Return the default engine over a counting store, and the list of paths that it opens."""
    store = CountingLocalStore(root)
    return wiring.open_executor(store), store.opened
