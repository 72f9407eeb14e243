"""Writes that are tried again, and never done twice.

A store may do what it was asked and lose the answer. The next try of a create then finds an object:
it is ours if it holds what we sent. So whatever is created conditionally holds something unique,
such as the id of a commit.
"""

from collections.abc import Iterable, Iterator

from headrace.errors import ObjectExistsError, StoreFailedError
from headrace.storage.retry import Retrier
from headrace.storage.retrying import RetryingStore
from headrace.storage.store import ObjectMeta, PutMode, WritableStore


class RetryingWritableStore(RetryingStore):
    """Repeats reads and writes that failed in passing."""

    def __init__(self, inner: WritableStore, *, retrier: Retrier | None = None) -> None:
        super().__init__(inner, retrier=retrier)
        self._writable = inner

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        """Write an object whole.

        Raises:
            ObjectExistsError: another writer created it, and the mode is `CREATE`.
        """
        is_repeated = False

        def write() -> None:
            nonlocal is_repeated
            try:
                self._writable.put(path, content, mode=mode)
            except ObjectExistsError:
                if not is_repeated or self._writable.read(path) != content:
                    raise
            except StoreFailedError:
                is_repeated = True
                raise

        self._retrier.run(path, write)

    def persist(self, paths: Iterable[str]) -> None:
        """Make objects durable."""
        some = list(paths)
        self._retrier.run(some[0] if some else "", lambda: self._writable.persist(some))

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        """All objects below a directory; a listing that breaks off starts again."""
        listed = self._retrier.run(directory, lambda: list(self._writable.list_tree(directory)))
        return iter(listed)

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects."""
        some = list(paths)
        self._retrier.run(some[0] if some else "", lambda: self._writable.delete(some))

    def prune(self, directory: str) -> None:
        """Remove a directory that has no objects left."""
        self._writable.prune(directory)
