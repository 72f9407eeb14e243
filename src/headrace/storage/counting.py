"""A store that counts requests, files and bytes read from another store into a meter."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import BinaryIO

from headrace.metrics.meter import Meter
from headrace.storage.byte_range import ByteRange, Contents, coalesce
from headrace.storage.ranged import RangedFile, as_binary
from headrace.storage.store import (
    LIST_PAGE_OBJECTS,
    ObjectMeta,
    RequestCost,
    Store,
    Tail,
    release_chunks,
)


class CountingStore:
    """Counts requests, files and bytes of another store into a meter.

    One request each: a page of a listing, a read, a stream of chunks, a range of an open file, and
    a range after coalescing. A file that is read whole counts as one file, however often it is
    read. An open seekable file is not counted here but by the caller, which knows its purpose.

    Failed requests are not counted: retries have their own counter. So the retrying store wraps
    this one.

    `local_path` is the inner store's. Reads through that path bypass this store, so the caller
    must count them.
    """

    def __init__(self, inner: Store, *, meter: Meter) -> None:
        self._inner = inner
        self._meter = meter
        self._files: set[str] = set()

    @property
    def root(self) -> str:
        """The address of the root."""
        return self._inner.root

    @property
    def request_cost(self) -> RequestCost:
        """The inner store's request cost."""
        return self._inner.request_cost

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        """List one directory; counts a request per page and no file."""
        listed = iter(self._inner.list(directory, start_from=start_from))
        page = list(islice(listed, LIST_PAGE_OBJECTS))
        self._meter.count(requests=1)
        yield from page
        if self._inner.request_cost is RequestCost.LOCAL:  # there are no pages
            yield from listed
        while page := list(islice(listed, LIST_PAGE_OBJECTS)):
            self._meter.count(requests=1)
            yield from page

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        """List all objects below a directory; counts one request."""
        self._meter.count(requests=1)
        return self._inner.list_tree(directory)

    def head(self, path: str) -> ObjectMeta:
        """Return the metadata of one object; counts a request and no file."""
        meta = self._inner.head(path)
        self._meter.count(requests=1)
        return meta

    def read(self, path: str) -> bytes:
        """Read a whole object."""
        data = self._inner.read(path)
        self._count_file(path)
        self._meter.count(requests=1, bytes_read=len(data))
        return data

    def read_tail(
        self, path: str, *, size_bytes_wanted: int, object_size: int | None = None
    ) -> Tail:
        """Read the end of an object; counts a request and no file."""
        tail = self._inner.read_tail(
            path, size_bytes_wanted=size_bytes_wanted, object_size=object_size
        )
        self._meter.count(requests=1, bytes_read=len(tail.content))
        return tail

    def read_ranges(
        self, path: str, ranges: Sequence[ByteRange], *, etag: str | None = None
    ) -> Contents:
        """Read several ranges; counts the requests that remain after coalescing."""
        contents = self._inner.read_ranges(path, ranges, etag=etag)
        requests = coalesce(ranges, self._inner.request_cost.coalescing)
        size_bytes = sum(request.length for request in requests)
        self._meter.count(requests=len(requests), bytes_read=size_bytes)
        return contents

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """Read an object in chunks; only the chunks that were yielded count as bytes read."""
        chunks = self._inner.read_chunks(path, chunk_bytes=chunk_bytes)
        try:
            chunk = next(chunks, None)
            self._count_file(path)
            self._meter.count(requests=1)
            while chunk is not None:
                self._meter.count(bytes_read=len(chunk))
                yield chunk
                chunk = next(chunks, None)
        finally:
            release_chunks(chunks)

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:
        """Open an object as a seekable file; every fetched range counts as a request."""
        inner = self._inner.open(path, size_bytes=size_bytes)
        return as_binary(_CountingFile(inner, meter=self._meter))

    def _count_file(self, path: str) -> None:
        if path not in self._files:
            self._files.add(path)
            self._meter.count(files_read=1)

    def local_path(self, path: str) -> str | None:
        """Return the inner store's local path."""
        return self._inner.local_path(path)


class _CountingFile(RangedFile):
    """An open file that counts the ranges it reads."""

    def __init__(self, file: BinaryIO, *, meter: Meter) -> None:
        super().__init__()
        self._file = file
        self._meter = meter

    def read_at(self, position: int, size: int) -> bytes:
        """Read a range; reading past the end of the file counts no request."""
        self._file.seek(position)
        data = self._file.read(size)
        if data:
            self._meter.count(requests=1, bytes_read=len(data))
        return data

    def size_bytes(self) -> int:
        """Return the size of the inner file."""
        return self._file.seek(0, os.SEEK_END)

    def release(self) -> None:
        """Close the inner file."""
        self._file.close()
