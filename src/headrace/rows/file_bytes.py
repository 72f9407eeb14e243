"""Opens data files for Arrow, and prefetches remote ones.

A local file is opened by its path. A small remote file is fetched whole with one request. Of a
large one the end is fetched first, with one request whose size adapts to the footers seen, and then
the requested column chunks, coalesced and ahead of their use.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from enum import Enum
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.engines.arrow.checkpoint.footer import chunk_range
from headrace.engines.arrow.parquet.soundness import with_footer
from headrace.engines.fetched_file import FetchedFile
from headrace.engines.read_ahead import ReadAhead
from headrace.engines.tail_size import TailSize
from headrace.engines.window import Windows
from headrace.storage.byte_range import ByteRange
from headrace.storage.local_file import find_local_file
from headrace.storage.store import RequestCost, Store, Tail

SMALL_BYTES = 1 << 20


class Read(Enum):
    """How a local file is read."""

    AS_NEEDED = "as needed"
    AT_ONCE = "at once"
    """Read it whole with one call, which is faster for small files."""


class FileSource(msgspec.Struct, frozen=True, kw_only=True):
    """An open data file."""

    file: Any
    """A `pyarrow.NativeFile` or a Python file for Arrow to read from."""
    is_local: bool
    """Whether Arrow reads it directly, so that the store does not count the reads."""

    @property
    def is_in_memory(self) -> bool:
        """Whether the whole file is in memory."""
        return isinstance(self.file, pa.BufferReader)


class FileBytes:
    """Opens the data files of one store, for one execution."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._ahead = ReadAhead()
        self._tail_size = TailSize()

    @property
    def is_remote(self) -> bool:
        """Whether requests are slow, so that reads are coalesced and prefetched."""
        return self.store.request_cost is RequestCost.REMOTE

    def expect(self, path: str, *, size_bytes: int) -> None:
        """Prefetch a remote file: a small one whole, the end of a large one."""
        if not self.is_remote:
            return
        if _is_small(size_bytes):
            self._ahead.expect(path, lambda: self.store.read(path), size_bytes=size_bytes)
        else:
            tail_bytes = self._tail_size.guess(size_bytes)
            self._ahead.expect(path, lambda: self._tail(path, size_bytes), size_bytes=tail_bytes)

    def close(self) -> None:
        """Cancel prefetches that have not started, and wait for the others."""
        self._ahead.close()

    def open(self, path: str, opened: ExitStack, *, size_bytes: int, read: Read) -> FileSource:
        """Open a file; `opened` closes it."""
        local = find_local_file(self.store, path)
        if local is not None:
            most_bytes = min(size_bytes, SMALL_BYTES) if read is Read.AT_ONCE else 0
            content = local.read_small(most_bytes=most_bytes) if most_bytes else None
            file = pa.OSFile(local.checked_path()) if content is None else pa.BufferReader(content)
            return FileSource(file=opened.enter_context(file), is_local=True)
        if _is_small(size_bytes):
            content = self._ahead.take(path, lambda: self.store.read(path))
            return FileSource(file=pa.BufferReader(content), is_local=False)
        tail = self._ahead.take(path, lambda: self._tail(path, size_bytes))
        self._tail_size.learn_from(tail)
        fetched = with_footer(FetchedFile.with_tail(self.store, path, tail))
        return FileSource(file=opened.enter_context(fetched), is_local=False)

    def follow(
        self, source: FileSource, path: str, parquet: pq.FileMetaData, leaf_columns: Sequence[int]
    ) -> "RowGroupBytes | None":
        """Return a prefetcher for some columns of each row group; None if it is not needed."""
        if not isinstance(source.file, FetchedFile):
            return None
        return RowGroupBytes(self, source.file, path, parquet, leaf_columns)

    def windows(self, path: str, ranges: Sequence[ByteRange], *, etag: str | None) -> Windows:
        """Prefetch ranges of one version of a remote file."""
        read = partial(self.store.read_ranges, path, etag=etag)
        return Windows(read, ranges, ahead=self._ahead)

    @property
    def is_full(self) -> bool:
        """Whether the prefetch budget is used up."""
        return self._ahead.is_full

    def _tail(self, path: str, size_bytes: int) -> Tail:
        return self.store.read_tail(
            path,
            size_bytes_wanted=self._tail_size.guess(size_bytes),
            object_size=size_bytes or None,
        )


class RowGroupBytes:
    """Prefetches the column chunks of a large remote file, a few row groups ahead."""

    def __init__(
        self,
        files: FileBytes,
        file: FetchedFile,
        path: str,
        footer: pq.FileMetaData,
        leaf_columns: Sequence[int],
    ) -> None:
        self._files = files
        self._file = file
        self._path = path
        self._footer = footer
        self._leaf_columns = leaf_columns
        self._ahead: dict[int, Windows] = {}

    def start(self, groups: Sequence[int]) -> None:
        """Fetch the first of these row groups, and prefetch the others within the budget."""
        for group in groups:
            if group not in self._ahead:
                if self._ahead and self._files.is_full:
                    break
                ranges, etag = self._ranges(group), self._file.etag
                self._ahead[group] = self._files.windows(self._path, ranges, etag=etag)
        self._file.follow(self._ahead.pop(groups[0]))

    def _ranges(self, group: int) -> list[ByteRange]:
        row_group = self._footer.row_group(group)
        return [chunk_range(row_group.column(leaf_column)) for leaf_column in self._leaf_columns]


def _is_small(size_bytes: int) -> bool:
    return 0 < size_bytes <= SMALL_BYTES
