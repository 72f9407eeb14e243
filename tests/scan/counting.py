"""A store that remembers what was asked of it, and has no local files to read behind its back."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from headrace import wiring
from headrace.plan.executor import Executor
from headrace.storage.local import LocalStore
from headrace.storage.store import ObjectMeta


class CountingLocalStore:
    """A folder, seen as a remote store would be: everything goes through here."""

    def __init__(self, root: Path) -> None:
        self._inner = LocalStore(str(root))
        self.root = self._inner.root
        self.opened: list[str] = []
        self.listings = 0

    def list(self, directory: str, *, start_from: str = "") -> list[ObjectMeta]:
        self.listings += 1
        return self._inner.list(directory, start_from=start_from)

    def read(self, path: str) -> bytes:
        self.opened.append(path)
        return self._inner.read(path)

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        self.opened.append(path)
        return self._inner.read_chunks(path, chunk_bytes=chunk_bytes)

    def open(self, path: str) -> BinaryIO:
        self.opened.append(path)
        return self._inner.open(path)

    def local_path(self, path: str) -> None:
        """There is none."""


def counting_executor(root: Path) -> tuple[Executor, list[str]]:
    """The default engine over such a store, and the paths that it opens, in order."""
    store = CountingLocalStore(root)
    return wiring.open_executor(store), store.opened
