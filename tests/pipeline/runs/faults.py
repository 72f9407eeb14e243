"""A store that fails at one of its operations, before or after executing it."""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import BinaryIO, TypeVar

from headrace.errors import StoreFailedError
from headrace.storage.local import LocalStore
from headrace.storage.store import ObjectMeta, PutMode

T = TypeVar("T")


class Moment(Enum):
    BEFORE = "before"
    AFTER = "after"


class Fault:
    """Counts the operations of all stores that share it, and fails one of them."""

    def __init__(self, number: int | None = None, moment: Moment = Moment.BEFORE) -> None:
        self.number, self.moment = number, moment
        self.count = 0

    def strike(self, path: str, operation: Callable[[], T]) -> T:
        self.count += 1
        is_hit = self.count == self.number
        error = StoreFailedError(path=path, reason="struck", transient=False)
        if is_hit and self.moment is Moment.BEFORE:
            raise error
        answer = operation()
        if is_hit:
            raise error
        return answer

    def open(self, folder: str) -> "FaultyStore":
        return FaultyStore(folder, self)


class FaultyStore(LocalStore):
    """A folder whose operations may fail."""

    def __init__(self, root: str, fault: Fault) -> None:
        super().__init__(root)
        self._fault = fault

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        self._fault.strike(path, lambda: super(FaultyStore, self).put(path, content, mode=mode))

    def persist(self, paths: Iterable[str]) -> None:
        self._fault.strike("", lambda: super(FaultyStore, self).persist(paths))

    def delete(self, paths: Iterable[str]) -> None:
        self._fault.strike("", lambda: super(FaultyStore, self).delete(paths))

    def read(self, path: str) -> bytes:
        return self._fault.strike(path, lambda: super(FaultyStore, self).read(path))

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:
        self._fault.strike(path, lambda: None)
        return super().open(path, size_bytes=size_bytes)

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        return self._fault.strike(
            directory, lambda: super(FaultyStore, self).list(directory, start_from=start_from)
        )

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        return self._fault.strike(directory, lambda: super(FaultyStore, self).list_tree(directory))
