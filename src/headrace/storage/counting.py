"""A store that counts what is asked of it."""

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

    A page of a listing, a read, a stream of chunks, every range of an open file and every range
    that is left after coalescing are one request each. A file that is read whole counts once,
    however often that is; one to seek in does not count here, but where it is known what it is
    opened for.

    What failed is not counted: where it is tried again, that has a count of its own. So this
    store stands inside of one that retries.

    `local_path` is the inner store's. What is opened by that path is read behind the store's
    back: whoever does so counts it.
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
        """The inner store's."""
        return self._inner.request_cost

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        """The objects of one directory: a request for every page, but no file."""
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
        """All objects below a directory, counted as one request."""
        self._meter.count(requests=1)
        return self._inner.list_tree(directory)

    def head(self, path: str) -> ObjectMeta:
        """Size, time and mark of one object: a request, but no file."""
        found = self._inner.head(path)
        self._meter.count(requests=1)
        return found

    def read(self, path: str) -> bytes:
        """An object, whole."""
        data = self._inner.read(path)
        self._count_file(path)
        self._meter.count(requests=1, bytes_read=len(data))
        return data

    def read_tail(
        self, path: str, *, size_bytes_wanted: int, object_size: int | None = None
    ) -> Tail:
        """The end of an object: a request, but no file."""
        tail = self._inner.read_tail(
            path, size_bytes_wanted=size_bytes_wanted, object_size=object_size
        )
        self._meter.count(requests=1, bytes_read=len(tail.content))
        return tail

    def read_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Contents:
        """The bytes of each range: as many requests as are left after coalescing."""
        contents = self._inner.read_ranges(path, ranges)
        requests = coalesce(ranges, self._inner.request_cost.coalescing)
        size_bytes = sum(request.length for request in requests)
        self._meter.count(requests=len(requests), bytes_read=size_bytes)
        return contents

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """An object in pieces; one that is left early counts by what was given."""
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
        """An object to seek in; every range that is fetched counts."""
        inner = self._inner.open(path, size_bytes=size_bytes)
        return as_binary(_CountingFile(inner, meter=self._meter))

    def _count_file(self, path: str) -> None:
        if path not in self._files:
            self._files.add(path)
            self._meter.count(files_read=1)

    def local_path(self, path: str) -> str | None:
        """The inner store's."""
        return self._inner.local_path(path)


class _CountingFile(RangedFile):
    """An open file whose ranges are counted."""

    def __init__(self, file: BinaryIO, *, meter: Meter) -> None:
        super().__init__()
        self._file = file
        self._meter = meter

    def read_at(self, position: int, size: int) -> bytes:
        """A range; that there is nothing after the end takes no request to know."""
        self._file.seek(position)
        data = self._file.read(size)
        if data:
            self._meter.count(requests=1, bytes_read=len(data))
        return data

    def size_bytes(self) -> int:
        """The size that the store told when the file was opened."""
        return self._file.seek(0, os.SEEK_END)

    def release(self) -> None:
        """Close the inner file."""
        self._file.close()
