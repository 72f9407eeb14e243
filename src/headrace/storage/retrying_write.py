"""Retry writes without applying any of them twice.

A store may perform a write and lose the answer. The retry of a conditional create then finds an
existing object, and it is ours if its content is what we sent. So everything created conditionally
must contain something unique, such as the id of a commit.
"""

from collections.abc import Iterable, Iterator

from headrace.errors import ObjectExistsError, StoreFailedError
from headrace.storage.retry import Retrier
from headrace.storage.retrying import RetryingStore
from headrace.storage.store import ObjectMeta, PutMode, WritableStore


class RetryingWritableStore(RetryingStore):
    """Retries reads and writes that fail with a transient error."""

    def __init__(self, inner: WritableStore, *, retrier: Retrier | None = None) -> None:
        super().__init__(inner, retrier=retrier)
        self._writable = inner

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        """Write a whole object.

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
        """List all objects below a directory; a listing that fails starts over."""
        listed = self._retrier.run(directory, lambda: list(self._writable.list_tree(directory)))
        return iter(listed)

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects."""
        some = list(paths)
        self._retrier.run(some[0] if some else "", lambda: self._writable.delete(some))

    def prune(self, directory: str) -> None:
        """Remove a directory that contains no objects."""
        self._writable.prune(directory)
