"""Stores for tests: one in memory, and one that fails on demand."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from headrace.errors import ObjectNotFoundError, StoreFailedError
from headrace.storage.store import ObjectMeta, Store


class MemoryStore(Store):
    """Objects in a dictionary."""

    root = "memory://lake"

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        self.objects = dict(objects)

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        return (
            ObjectMeta(path=path, size_bytes=len(data), modified_ms=0)
            for path, data in sorted(self.objects.items())
            if path.rpartition("/")[0] == directory and path.rpartition("/")[2] >= start_from
        )

    def read(self, path: str) -> bytes:
        try:
            return self.objects[path]
        except KeyError as error:
            raise ObjectNotFoundError(path=path) from error

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:  # noqa: ARG002
        return io.BytesIO(self.read(path))


@dataclass(frozen=True, slots=True)
class Fault:
    """How an operation fails: the error, and how many bytes are delivered before it."""

    error: Exception = field(
        default_factory=lambda: StoreFailedError(path="any", reason="the line broke")
    )
    after_bytes: int = 0


class FaultyStore(Store):
    """Numbers the operations on another store, and fails those that the plan names.

    Listings, whole reads, opening, each chunk and each read of an open file are operations. A fault
    in the middle delivers some bytes first: a short chunk is returned before the error, and an open
    file's position moves past bytes that the caller never received.
    """

    def __init__(self, inner: Store, plan: Mapping[int, Fault]) -> None:
        self._inner = inner
        self._plan = plan
        self.operations: list[str] = []
        self.open_files = 0

    @property
    def root(self) -> str:
        return self._inner.root

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        self.fail("list", directory)
        return self._inner.list(directory, start_from=start_from)

    def read(self, path: str) -> bytes:
        self.fail("read", path)
        return self._inner.read(path)

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        self.open_files += 1
        try:
            for chunk in self._inner.read_chunks(path, chunk_bytes=chunk_bytes):
                fault = self.next_fault("chunk", path)
                if fault is not None:
                    if fault.after_bytes:
                        yield chunk[: fault.after_bytes]
                    raise fault.error
                yield chunk
        finally:
            self.open_files -= 1

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:  # noqa: ARG002
        self.fail("open", path)
        return _FaultyFile(self, path, self._inner.read(path))

    def local_path(self, path: str) -> str | None:
        return self._inner.local_path(path)

    def next_fault(self, operation: str, path: str) -> Fault | None:
        self.operations.append(f"{operation} {path}")
        return self._plan.get(len(self.operations) - 1)

    def fail(self, operation: str, path: str) -> None:
        fault = self.next_fault(operation, path)
        if fault is not None:
            raise fault.error


class _FaultyFile(io.BytesIO):
    """An open file of a faulty store."""

    def __init__(self, store: FaultyStore, path: str, data: bytes) -> None:
        super().__init__(data)
        self._store = store
        self._path = path
        store.open_files += 1

    def read(self, size: int | None = -1, /) -> bytes:
        fault = self._store.next_fault("range", self._path)
        if fault is not None:
            self.seek(fault.after_bytes, io.SEEK_CUR)
            raise fault.error
        return super().read(size)

    def close(self) -> None:
        if not self.closed:
            self._store.open_files -= 1
        super().close()
