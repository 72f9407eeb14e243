"""A store that retries reads of another store after transient failures."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import BinaryIO

from headrace.errors import StorageError, StoreFailedError
from headrace.storage.byte_range import ByteRange, Contents
from headrace.storage.ranged import RangedFile, as_binary
from headrace.storage.retry import Retrier
from headrace.storage.store import (
    LIST_PAGE_OBJECTS,
    ObjectMeta,
    RequestCost,
    Store,
    Tail,
    release_chunks,
)


class RetryingStore:
    """Retries reads that fail with a transient `StoreFailedError`, and no other error.

    A read that fails midway resumes at the byte it had reached, so no byte is returned twice and
    none is skipped. Objects of a log never change; one that has become shorter in between is an
    error, not a shorter answer.

    `local_path` is the inner store's: reads through that path are not retried.
    """

    def __init__(self, inner: Store, *, retrier: Retrier | None = None) -> None:
        self._inner = inner
        self._retrier = retrier or Retrier()

    @property
    def root(self) -> str:
        """The address of the root."""
        return self._inner.root

    @property
    def request_cost(self) -> RequestCost:
        """The inner store's request cost."""
        return self._inner.request_cost

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        """List one directory; a listing that fails midway resumes after its last name."""
        listing = _Listing(self._inner, directory, start_from)
        while page := self._retrier.run(directory, listing.next_page):
            yield from page

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        """List all objects below a directory; a listing that fails starts over."""
        return iter(self._retrier.run(directory, lambda: list(self._inner.list_tree(directory))))

    def head(self, path: str) -> ObjectMeta:
        """Return the metadata of one object: size, modification time and ETag."""
        return self._retrier.run(path, lambda: self._inner.head(path))

    def read(self, path: str) -> bytes:
        """Read a whole object."""
        return self._retrier.run(path, lambda: self._inner.read(path))

    def read_tail(
        self, path: str, *, size_bytes_wanted: int, object_size: int | None = None
    ) -> Tail:
        """Read the end of an object."""
        return self._retrier.run(
            path,
            lambda: self._inner.read_tail(
                path, size_bytes_wanted=size_bytes_wanted, object_size=object_size
            ),
        )

    def read_ranges(
        self, path: str, ranges: Sequence[ByteRange], *, etag: str | None = None
    ) -> Contents:
        """Read several ranges of an object."""
        return self._retrier.run(path, lambda: self._inner.read_ranges(path, ranges, etag=etag))

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """Read an object in chunks."""
        chunks = _Chunks(self._inner, path, chunk_bytes)
        try:
            while (chunk := self._retrier.run(path, chunks.next)) is not None:
                yield chunk
        finally:
            chunks.release()

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:
        """Open an object as a seekable file."""
        return as_binary(_RetryingFile(self._inner, path, self._retrier, size_bytes=size_bytes))

    def local_path(self, path: str) -> str | None:
        """Return the inner store's local path."""
        return self._inner.local_path(path)


class _Listing:
    """A listing that can resume after a failure."""

    def __init__(self, store: Store, directory: str, start_from: str) -> None:
        self._store = store
        self._directory = directory
        self._start_from = start_from
        self._last: str | None = None
        self._source: Iterator[ObjectMeta] | None = None

    def next_page(self) -> list[ObjectMeta]:
        """Return the next objects; an empty page ends the listing."""
        if self._source is None:
            self._source = self._resume()
        try:
            page = list(islice(self._source, LIST_PAGE_OBJECTS))
        except (OSError, StorageError):
            self._source = None
            raise
        if page:
            self._last = page[-1].path
        return page

    def _resume(self) -> Iterator[ObjectMeta]:
        last = self._last
        if last is None:
            return iter(self._store.list(self._directory, start_from=self._start_from))
        listed = self._store.list(self._directory, start_from=last.rpartition("/")[2])
        return (meta for meta in listed if meta.path > last)


class _Chunks:
    """A stream of chunks that can resume after a failure."""

    def __init__(self, store: Store, path: str, chunk_bytes: int) -> None:
        self._store = store
        self._path = path
        self._chunk_bytes = chunk_bytes
        self._position = 0
        self._source: Iterator[bytes] | None = None

    def next(self) -> bytes | None:
        """Return the next chunk, or None at the end of the object."""
        if self._source is None:
            self._source = self._resume() if self._position else self._whole()
        try:
            chunk = next(self._source, None)
        except (OSError, StorageError):
            self.release()
            raise
        self._position += len(chunk or b"")
        return chunk

    def release(self) -> None:
        """Close the open stream, if any."""
        source, self._source = self._source, None
        if source is not None:
            release_chunks(source)

    def _whole(self) -> Iterator[bytes]:
        return self._store.read_chunks(self._path, chunk_bytes=self._chunk_bytes)

    def _resume(self) -> Iterator[bytes]:
        with _open_again(self._store, self._path, at_least_bytes=self._position) as file:
            file.seek(self._position)
            while chunk := file.read(self._chunk_bytes):
                yield chunk


class _RetryingFile(RangedFile):
    """An open file that is reopened when a read fails."""

    def __init__(
        self, store: Store, path: str, retrier: Retrier, *, size_bytes: int | None
    ) -> None:
        super().__init__()
        self._store = store
        self._path = path
        self._retrier = retrier
        self._reached = 0
        self._file: BinaryIO | None = retrier.run(
            path, lambda: store.open(path, size_bytes=size_bytes)
        )

    def read_at(self, position: int, size: int) -> bytes:
        """Read a range with one read of the inner file; it may be shorter than `size`."""
        return self._retrier.run(self._path, lambda: self._read_once(position, size))

    def size_bytes(self) -> int:
        """Return the size of the file."""
        return self._retrier.run(self._path, lambda: self._seek(0, os.SEEK_END))

    def release(self) -> None:
        """Close the open file, if any; errors are ignored, since it was only read."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError, StorageError):
                file.close()

    def _read_once(self, position: int, size: int) -> bytes:
        self._seek(position, os.SEEK_SET)
        assert self._file is not None
        try:
            data = self._file.read(size)
        except (OSError, StorageError):
            self.release()
            raise
        if data:  # a read that starts beyond the end reaches nothing
            self._reached = max(self._reached, position + len(data))
        return data

    def _seek(self, offset: int, whence: int) -> int:
        if self._file is None:
            self._file = _open_again(self._store, self._path, at_least_bytes=self._reached)
        try:
            return self._file.seek(offset, whence)
        except (OSError, StorageError):
            self.release()
            raise


def _open_again(store: Store, path: str, *, at_least_bytes: int) -> BinaryIO:
    file = store.open(path)
    try:
        size_bytes = file.seek(0, os.SEEK_END)
    except BaseException:
        file.close()
        raise
    if size_bytes < at_least_bytes:
        file.close()
        reason = "it has become shorter while it was read"
        raise StoreFailedError(path=path, reason=reason, transient=False)
    return file
