"""The port: what a store must be able to do.

It asks for no more than every object store has: list a prefix, read an object whole, in
chunks, or by ranges; and, to be written to, put an object if there is none yet, and delete.
Stores are safe to use from several threads.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import BinaryIO, Protocol

import msgspec


class ObjectMeta(msgspec.Struct, frozen=True, kw_only=True):
    """An object as a listing shows it."""

    path: str
    size_bytes: int
    modified_ms: int


class Store(Protocol):
    """The objects below one root. A missing object is an `ObjectNotFoundError`."""

    @property
    def root(self) -> str:
        """The address of the root, without a slash at its end, as a user would open it."""

    def list(self, directory: str, *, start_from: str = "") -> list[ObjectMeta]:
        """The objects of one directory whose names are at or after `start_from`, by name.

        A directory that is not there is empty.
        """

    def read(self, path: str) -> bytes:
        """An object, whole."""

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """An object in pieces of about that size; closing the iterator releases it."""

    def open(self, path: str) -> BinaryIO:
        """An object to seek in and read ranges from."""

    def local_path(self, path: str) -> str | None:
        """A path that the operating system can open, where there is one."""


class PutMode(Enum):
    """What `put` does about an object that exists already."""

    CREATE = "create"
    """Fail with `ObjectExistsError`, atomically: of several writers exactly one succeeds."""
    OVERWRITE = "overwrite"
    """Replace it atomically: a reader sees the old object or the new one."""


class WritableStore(Store, Protocol):
    """A store that can be written to."""

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        """Write an object whole and durably: once this returns, it survives a crash.

        Raises:
            ObjectExistsError: it exists, and the mode is `CREATE`.
        """

    def persist(self, paths: Iterable[str]) -> None:
        """Make objects durable that an engine wrote to the store by its own means.

        Raises:
            ObjectNotFoundError: one of them does not exist.
        """

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        """All objects below a directory, by path."""

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects; one that does not exist is no error."""

    def prune(self, directory: str) -> None:
        """Remove a directory that has no objects left; most stores have no directories."""


def release_chunks(chunks: Iterator[bytes]) -> None:
    """Close an iterator of chunks, wherever it stands; one that holds nothing has no `close`."""
    close = getattr(chunks, "close", None)
    if close is not None:
        close()
