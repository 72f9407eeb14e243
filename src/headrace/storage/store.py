"""The store interface that every storage backend implements.

It requires only what every object store offers: list a prefix and read an object whole, in
chunks or by ranges. A writable store can also put an object, optionally only if it does not exist
yet, and delete. Stores are safe to use from several threads.

A custom store derives from `Store` and implements `root`, `list`, `read` and `open`. The other
methods have default implementations built on these.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import BinaryIO, NamedTuple, Protocol

import msgspec

from headrace.errors import ObjectNotFoundError, ObjectTooShortError, StoreFailedError
from headrace.storage.byte_range import ByteRange, Coalescing, Contents, coalesce, split

LIST_PAGE_OBJECTS = 1000
"""Number of objects in one page of a remote listing; Azure pages may be larger."""


class ObjectMeta(msgspec.Struct, frozen=True, kw_only=True):
    """An object's metadata, as returned by a listing."""

    path: str
    size_bytes: int
    modified_ms: int
    etag: str | None = None
    """Changes whenever the object changes; None if the store has no ETags."""


class RequestCost(Enum):
    """The cost of one request to a store; readers plan their requests by it."""

    LOCAL = "local"
    """Microseconds: read exactly what is needed, when it is needed."""
    REMOTE = "remote"
    """Tens of milliseconds: send few, large requests, concurrently and ahead of use."""

    @property
    def coalescing(self) -> Coalescing:
        """The rule for merging ranges of one object into requests."""
        return _COALESCING[self]


_COALESCING = {
    RequestCost.LOCAL: Coalescing(gap_bytes=0, largest_bytes=64 << 20),
    RequestCost.REMOTE: Coalescing(gap_bytes=64 << 10, largest_bytes=8 << 20),
}


class Tail(NamedTuple):
    """The last bytes of an object, and the size of the whole object."""

    content: bytes
    object_size: int
    etag: str | None = None
    """The version that the bytes belong to; None if the store has no ETags."""


class Store(Protocol):
    """The objects below one root. A missing object is an `ObjectNotFoundError`."""

    @property
    def root(self) -> str:
        """The address of the root as a user would open it, without a trailing slash."""

    @property
    def request_cost(self) -> RequestCost:
        """The cost of one request."""
        return RequestCost.REMOTE

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        """List the objects of one directory whose names are at or after `start_from`, by name.

        The listing is lazy: pages are requested as they are needed. A directory that does not
        exist is empty.
        """

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        """List all objects below a directory, by path.

        For reading, only tables with an IndexTables log need it.
        """
        raise StoreFailedError(path=directory, reason="this store does not list whole trees")

    def head(self, path: str) -> ObjectMeta:
        """Return the metadata of one object: size, modification time and ETag."""
        directory, _, name = path.rpartition("/")
        meta = next(iter(self.list(directory, start_from=name)), None)
        if meta is None or meta.path != path:
            raise ObjectNotFoundError(path=path)
        return meta

    def read(self, path: str) -> bytes:
        """Read a whole object."""

    def read_tail(
        self, path: str, *, size_bytes_wanted: int, object_size: int | None = None
    ) -> Tail:
        """Read the last bytes of an object, or all of a smaller one, in one request.

        A store with ETags returns the one of the bytes, for `read_ranges`.

        Args:
            path: The object.
            size_bytes_wanted: The maximum number of bytes to read.
            object_size: The object's size, if known; without it some stores need a second request.
        """
        with self.open(path, size_bytes=object_size) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - size_bytes_wanted, 0))
            return Tail(file.read(size_bytes_wanted), size)

    def read_ranges(
        self,
        path: str,
        ranges: Sequence[ByteRange],
        *,
        etag: str | None = None,  # noqa: ARG002  (an open file is one version)
    ) -> Contents:
        """Read several ranges of an object and return their bytes in the same order.

        Ranges are coalesced according to `request_cost` and may be fetched concurrently. All of
        them come from the same version of the object, as far as the store has ETags.

        Args:
            path: The object.
            ranges: The ranges, in any order.
            etag: The version to read; None reads the current one.

        Raises:
            ObjectChangedError: the object has another ETag, or was replaced during the call.
            ObjectTooShortError: the object ends before one of the ranges does.
        """
        requests = coalesce(ranges, self.request_cost.coalescing)
        contents: list[bytes] = []
        with self.open(path) as file:
            for request in requests:
                file.seek(request.start)
                contents.append(checked_range(path, request, file.read(request.length)))
        return split(ranges, requests, contents)

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """Read an object in chunks of about `chunk_bytes`; closing the iterator releases it."""
        with self.open(path) as file:
            while chunk := file.read(chunk_bytes):
                yield chunk

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:
        """Open an object as a seekable file.

        Args:
            path: The object.
            size_bytes: The object's size, if known; opening then takes no request.
        """

    def local_path(self, path: str) -> str | None:  # noqa: ARG002  (most stores have none)
        """Return a path that the operating system can open, or None."""
        return None


class PutMode(Enum):
    """What `put` does if the object already exists."""

    CREATE = "create"
    """Fail with `ObjectExistsError`, atomically: of several writers exactly one succeeds."""
    OVERWRITE = "overwrite"
    """Replace it atomically: a reader sees the old object or the new one."""


class WritableStore(Store, Protocol):
    """A store that can be written to."""

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        """Write a whole object durably: once this returns, the object survives a crash.

        Raises:
            ObjectExistsError: the object exists, and the mode is `CREATE`.
        """

    def persist(self, paths: Iterable[str]) -> None:
        """Make objects durable that another program wrote without going through this store.

        Raises:
            ObjectNotFoundError: one of them does not exist.
        """

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects; deleting one that does not exist is not an error."""

    def prune(self, directory: str) -> None:
        """Remove a directory that contains no objects; most stores have no directories."""


def checked_range(path: str, span: ByteRange, content: bytes) -> bytes:
    """Return the content of a range after checking that it is complete.

    Raises:
        ObjectTooShortError: the object ends before the range does.
    """
    if len(content) != span.length:
        raise ObjectTooShortError(path=path, expected_bytes=span.stop)
    return content


def release_chunks(chunks: Iterator[bytes]) -> None:
    """Close an iterator of chunks at any position, if it has a `close` method."""
    close = getattr(chunks, "close", None)
    if close is not None:
        close()
