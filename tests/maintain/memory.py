"""A writable in-memory store with its own clock, which tests can observe and disturb.

Every operation calls `before` and `after`. Tests use these hooks to fail it, to end the process, or
to let another writer go first.
"""

import io
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from headrace.errors import ObjectExistsError, ObjectNotFoundError
from headrace.storage.store import ObjectMeta, PutMode, RequestCost, WritableStore

Hook = Callable[[str, str], None]
"""Called with the name of an operation and its path."""


def _nothing(operation: str, path: str) -> None:
    pass


class MemoryStore(WritableStore):
    """Objects in a dictionary; puts are atomic."""

    root = "memory://table"
    request_cost = RequestCost.REMOTE

    def __init__(self, objects: dict[str, bytes] | None = None) -> None:
        self.objects: dict[str, bytes] = {} if objects is None else objects
        self.modified: dict[str, int] = {}
        self.now_ms = time.time_ns() // 1_000_000
        self.before: Hook = _nothing
        self.after: Hook = _nothing
        self.bytes_written = 0
        self.bytes_read = 0
        self.lock = threading.Lock()

    def sharing(self) -> "MemoryStore":
        """Return another client of the same objects, with its own hooks."""
        other = MemoryStore(self.objects)
        other.modified, other.lock, other.now_ms = self.modified, self.lock, self.now_ms
        return other

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        self.before("list", directory)
        with self.lock:
            listed = [
                self._meta(path)
                for path in sorted(self.objects)
                if path.rpartition("/")[0] == directory and path.rpartition("/")[2] >= start_from
            ]
        self.after("list", directory)
        return iter(listed)

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        self.before("list_tree", directory)
        with self.lock:
            listed = [self._meta(p) for p in sorted(self.objects) if p.startswith(f"{directory}/")]
        self.after("list_tree", directory)
        return iter(listed)

    def read(self, path: str) -> bytes:
        self.before("read", path)
        try:
            data = self.objects[path]
        except KeyError as error:
            raise ObjectNotFoundError(path=path) from error
        with self.lock:
            self.bytes_read += len(data)
        self.after("read", path)
        return data

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:  # noqa: ARG002
        return io.BytesIO(self.read(path))

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        self.before("put", path)
        with self.lock:
            if mode is PutMode.CREATE and path in self.objects:
                raise ObjectExistsError(path=path)
            self.objects[path] = bytes(content)
            self.modified[path] = self.now_ms
        self.bytes_written += len(content)
        self.after("put", path)

    def delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.before("delete", path)
            with self.lock:
                self.objects.pop(path, None)
            self.after("delete", path)

    def persist(self, paths: Iterable[str]) -> None:
        pass

    def prune(self, directory: str) -> None:
        pass

    def _meta(self, path: str) -> ObjectMeta:
        return ObjectMeta(
            path=path,
            size_bytes=len(self.objects[path]),
            modified_ms=self.modified.get(path, self.now_ms),
        )
