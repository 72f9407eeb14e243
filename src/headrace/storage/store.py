"""The port: what a store must be able to do.

It asks for no more than every object store has: list a prefix, read an object whole, in
chunks, or by ranges; and, to be written to, put an object if there is none yet, and delete.
Stores are safe to use from several threads.

A store of one's own derives from `Store`: it needs `root`, `list`, `read` and `open`, and gets the
rest from these.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import BinaryIO, NamedTuple, Protocol

import msgspec

from headrace.errors import ObjectNotFoundError, ObjectTooShortError, StoreFailedError
from headrace.storage.byte_range import ByteRange, Coalescing, Contents, coalesce, split

LIST_PAGE_OBJECTS = 1000
"""How many objects a page of a remote listing has; Azure's may have more."""


class ObjectMeta(msgspec.Struct, frozen=True, kw_only=True):
    """An object as a listing shows it."""

    path: str
    size_bytes: int
    modified_ms: int
    etag: str | None = None
    """Changes whenever the object does, where the store has such a mark."""


class RequestCost(Enum):
    """What one request to a store costs; readers plan by it."""

    LOCAL = "local"
    """Microseconds: ask for exactly what is needed, when it is needed."""
    REMOTE = "remote"
    """Tens of milliseconds: ask for few, large pieces, many at a time and ahead of their use."""

    @property
    def coalescing(self) -> Coalescing:
        """How the ranges of one object become requests."""
        return _COALESCING[self]


_COALESCING = {
    RequestCost.LOCAL: Coalescing(gap_bytes=0, largest_bytes=64 << 20),
    RequestCost.REMOTE: Coalescing(gap_bytes=64 << 10, largest_bytes=8 << 20),
}


class Tail(NamedTuple):
    """The last bytes of an object, and the size of the whole."""

    content: bytes
    object_size: int


class Store(Protocol):
    """The objects below one root. A missing object is an `ObjectNotFoundError`."""

    @property
    def root(self) -> str:
        """The address of the root, without a slash at its end, as a user would open it."""

    @property
    def request_cost(self) -> RequestCost:
        """What a request costs."""
        return RequestCost.REMOTE

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        """The objects of one directory whose names are at or after `start_from`, by name.

        The listing is lazy: pages are asked for as they are needed. A directory that is not there
        is empty.
        """

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        """All objects below a directory, by path.

        Only tables with an IndexTables log need it to be read.
        """
        raise StoreFailedError(path=directory, reason="this store does not list whole trees")

    def head(self, path: str) -> ObjectMeta:
        """Size, time and mark of one object."""
        directory, _, name = path.rpartition("/")
        found = next(iter(self.list(directory, start_from=name)), None)
        if found is None or found.path != path:
            raise ObjectNotFoundError(path=path)
        return found

    def read(self, path: str) -> bytes:
        """An object, whole."""

    def read_tail(
        self, path: str, *, size_bytes_wanted: int, object_size: int | None = None
    ) -> Tail:
        """The last bytes of an object, or all of a smaller one, in one request.

        Args:
            path: The object.
            size_bytes_wanted: How many bytes, at most.
            object_size: Its size where it is known; some stores need a second request otherwise.
        """
        with self.open(path, size_bytes=object_size) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - size_bytes_wanted, 0))
            return Tail(file.read(size_bytes_wanted), size)

    def read_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Contents:
        """The bytes of each range of an object, in the order of the ranges.

        Ranges are coalesced as `request_cost` says, and fetched side by side.

        Raises:
            ObjectTooShortError: the object ends before one of them does.
        """
        requests = coalesce(ranges, self.request_cost.coalescing)
        contents: list[bytes] = []
        with self.open(path) as file:
            for request in requests:
                file.seek(request.start)
                contents.append(checked_range(path, request, file.read(request.length)))
        return split(ranges, requests, contents)

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """An object in pieces of about that size; closing the iterator releases it."""
        with self.open(path) as file:
            while chunk := file.read(chunk_bytes):
                yield chunk

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:
        """An object to seek in and read ranges from.

        Args:
            path: The object.
            size_bytes: Its size where it is known: then opening it takes no request.
        """

    def local_path(self, path: str) -> str | None:  # noqa: ARG002  (most stores have none)
        """A path that the operating system can open, where there is one."""
        return None


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

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects; one that does not exist is no error."""

    def prune(self, directory: str) -> None:
        """Remove a directory that has no objects left; most stores have no directories."""


def checked_range(path: str, wanted: ByteRange, content: bytes) -> bytes:
    """Return the content of a range, which must be whole.

    Raises:
        ObjectTooShortError: the object ended before.
    """
    if len(content) != wanted.length:
        raise ObjectTooShortError(path=path, expected_bytes=wanted.stop)
    return content


def release_chunks(chunks: Iterator[bytes]) -> None:
    """Close an iterator of chunks, wherever it stands; one that holds nothing has no `close`."""
    close = getattr(chunks, "close", None)
    if close is not None:
        close()
